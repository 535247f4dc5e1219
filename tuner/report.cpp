#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "authors_bound.hpp"
#include "decide.hpp"
#include "nvcc_text.hpp"
#include "policy.hpp"
#include "timing_text.hpp"

namespace regtune {
namespace {

constexpr std::size_t kRowsShown = 12;

// One distinct code: the trial that was timed and every variant that gave it.
struct Row {
  const Trial* timed = nullptr;
  std::vector<const Trial*> variants;
};

const Measurement* measurement_of(const Trial& trial) {
  if (const auto* measured = std::get_if<Measurement>(&trial.outcome)) return measured;
  if (const auto* abandoned = std::get_if<Abandoned>(&trial.outcome))
    return abandoned->so_far.time_ms.median > 0 ? &abandoned->so_far : nullptr;
  return nullptr;
}

std::vector<Row> rows_of(const TuningRecord& record) {
  std::map<int, Row> by_timed;
  for (const Trial& trial : record.trials) {
    if (std::holds_alternative<CompileFailed>(trial.outcome) || !trial.facts) continue;
    const Trial& timed = timed_trial(record.trials, trial.variant.id);
    Row& row = by_timed[timed.variant.id];
    row.timed = &timed;
    row.variants.push_back(&trial);
  }
  std::vector<Row> rows;
  for (auto& [id, row] : by_timed) rows.push_back(std::move(row));
  const auto rank = [](const Row& row) {
    const Measurement* measured = measurement_of(*row.timed);
    return std::tuple(measured == nullptr, measured ? measured->time_ms.median : 0.0,
                      -row.timed->facts->registers_per_thread, row.timed->variant.id);
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  return rows;
}

bool several_blocks(const TuningRecord& record) {
  return std::any_of(record.trials.begin(), record.trials.end(),
                     [&](const Trial& trial) { return !(trial.variant.block == record.trials.front().variant.block); });
}

// Enough decimals for the interval to show, whatever the time is.
std::string spell_time(const Interval& time) {
  const int decimals = time.median >= 100 ? 1 : time.median >= 0.1 ? 3 : 5;
  const double half = std::max(time.high - time.median, time.median - time.low);
  return fmt::format("{:.{}f} +-{:.{}f}", time.median, decimals, half, decimals);
}

std::string spell_outcome(const Trial& trial) {
  if (std::holds_alternative<NotTimed>(trial.outcome)) return "";
  if (std::holds_alternative<NotLaunchable>(trial.outcome)) return "cannot launch";
  if (std::holds_alternative<Faulted>(trial.outcome)) return "faulted";
  if (std::holds_alternative<TimedOut>(trial.outcome)) return "timed out";
  if (std::holds_alternative<WrongResult>(trial.outcome)) return "wrong result";
  if (std::holds_alternative<Quarantined>(trial.outcome)) return "in quarantine";
  return "-";
}

std::string spell_speedup(double speedup) {
  return fmt::format("{:.2f}x", speedup);
}

bool row_holds(const Row& row, int variant_id) {
  return std::any_of(row.variants.begin(), row.variants.end(),
                     [&](const Trial* trial) { return trial->variant.id == variant_id; });
}

// Every budget that gives the code, by choice; where the author's own choice gives it, the others go unsaid.
std::string spell_budgets(const Row& row) {
  std::vector<std::pair<SourceChoice, std::vector<RegisterPolicy>>> by_choice;
  for (const Trial* trial : row.variants) {
    auto same = std::find_if(by_choice.begin(), by_choice.end(),
                             [&](const auto& entry) { return entry.first == trial->variant.choice; });
    if (same == by_choice.end()) same = by_choice.insert(same, {trial->variant.choice, {}});
    same->second.push_back(trial->variant.policy);
  }
  const bool authors = by_choice.front().first.is_authors();
  std::vector<std::string> pieces;
  for (const auto& [choice, policies] : by_choice)
    if (!authors || choice.is_authors()) pieces.push_back(spell_around(spell(policies), choice, ": "));
  return fmt::format("{}", fmt::join(pieces, "; "));
}

// What the column of spills, which are those to local memory, does not count.
std::string shared_spills(const StaticFacts& facts) {
  if (facts.shared_spill_store_bytes == 0 && facts.shared_spill_load_bytes == 0) return "";
  return fmt::format(" (and {}/{} bytes to {} of shared memory)", facts.shared_spill_store_bytes,
                     facts.shared_spill_load_bytes, facts.static_shared_bytes);
}

std::string budget_cell(const TuningRecord& record, const Row& row) {
  std::string text = spell_budgets(row) + shared_spills(*row.timed->facts);
  if (several_blocks(record)) text = fmt::format("block {}: {}", spell_block(row.timed->shape.block), text);
  if (record.verdict) {
    const Verdict& verdict = *record.verdict;
    const bool improved = verdict.kind == Verdict::Kind::improved;
    if (improved && row_holds(row, verdict.best_in_source_id) && verdict.best_in_source_id != verdict.reference_id)
      text += "   <- write this";
    else if (improved && row_holds(row, verdict.best_id))
      text += "   <- best";
    else if (verdict.best_renamed_id && row_holds(row, *verdict.best_renamed_id))
      text += "   <- best under another name";
  }
  return text;
}

void append_row(std::string& text, const TuningRecord& record, const Row& row) {
  const StaticFacts& facts = *row.timed->facts;
  const std::string spills = fmt::format("{}/{}", facts.spill_store_bytes, facts.spill_load_bytes);
  const std::string occupancy =
      facts.occupancy ? fmt::format("{:.1f} %", facts.occupancy->fraction * 100) : std::string("none");
  const std::string limiter = facts.occupancy ? std::string(to_string(facts.occupancy->limiter)) : "";
  fmt::format_to(std::back_inserter(text), "{:>10} {:>12} {:>6} {:>10}  {:<13}", facts.registers_per_thread, spills,
                 facts.stack_frame_bytes, occupancy, limiter);
  if (record.gpu) {
    const Measurement* measured = measurement_of(*row.timed);
    fmt::format_to(std::back_inserter(text), " {:>18} {:>12}{}{}   ",
                   measured ? spell_time(measured->time_ms) : spell_outcome(*row.timed),
                   measured && measured->speedup.median > 0 ? spell_speedup(measured->speedup.median) : "",
                   rate_cells(record.work, measured ? measured->time_ms.median : 0),
                   counter_cells(record, row.timed->variant.id));
  }
  text += " " + budget_cell(record, row) + "\n";
}

void append_table(std::string& text, const TuningRecord& record, const ReportStyle& style) {
  fmt::format_to(std::back_inserter(text), "\n{:>10} {:>12} {:>6} {:>10}  {:<13}", "registers", "spill st/ld", "stack",
                 "occupancy", "limited by");
  if (record.gpu)
    fmt::format_to(std::back_inserter(text), " {:>18} {:>12}{}{}   ", "time (ms)",
                   record.verdict && record.verdict->reference_id == 0 ? "vs author's" : "vs reference",
                   rate_heads(record.work), counter_heads(record));
  text += " budget\n";
  const std::vector<Row> rows = rows_of(record);
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const auto& verdict = record.verdict;
    const bool named = row_holds(row, 0) ||
                       (verdict && (row_holds(row, verdict->best_id) || row_holds(row, verdict->best_in_source_id) ||
                                    (verdict->best_renamed_id && row_holds(row, *verdict->best_renamed_id))));
    const bool failed = !measurement_of(*row.timed) && record.gpu && !spell_outcome(*row.timed).empty();
    if (style.all_rows || i < kRowsShown || named || failed)
      append_row(text, record, row);
    else
      ++hidden;
  }
  if (hidden > 0) text += fmt::format("           ... and {} more codes (--all shows them)\n", hidden);
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
  const int spilled = facts.spill_store_bytes + facts.spill_load_bytes;
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
    return fmt::format("best: {}{}: {}\n", spell_choice(record, v.best_id), travels ? ", in the source" : "", v.reason);
  const auto percent = record.settings.confidence * 100;
  std::string text = fmt::format("best: {} faster than {} ({:.3f} to {:.3f} with {:.0f} % confidence):  {}\n",
                                 spell_speedup(v.speedup.median), reference, v.speedup.low, v.speedup.high, percent,
                                 spell_choice(record, v.best_id));
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

std::string spell_block(Dim3 block) {
  if (block.z > 1) return fmt::format("{}x{}x{}", block.x, block.y, block.z);
  return block.y > 1 ? fmt::format("{}x{}", block.x, block.y) : fmt::format("{}", block.x);
}

std::string verdict_in_words(const TuningRecord& record) {
  return verdict_text(record) + renamed_text(record);
}

std::string table_of_codes(const TuningRecord& record, const ReportStyle& style) {
  std::string text;
  append_table(text, record, style);
  return text;
}

std::string spell_choice(const TuningRecord& record, int variant_id) {
  const Variant& variant = record.trials.at(static_cast<std::size_t>(variant_id)).variant;
  std::string text = spell_around(spell(variant.policy), variant.choice, ", ");
  if (several_blocks(record)) text += fmt::format(" with block {}", spell_block(variant.block));
  const Dim3& grid = record.trials[static_cast<std::size_t>(variant_id)].shape.grid;
  const bool grid_is_its_own = std::any_of(record.trials.begin(), record.trials.end(), [&](const Trial& trial) {
    return trial.variant.block == variant.block && trial.shape.grid != grid;
  });
  if (grid_is_its_own) text += fmt::format(" on a grid of {}", spell_block(grid));
  return text;
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
  text +=
      fmt::format("compiled {} variants{} -> {} distinct codes\n", record.trials.size() - failed - inferred,
                  inferred == 0 ? "" : fmt::format(", {} caps taken to give the code of those around them", inferred),
                  rows_of(record).size());
  append_table(text, record, style);
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
  return text;
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
