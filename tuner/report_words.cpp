#include "report_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "chart_frame.hpp"
#include "from_ptx.hpp"
#include "key.hpp"
#include "markup.hpp"
#include "report.hpp"

namespace regtune {
namespace {

constexpr std::size_t kLongestHeading = 80;
constexpr std::size_t kLongestBudget = 200;

std::string where(const TuningRecord& record) {
  return record.gpu ? shortened(record.gpu->id.name, kLongestHeading) : record.architecture;
}

std::string choice(const TuningRecord& record, int id) {
  return shortened(spell_choice(record, id), kLongestBudget);
}

std::string reference_words(const TuningRecord& record) {
  const int id = record.verdict->reference_id;
  return id == 0 ? "the author\u2019s code" : choice(record, id);
}

const Measurement* time_of(const std::vector<DistinctCode>& codes, int variant_id) {
  for (const DistinctCode& code : codes)
    if (code.holds(variant_id)) return code.measured;
  return nullptr;
}

std::string improved_sentence(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  if (v.best_id == v.reference_id)
    return fmt::format("{} cannot be launched as it is written; {} makes it run on {}{}.", kernel_heading(record),
                       choice(record, v.best_id), where(record), from_ptx_note(record, " (", ")"));
  const std::vector<DistinctCode> codes = distinct_codes(record);
  std::string text = fmt::format("{} runs {} times as fast on {} with {}", kernel_heading(record),
                                 spell_gain(v.speedup.median), where(record), choice(record, v.best_id));
  const Measurement* best = time_of(codes, v.best_id);
  const Measurement* reference = time_of(codes, v.reference_id);
  if (best && reference)
    text += fmt::format(": {} per launch instead of {}", spell_ms(best->time_ms.median),
                        spell_ms(reference->time_ms.median));
  return text + from_ptx_note(record, " (", ")") + ".";
}

std::string in_source_sentence(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  if (v.best_in_source_id == v.best_id)
    return "It can be written into the source, and then holds wherever the kernel is compiled.";
  if (v.best_in_source_id == v.reference_id)
    return "Nothing that can be written into the source is faster; the gain needs the compiler\u2019s option.";
  return fmt::format("Written into the source, {} gives {}\u00d7 ({:.3f} to {:.3f}).",
                     choice(record, v.best_in_source_id), spell_gain(v.speedup_in_source.median),
                     v.speedup_in_source.low, v.speedup_in_source.high);
}

using Field = std::function<std::string(const TuningRecord&)>;

const std::vector<Field>& distinguishing_fields() {
  static const std::vector<Field> fields{
      [](const TuningRecord& r) { return kernel_heading(r); },
      [](const TuningRecord& r) { return where(r); },
      [](const TuningRecord& r) {
        return r.gpu ? "driver " + shortened(r.gpu->driver_version, kLongestHeading) : std::string();
      },
      [](const TuningRecord& r) { return shortened(r.compiler, kLongestHeading); },
      [](const TuningRecord& r) { return shortened(size_words(r.sizes), kLongestHeading); },
      [](const TuningRecord& r) { return "source " + shortened(r.source_hash, 8); },
      [](const TuningRecord& r) { return shortened(r.host, kLongestHeading); },
      [](const TuningRecord& r) { return shortened(r.started, kLongestHeading); }};
  return fields;
}

}  // namespace

std::string kernel_heading(const TuningRecord& record) {
  const std::string name = bare_kernel_name(record.signature);
  return shortened(name.empty() ? record.kernel : name, kLongestHeading);
}

std::string size_words(const Sizes& sizes) {
  std::vector<std::string> pieces;
  for (const auto& [name, value] : sizes) pieces.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("{}", fmt::join(pieces, ", "));
}

std::string verdict_sentence(const TuningRecord& record) {
  if (!record.verdict)
    return fmt::format("{} was compiled for {} under every budget; nothing was timed.", kernel_heading(record),
                       record.architecture);
  const std::string kernel = kernel_heading(record);
  switch (record.verdict->kind) {
    case Verdict::Kind::improved:
      return improved_sentence(record);
    case Verdict::Kind::no_gain:
      return fmt::format("Leave {} as it is: on {} no register budget beats {} by more than {:.3g} %.", kernel,
                         where(record), reference_words(record), record.settings.margin * 100);
    case Verdict::Kind::inconclusive:
      return fmt::format("Undecided on {}: leave {} as it is until a longer run says more.", where(record), kernel);
    case Verdict::Kind::not_resolvable:
      break;
  }
  return fmt::format("One launch of {} is too short to be told apart on {}: leave it as it is.", kernel, where(record));
}

std::vector<std::string> verdict_details(const TuningRecord& record) {
  if (!record.verdict) return {};
  const Verdict& v = *record.verdict;
  std::vector<std::string> details;
  if (v.kind == Verdict::Kind::improved && v.best_id != v.reference_id) {
    const Measurement* best = time_of(distinct_codes(record), v.best_id);
    details.push_back(
        fmt::format("With {:.4g} % confidence the gain over {} lies between {:.3f}\u00d7 and {:.3f}\u00d7{}.",
                    record.settings.confidence * 100, reference_words(record), v.speedup.low, v.speedup.high,
                    best && !best->confirmation.empty()
                        ? fmt::format(", from {} rounds in which both ran side by side", best->confirmation.size())
                        : ""));
    if (!is_from_ptx(record)) details.push_back(in_source_sentence(record));
  } else if (!v.reason.empty()) {
    details.push_back(fmt::format("Why: {}.", shortened(v.reason, 1000)));
  }
  if (v.best_renamed_id)
    details.push_back(fmt::format("Under a name that holds \u201ccutlass\u201d, {} gives {}\u00d7.",
                                  choice(record, *v.best_renamed_id), spell_gain(v.speedup_renamed.median)));
  const bool gains_other_way =
      v.kind == Verdict::Kind::improved && v.best_id != v.reference_id && v.speedup_other_way.median > 0;
  if (gains_other_way)
    details.push_back(
        fmt::format("{}, the same code gives {}\u00d7 ({:.3f} to {:.3f}).",
                    record.settings.cold ? "With a warm L2 cache" : "With the L2 cache flushed before each launch",
                    spell_gain(v.speedup_other_way.median), v.speedup_other_way.low, v.speedup_other_way.high));
  return details;
}

std::vector<std::string> run_labels(const std::vector<TuningRecord>& runs) {
  std::vector<std::vector<std::string>> pieces(runs.size());
  std::set<std::string> told;
  for (const Field& field : distinguishing_fields()) {
    if (told.size() == runs.size()) break;
    std::set<std::string> values;
    for (const TuningRecord& run : runs) values.insert(field(run));
    if (values.size() < 2) continue;
    told.clear();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (const std::string value = field(runs[i]); !value.empty()) pieces[i].push_back(value);
      told.insert(fmt::format("{}", fmt::join(pieces[i], ", ")));
    }
  }
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < runs.size(); ++i)
    labels.push_back(pieces[i].empty() ? fmt::format("run {}", i + 1) : fmt::format("{}", fmt::join(pieces[i], ", ")));
  return labels;
}

}  // namespace regtune
