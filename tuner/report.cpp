#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "authors_bound.hpp"
#include "decide.hpp"
#include "distinct_codes.hpp"
#include "from_ptx.hpp"
#include "nvcc_text.hpp"
#include "policy.hpp"
#include "terminal.hpp"
#include "time_plot.hpp"
#include "timing_text.hpp"

namespace regtune {
namespace {

std::string spell_speedup(double speedup) {
  return fmt::format("{:.2f}x", speedup);
}

// What the compile budget left out, and why; under the kernel's own name and with its own macros in full.
std::string skipped_text(const TuningRecord& record) {
  std::vector<RegisterPolicy> own;
  std::size_t others = 0;
  std::string reason;
  for (const Trial& trial : record.trials) {
    const auto* skipped = std::get_if<NotCompiled>(&trial.outcome);
    if (!skipped) continue;
    reason = skipped->reason;
    const bool is_own = trial.variant.choice.is_authors() && trial.variant.block == record.author_shape.block;
    if (is_own)
      own.push_back(trial.variant.policy);
    else
      ++others;
  }
  if (own.empty() && others == 0) return "";
  std::vector<std::string> pieces;
  if (!own.empty()) pieces.push_back(spell(own));
  if (others > 0) pieces.push_back(fmt::format("{} with another name, macro, option or block", others));
  return fmt::format("{} of {} budgets were not compiled, and one of them may be better: {}: {}\n", own.size() + others,
                     record.trials.size(), fmt::join(pieces, "; "), reason);
}

void append_failures(std::string& text, const TuningRecord& record) {
  std::vector<RegisterPolicy> failed;
  std::string first;
  std::vector<RegisterPolicy> refused;
  std::string why_refused;
  for (const Trial& trial : record.trials) {
    if (const auto* not_for_it = std::get_if<NotApplicable>(&trial.outcome)) {
      refused.push_back(trial.variant.policy);
      why_refused = not_for_it->reason;
    }
    if (const auto* failure = std::get_if<CompileFailed>(&trial.outcome)) {
      failed.push_back(trial.variant.policy);
      if (first.empty()) first = failure->message.substr(0, failure->message.find('\n'));
    }
    if (const auto* wrong = std::get_if<WrongResult>(&trial.outcome))
      text += fmt::format("wrong result, dropped: {}: {}\n", spell(trial.variant.policy), wrong->message);
    if (const auto* fault = std::get_if<Faulted>(&trial.outcome))
      text += fmt::format("faulted, dropped: {}: {}\n", spell(trial.variant.policy), fault->message);
    if (const auto* late = std::get_if<TimedOut>(&trial.outcome))
      text += fmt::format("stopped after {:.0f} ms, dropped: {}\n", late->limit_ms, spell(trial.variant.policy));
    if (const auto* kept = std::get_if<Quarantined>(&trial.outcome))
      text += fmt::format("not launched, in quarantine since {}: {}: {}; --retry-quarantined launches it again\n",
                          kept->since, spell(trial.variant.policy), kept->reason);
  }
  if (!failed.empty()) text += fmt::format("not compiled: {}: {}\n", spell(failed), first);
  if (!refused.empty()) text += fmt::format("not applicable: {} + smem spill: {}\n", spell(refused), why_refused);
  text += skipped_text(record);
}

// What a CUDA programmer wants said about the author's own code.
void append_diagnosis(std::string& text, const TuningRecord& record) {
  const Trial& author = record.trials.front();
  if (const auto* refused = std::get_if<NotLaunchable>(&author.outcome))
    text += fmt::format("the author's code cannot be launched: {}\n", refused->reason);
  if (!author.facts) return;
  const StaticFacts& facts = *author.facts;
  const std::int64_t spilled = std::int64_t{facts.spill_store_bytes} + facts.spill_load_bytes;
  if (facts.stack_frame_bytes > 0 && spilled == 0)
    text += fmt::format(
        "the author's code has a stack frame of {} bytes and spills nothing: an array there is indexed "
        "at run time or has its address taken, and no register budget can cure that; make the "
        "index a compile-time constant\n",
        facts.stack_frame_bytes);
  if (spilled > 0)
    text += fmt::format(
        "the author's code spills: {} bytes stored and {} loaded per thread; a larger budget can cure "
        "that\n",
        facts.spill_store_bytes, facts.spill_load_bytes);
  if (!facts.budget.note.empty()) text += fmt::format("the author's budget: {}\n", facts.budget.note);
  if (const std::string bound = about_authors_bound(record); !bound.empty()) text += bound + "\n";
}

std::string spell_sizes(const Sizes& sizes, const char* separator, const char* equals) {
  std::vector<std::string> pieces;
  for (const auto& [name, value] : sizes) pieces.push_back(fmt::format("{}{}{}", name, equals, value));
  return fmt::format("{}", fmt::join(pieces, separator));
}

// ptxas allocates registers otherwise for a kernel whose name contains "cutlass".
std::string renamed_text(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  if (!v.best_renamed_id) return "";
  return fmt::format("under another name: {} faster than the author's code:  {}\n",
                     spell_speedup(v.speedup_renamed.median), spell_choice(record, *v.best_renamed_id));
}

// What the verdict is with the L2 cache in the other state than it was in.
std::string other_way_text(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  const bool gains = v.kind == Verdict::Kind::improved && v.best_id != v.reference_id;
  const char* how = record.settings.cold ? "with a warm L2 cache" : "with L2 flushed before each launch";
  if (v.best_other_way_id == v.reference_id)
    return fmt::format("{}: {:.3f}x: slower than the author's code\n", how, v.speedup_other_way.median);
  if (v.best_other_way_id)
    return fmt::format("{} another is best: {:.3f}x ({:.3f} to {:.3f}):  {}{}\n", how,
                       v.speedup_of_best_other_way.median, v.speedup_of_best_other_way.low,
                       v.speedup_of_best_other_way.high, spell_choice(record, *v.best_other_way_id),
                       gains ? fmt::format("; the one above: {:.3f}x", v.speedup_other_way.median) : "");
  if (!gains || v.speedup_other_way.median <= 0) return "";
  return fmt::format("{}: {:.3f}x ({:.3f} to {:.3f})\n", how, v.speedup_other_way.median, v.speedup_other_way.low,
                     v.speedup_other_way.high);
}

// How near the best of the others came where the code that all are compared with is recommended. Of budgets with one
// code the first is named.
std::string runner_up_text(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  if (v.best_id != v.reference_id) return "";
  const int reference = timed_trial(record.trials, v.reference_id).variant.id;
  const Trial* nearest = nullptr;
  Interval speedup;
  for (const Trial& trial : record.trials) {
    const auto* measured = std::get_if<Measurement>(&trial.outcome);
    if (!measured || measured->confirmation.empty() || trial.variant.id == reference) continue;
    if (nearest && measured->speedup.median <= speedup.median) continue;
    nearest = &trial;
    speedup = measured->speedup;
  }
  if (!nearest) return "";
  return fmt::format("the nearest other: {:.4f}x ({:.4f} to {:.4f}):  {}\n", speedup.median, speedup.low, speedup.high,
                     spell_choice(record, nearest->variant.id));
}

std::string verdict_text(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  const std::string reference = v.reference_id == 0 ? "the author's code" : spell_choice(record, v.reference_id);
  switch (v.kind) {
    case Verdict::Kind::no_gain:
      return fmt::format("no significant gain over {}: {}. Leave it as it is.\n", reference, v.reason) +
             runner_up_text(record);
    case Verdict::Kind::inconclusive:
      return fmt::format("inconclusive: {}. Until then, leave it as it is.\n", v.reason) + runner_up_text(record);
    case Verdict::Kind::not_resolvable:
      return fmt::format("not resolvable at this size: {}. Until then, leave it as it is.\n", v.reason);
    case Verdict::Kind::improved:
      break;
  }
  const bool travels = travels_with_source(record.trials.at(static_cast<std::size_t>(v.best_id)).variant.policy);
  if (v.best_id == v.reference_id)  // the stand-in of an author's code that cannot be launched
    return fmt::format("best: {}{}: {}\n", spell_choice(record, v.best_id), travels ? ", in the source" : "",
                       v.reason) +
           from_ptx_note(record, "", "\n");
  const auto percent = record.settings.confidence * 100;
  std::string text = fmt::format("best: {} faster than {} ({:.3f} to {:.3f} with {:.0f} % confidence):  {}\n",
                                 spell_speedup(v.speedup.median), reference, v.speedup.low, v.speedup.high, percent,
                                 spell_choice(record, v.best_id));
  if (is_from_ptx(record)) return text + from_ptx_note(record, "", "\n");  // there is no source to write it into
  if (v.best_in_source_id == v.best_id && travels)
    text += "in the source: the same (as fast as any flag, within the noise)\n";
  else if (v.best_in_source_id != v.reference_id)
    text += fmt::format("in the source: {} faster:  {}\n", spell_speedup(v.speedup_in_source.median),
                        spell_choice(record, v.best_in_source_id));
  else
    text += "in the source: nothing that can be written there is faster; the gain needs the flag\n";
  return text;
}

// A launch that nobody described may not be the one that the author means.
std::string guesses_text(const TuningRecord& record) {
  if (record.guesses.empty()) return "";
  return fmt::format("guessed, not described: {}\n", fmt::join(record.guesses, "; "));
}

}  // namespace

std::string verdict_in_words(const TuningRecord& record) {
  return verdict_text(record) + renamed_text(record);
}

std::string report_text(const TuningRecord& record, const std::string& stored_in, const ReportStyle& style) {
  std::string text = fmt::format("regtune {} | ", record.regtune_version);
  if (record.gpu)
    text += fmt::format("{}, {}, {} SMs | driver {} | ", record.gpu->id.name, record.architecture,
                        record.gpu->id.sm_count, record.gpu->driver_version);
  else
    text += fmt::format("no GPU, {} | ", record.architecture);
  text += record.compiler + (stored_in.empty() ? "" : " | cache " + stored_in) + "\n";
  const LaunchShape& shape = record.author_shape;
  text += record.signature;
  if (!record.sizes.empty()) text += "   " + spell_sizes(record.sizes, "   ", " = ");
  text += fmt::format("   block {}   grid {}\n", spell_block(shape.block), spell_block(shape.grid));
  text += guesses_text(record);
  std::size_t failed = 0;
  std::size_t inferred = 0;
  for (const Trial& trial : record.trials) {
    failed += trial.facts ? 0 : 1;
    inferred += trial.facts && trial.facts->budget.status == BudgetStatus::inferred ? 1 : 0;
  }
  const std::size_t codes = distinct_codes(record).size();
  text +=
      fmt::format("compiled {} variants{} -> {} distinct code{}\n", record.trials.size() - failed - inferred,
                  inferred == 0 ? "" : fmt::format(", {} caps taken to give the code of those around them", inferred),
                  codes, codes == 1 ? "" : "s");
  text += table_of_codes(record, style);
  if (style.plot) text += time_plot(record, style);
  text += "\n";
  append_failures(text, record);
  append_diagnosis(text, record);
  if (record.counters && !record.counters->unavailable.empty())
    text += fmt::format("the GPU's counters are unavailable: {}\n", record.counters->unavailable);
  if (record.verdict)
    text += timing_text(record) + verdict_text(record) + renamed_text(record) + other_way_text(record);
  text += nvcc_text(record);
  if (!record.gpu)
    text += fmt::format("nothing was timed and nothing stored: there is no GPU here that runs {} code\n",
                        record.architecture);
  if (!stored_in.empty())
    text += fmt::format("stored for {}{}{}\n", record.gpu->id.name, record.sizes.empty() ? "" : ", ",
                        spell_sizes(record.sizes, ", ", "="));
  return fitted(text, style.columns);
}

std::string answer_text(const TuningRecord& record) {
  std::string text = record.signature;
  if (!record.sizes.empty()) text += "   " + spell_sizes(record.sizes, "   ", " = ");
  text += fmt::format("   block {}\n", spell_block(record.author_shape.block));
  text += guesses_text(record);
  if (record.gpu)
    text += fmt::format("{}, {} | driver {} | {} | measured {}\n", record.gpu->id.name, record.architecture,
                        record.gpu->driver_version, record.compiler, record.started);
  text += skipped_text(record);
  if (record.verdict) text += verdict_text(record) + renamed_text(record) + other_way_text(record);
  text += nvcc_text(record);
  return text;
}

}  // namespace regtune
