#include "explain.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <vector>

#include "authors_bound.hpp"
#include "decide.hpp"
#include "occupancy_text.hpp"
#include "policy.hpp"
#include "report.hpp"

namespace regtune {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string spell_budget(const StaticFacts& facts) {
  const std::string note = facts.budget.note.empty() ? "" : ": " + facts.budget.note;
  switch (facts.budget.status) {
    case BudgetStatus::not_asked:
      return "no budget asked for";
    case BudgetStatus::in_force:
      return fmt::format("in force, with a ceiling of {} registers{}", facts.register_ceiling, note);
    case BudgetStatus::clamped:
    case BudgetStatus::inert:
    case BudgetStatus::overridden:
    case BudgetStatus::inferred:
      break;
  }
  return std::string(to_string(facts.budget.status)) + note;
}

std::string spell_facts(const StaticFacts& facts) {
  std::string text = fmt::format("{} registers", facts.registers_per_thread);
  if (facts.spilled_bytes() > 0)
    text += fmt::format(", spills {}/{} bytes", facts.spill_store_bytes, facts.spill_load_bytes);
  if (facts.shared_spill_store_bytes > 0 || facts.shared_spill_load_bytes > 0)
    text += fmt::format(" to local and {}/{} to shared memory, of which a block takes {} bytes",
                        facts.shared_spill_store_bytes, facts.shared_spill_load_bytes, facts.static_shared_bytes);
  if (facts.occupancy) text += fmt::format(", {:.1f} % occupancy", facts.occupancy->fraction * 100);
  return text;
}

std::string spell_measured(const Measurement& measured) {
  std::string text = fmt::format("{:.5g} ms", measured.time_ms.median);
  if (measured.speedup.median > 0)
    text += fmt::format(", {:.3f}x ({:.3f} to {:.3f})", measured.speedup.median, measured.speedup.low,
                        measured.speedup.high);
  return text;
}

std::string spell_outcome(const TuningRecord& record, const Outcome& outcome) {
  return std::visit(
      [&](const auto& o) -> std::string {
        using T = std::decay_t<decltype(o)>;
        if constexpr (std::is_same_v<T, NotTimed>) {
          return "not timed: no GPU ran it";
        } else if constexpr (std::is_same_v<T, CompileFailed>) {
          return "does not compile: " + first_line(o.message);
        } else if constexpr (std::is_same_v<T, NotCompiled>) {
          return "not compiled: " + o.reason;
        } else if constexpr (std::is_same_v<T, NotApplicable>) {
          return "not applicable: " + o.reason;
        } else if constexpr (std::is_same_v<T, NotLaunchable>) {
          return "cannot be launched: " + o.reason;
        } else if constexpr (std::is_same_v<T, SameCodeAs>) {
          return fmt::format("same code as #{}, {}", o.variant_id, spell_choice(record, o.variant_id));
        } else if constexpr (std::is_same_v<T, Faulted>) {
          return "dropped, it faulted: " + first_line(o.message);
        } else if constexpr (std::is_same_v<T, TimedOut>) {
          return fmt::format("dropped, one launch took longer than {:g} ms", o.limit_ms);
        } else if constexpr (std::is_same_v<T, WrongResult>) {
          return "dropped, its result is wrong: " + first_line(o.message);
        } else if constexpr (std::is_same_v<T, Abandoned>) {
          return "left the race: " + o.reason;
        } else if constexpr (std::is_same_v<T, Quarantined>) {
          return fmt::format("not launched, in quarantine since {}: {}", o.since, o.reason);
        } else {
          static_assert(std::is_same_v<T, Measurement>);
          if (o.confirmation.empty()) return "raced to the end and is no finalist: " + spell_measured(o);
          return fmt::format("confirmed in {} rounds: {}", o.confirmation.size(), spell_measured(o));
        }
      },
      outcome);
}

// A finalist that is not recommended: whose time it was compared with.
std::string spell_defeat(const Verdict& verdict, const Trial& trial) {
  const auto* measured = std::get_if<Measurement>(&trial.outcome);
  if (!measured || measured->confirmation.empty()) return "";
  if (verdict.kind != Verdict::Kind::improved) return "; no gain that counts";
  return measured->speedup.median > verdict.speedup.median
             ? fmt::format("; as fast as #{} within the margin, which is preferred", verdict.best_id)
             : fmt::format("; beaten by #{}", verdict.best_id);
}

// What the verdict says of it.
std::string spell_role(const TuningRecord& record, const Trial& trial) {
  if (!record.verdict) return "";
  const Verdict& verdict = *record.verdict;
  const int id = trial.variant.id;
  const int timed = timed_trial(record.trials, id).variant.id;
  std::string text;
  if (id == verdict.reference_id) text += "; the reference";
  const bool is_told = [&] {
    for (const int told : {verdict.reference_id, verdict.best_id, verdict.best_in_source_id})
      if (timed_trial(record.trials, told).variant.id == timed) return true;
    return verdict.best_renamed_id == id;
  }();
  if (!is_told) text += spell_defeat(verdict, trial);
  if (verdict.kind != Verdict::Kind::improved) return text;
  if (id == verdict.best_id) text += "; chosen: the best";
  if (id == verdict.best_in_source_id && id != verdict.reference_id) text += "; chosen: the best in the source";
  if (id == verdict.best_renamed_id) text += "; told beside: the best under another name";
  return text;
}

std::string spell_nvcc(const TuningRecord& record) {
  std::vector<std::string> pieces;
  for (const NvccCode& code : record.nvcc->codes)
    pieces.push_back(code.failure.empty()
                         ? fmt::format("#{}: {} registers, spills {}/{} bytes", code.variant_id,
                                       code.registers_per_thread, code.spill_store_bytes, code.spill_load_bytes)
                         : fmt::format("#{} does not compile: {}", code.variant_id, code.failure));
  return fmt::format("{}", fmt::join(pieces, "; "));
}

}  // namespace

std::string explain_trial(const TuningRecord& record, const Trial& trial) {
  std::string text = fmt::format("#{} {}: ", trial.variant.id, spell_choice(record, trial.variant.id));
  if (trial.facts) text += fmt::format("{}; {}; ", spell_budget(*trial.facts), spell_facts(*trial.facts));
  return text + spell_outcome(record, trial.outcome) + spell_role(record, trial);
}

std::string explanation(const TuningRecord& record) {
  std::string text =
      fmt::format("\nwhy, for {} on {}\ncompiler: {}\n", record.signature, record.architecture, record.compiler);
  if (!record.route.empty()) text += fmt::format("way to the machine code: {}\n", record.route);
  for (const std::string& note : record.source_notes) text += "source: " + note + "\n";
  if (const std::string bound = about_authors_bound(record); !bound.empty()) text += bound + "\n";
  for (const std::string& sentence : about_occupancy(record)) text += sentence + "\n";
  if (record.nvcc) text += fmt::format("compared with {}: {}\n", record.nvcc->compiler, spell_nvcc(record));
  if (record.verdict) text += fmt::format("verdict: {}: {}\n", to_string(record.verdict->kind), record.verdict->reason);
  for (const Trial& trial : record.trials) text += explain_trial(record, trial) + "\n";
  return text;
}

}  // namespace regtune
