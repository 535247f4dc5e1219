#include "record_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "decide.hpp"
#include "distinct_codes.hpp"
#include "exported_budget.hpp"
#include "policy.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// The author's block is the author's under every size; another one is named.
std::string identity_of(const Variant& variant) {
  const Dim3& block = variant.block;
  return fmt::format("{}x{}x{} {} {}", block.x, block.y, block.z, spell(variant.policy), spell(variant.choice));
}

void add_change(std::vector<Change>& changes, const char* what, const std::string& before, const std::string& after) {
  if (before != after) changes.push_back({what, before, after});
}

std::vector<Change> changes_between(const TuningRecord& before, const TuningRecord& after) {
  std::vector<Change> changes;
  const auto gpu = [](const TuningRecord& r) { return r.gpu ? r.gpu->id.name : "none"; };
  const auto driver = [](const TuningRecord& r) { return r.gpu ? r.gpu->driver_version : "none"; };
  const auto joined = [](const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, " ")); };
  const auto launch = [](const TuningRecord& r) {
    const LaunchShape& s = r.author_shape;
    return fmt::format("{}x{}x{} blocks of {}x{}x{}, {} bytes", s.grid.x, s.grid.y, s.grid.z, s.block.x, s.block.y,
                       s.block.z, s.dynamic_shared_bytes);
  };
  add_change(changes, "kernel", before.signature, after.signature);
  add_change(changes, "GPU", gpu(before), gpu(after));
  add_change(changes, "architecture", before.architecture, after.architecture);
  add_change(changes, "driver", driver(before), driver(after));
  add_change(changes, "compiler", before.compiler, after.compiler);
  add_change(changes, "source", before.source_hash, after.source_hash);
  add_change(changes, "options", joined(before.options), joined(after.options));
  add_change(changes, "sizes", spell_sizes(before.sizes), spell_sizes(after.sizes));
  add_change(changes, "launch", launch(before), launch(after));
  add_change(changes, "arguments", fmt::format("{}", fmt::join(before.arguments, "; ")),
             fmt::format("{}", fmt::join(after.arguments, "; ")));
  add_change(changes, "L2 cache", before.settings.cold ? "flushed before each launch" : "warm",
             after.settings.cold ? "flushed before each launch" : "warm");
  add_change(changes, "regtune", before.regtune_version, after.regtune_version);
  return changes;
}

// How a budget failed; empty where it did not, or was not tried.
std::string failure_of(const TuningRecord& record, const Trial& trial) {
  if (std::holds_alternative<CompileFailed>(trial.outcome)) return "does not compile";
  if (std::holds_alternative<NotApplicable>(trial.outcome)) return "not applicable";
  const Trial& timed = timed_trial(record.trials, trial.variant.id);
  return measurement_of(timed) ? "" : std::holds_alternative<Abandoned>(timed.outcome) ? "" : spell_fate(timed);
}

bool is_known(const Measurement& measured, double confidence) {
  return range_coverage(static_cast<int>(deciding_samples(measured).size())) >= confidence;
}

Interval quotient(const Interval& above, const Interval& below) {
  return {above.low / below.high, above.median / below.median, above.high / below.low};
}

bool is_author_again(const TuningRecord& before, const TuningRecord& after) {
  const auto& a = before.trials.front().facts;
  const auto& b = after.trials.front().facts;
  return a && b && a->code_hash == b->code_hash;
}

// Each interval holds its median with the run's confidence, so both do with at least 1 - 2 (1 - confidence): the ratio
// then lies between those of the ends that are farthest apart.
TimeDrift time_drift(const Variant& variant, const Measurement& before, const Measurement& after,
                     const TuningRecord& earlier, const TuningRecord& later) {
  TimeDrift drift;
  drift.variant = variant;
  drift.ms_before = before.time_ms.median;
  drift.ms_after = after.time_ms.median;
  // A gain is the author's time over this one's, of samples that were taken side by side.
  drift.beside_authors = variant.id != 0 && is_author_again(earlier, later) && before.speedup.low > 0 &&
                         after.speedup.low > 0 && earlier.verdict->reference_id == 0 &&
                         later.verdict->reference_id == 0;
  drift.ratio =
      drift.beside_authors ? quotient(before.speedup, after.speedup) : quotient(after.time_ms, before.time_ms);
  const double margin = std::max(earlier.settings.margin, later.settings.margin);
  if (!is_known(before, earlier.settings.confidence) || !is_known(after, later.settings.confidence))
    drift.kind = TimeDrift::Kind::too_few_samples;
  else if (drift.ratio.low > 1 && drift.ratio.median > 1 + margin)
    drift.kind = TimeDrift::Kind::slower;
  else if (drift.ratio.high < 1 && drift.ratio.median < 1 - margin)
    drift.kind = TimeDrift::Kind::faster;
  return drift;
}

std::optional<Variant> winner_of(const TuningRecord& record) {
  if (!record.verdict || record.verdict->kind != Verdict::Kind::improved) return {};
  if (record.verdict->best_id == 0) return {};
  return record.trials.at(static_cast<std::size_t>(record.verdict->best_id)).variant;
}

// Of the later run's code for `kept` over its best: paired where both were confirmed.
std::optional<Interval> cost_of_keeping(const TuningRecord& later, const Trial& kept) {
  if (!later.verdict) return {};
  const Trial& best = timed_trial(later.trials, later.verdict->best_id);
  const Trial& timed = timed_trial(later.trials, kept.variant.id);
  const Measurement* of_best = measurement_of(best);
  const Measurement* of_kept = measurement_of(timed);
  if (!of_best || !of_kept) return {};
  if (best.variant.id == timed.variant.id) return Interval{1, 1, 1};
  const std::vector<double> ratios = paired_ratios(of_kept->confirmation, of_best->confirmation);
  if (!ratios.empty()) return median_interval(ratios, later.settings.confidence);
  return Interval{of_kept->time_ms.low / of_best->time_ms.high, of_kept->time_ms.median / of_best->time_ms.median,
                  of_kept->time_ms.high / of_best->time_ms.low};
}

WinnerDrift winner_drift(const TuningRecord& before, const TuningRecord& after,
                         const std::map<std::string, const Trial*>& later) {
  WinnerDrift drift;
  if (!before.verdict || !after.verdict) return drift;
  drift.before = winner_of(before);
  drift.after = winner_of(after);
  const auto kept = later.find(drift.before ? identity_of(*drift.before) : identity_of(after.trials.front().variant));
  if (kept != later.end()) drift.cost_of_keeping = cost_of_keeping(after, *kept->second);
  drift.cost_is_known = drift.cost_of_keeping && drift.cost_of_keeping->low > 1;
  if (drift.before.has_value() != drift.after.has_value()) {
    drift.changed = true;
  } else if (drift.before) {
    // Two names of one code are one winner.
    const auto one = later.find(identity_of(*drift.before));
    drift.changed = one == later.end() || timed_trial(after.trials, one->second->variant.id).variant.id !=
                                              timed_trial(after.trials, after.verdict->best_id).variant.id;
  }
  return drift;
}

bool is_confirmed(const Measurement* measured) {
  return measured && !measured->confirmation.empty();
}

}  // namespace

bool RecordDiff::same() const {
  return facts.empty() && fates.empty() && !winner.changed &&
         std::none_of(times.begin(), times.end(), [&](const TimeDrift& drift) {
           if (drift.variant.id == 0 && authors_drift_is_the_machines) return false;
           return drift.kind == TimeDrift::Kind::faster || drift.kind == TimeDrift::Kind::slower;
         });
}

RecordDiff record_diff(const TuningRecord& before, const TuningRecord& after) {
  RecordDiff diff;
  diff.changes = changes_between(before, after);
  diff.timed_in_both = before.verdict && after.verdict;
  diff.authors_drift_is_the_machines = is_author_again(before, after) &&
                                       std::none_of(diff.changes.begin(), diff.changes.end(), [](const Change& change) {
                                         return change.what == "GPU" || change.what == "driver";
                                       });
  std::map<std::string, const Trial*> later;
  for (const Trial& trial : after.trials) later.emplace(identity_of(trial.variant), &trial);
  std::set<const Trial*> matched;
  std::set<std::pair<int, int>> compared;  // one time for each pair of codes
  for (const Trial& trial : before.trials) {
    const auto found = later.find(identity_of(trial.variant));
    if (found == later.end()) {
      ++diff.only_before;
      continue;
    }
    ++diff.in_both;
    const Trial& other = *found->second;
    matched.insert(&other);
    const std::string failure = failure_of(before, trial);
    const std::string failure_later = failure_of(after, other);
    if (failure != failure_later)
      diff.fates.push_back(
          {trial.variant, failure.empty() ? "works" : failure, failure_later.empty() ? "works" : failure_later});
    if (trial.facts && other.facts) {
      const FactDrift drift{trial.variant, trial.facts->registers_per_thread, other.facts->registers_per_thread,
                            trial.facts->spilled_bytes(), other.facts->spilled_bytes()};
      if (drift.registers_before != drift.registers_after || drift.spills_before != drift.spills_after)
        diff.facts.push_back(drift);
      else if (trial.facts->code_hash != other.facts->code_hash)
        ++diff.other_code;
    }
    const Trial& timed = timed_trial(before.trials, trial.variant.id);
    const Trial& timed_later = timed_trial(after.trials, other.variant.id);
    const Measurement* earlier_time = measurement_of(timed);
    const Measurement* later_time = measurement_of(timed_later);
    const bool is_named = trial.variant.id == 0 || (before.verdict && before.verdict->best_id == trial.variant.id) ||
                          (after.verdict && after.verdict->best_id == other.variant.id);
    if (!diff.timed_in_both || !earlier_time || !later_time) continue;
    if (!is_named && !(is_confirmed(earlier_time) && is_confirmed(later_time))) continue;
    if (compared.insert({timed.variant.id, timed_later.variant.id}).second)
      diff.times.push_back(time_drift(trial.variant, *earlier_time, *later_time, before, after));
  }
  diff.only_after = later.size() - matched.size();
  diff.winner = winner_drift(before, after, later);
  return diff;
}

}  // namespace regtune
