#include "distinct_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "decide.hpp"
#include "policy.hpp"

namespace regtune {

bool DistinctCode::holds(int variant_id) const {
  return std::any_of(variants.begin(), variants.end(),
                     [&](const Trial* trial) { return trial->variant.id == variant_id; });
}

int DistinctCode::spill_bytes() const {
  return static_cast<int>(std::min<std::int64_t>(timed->facts->spilled_bytes(), std::numeric_limits<int>::max()));
}

const Measurement* times_of(const Trial& trial) {
  const Measurement* measured = std::get_if<Measurement>(&trial.outcome);
  if (const auto* abandoned = std::get_if<Abandoned>(&trial.outcome)) measured = &abandoned->so_far;
  const bool is_usable = measured && std::isfinite(measured->time_ms.median) && measured->time_ms.median > 0;
  return is_usable ? measured : nullptr;
}

const std::vector<Sample>& deciding_samples(const Measurement& measured) {
  return measured.confirmation.empty() ? measured.race : measured.confirmation;
}

std::vector<DistinctCode> distinct_codes(const TuningRecord& record) {
  std::map<int, DistinctCode> by_timed;
  for (const Trial& trial : record.trials) {
    if (std::holds_alternative<CompileFailed>(trial.outcome) || !trial.facts) continue;
    const Trial& timed = timed_trial(record.trials, trial.variant.id);
    if (!timed.facts) continue;
    DistinctCode& code = by_timed[timed.variant.id];
    code.timed = &timed;
    code.measured = times_of(timed);
    code.variants.push_back(&trial);
  }
  std::vector<DistinctCode> codes;
  for (auto& [id, code] : by_timed) codes.push_back(std::move(code));
  const auto rank = [](const DistinctCode& code) {
    return std::tuple(code.measured == nullptr, code.measured ? code.measured->time_ms.median : 0.0,
                      -std::int64_t{code.timed->facts->registers_per_thread}, code.id());
  };
  std::sort(codes.begin(), codes.end(),
            [&](const DistinctCode& a, const DistinctCode& b) { return rank(a) < rank(b); });
  return codes;
}

std::string spell_budgets(const DistinctCode& code) {
  std::vector<std::pair<SourceChoice, std::vector<RegisterPolicy>>> by_choice;
  for (const Trial* trial : code.variants) {
    auto same = std::find_if(by_choice.begin(), by_choice.end(),
                             [&](const auto& entry) { return entry.first == trial->variant.choice; });
    if (same == by_choice.end()) same = by_choice.insert(same, {trial->variant.choice, {}});
    same->second.push_back(trial->variant.policy);
  }
  const bool authors =
      std::any_of(by_choice.begin(), by_choice.end(), [](const auto& entry) { return entry.first.is_authors(); });
  std::vector<std::string> pieces;
  for (const auto& [choice, policies] : by_choice)
    if (!authors || choice.is_authors()) pieces.push_back(spell_around(spell(policies), choice, ": "));
  return fmt::format("{}", fmt::join(pieces, "; "));
}

std::string spell_fate(const Trial& trial) {
  if (std::holds_alternative<NotLaunchable>(trial.outcome)) return "cannot launch";
  if (std::holds_alternative<Faulted>(trial.outcome)) return "faulted";
  if (std::holds_alternative<TimedOut>(trial.outcome)) return "timed out";
  if (std::holds_alternative<WrongResult>(trial.outcome)) return "wrong result";
  if (std::holds_alternative<Quarantined>(trial.outcome)) return "in quarantine";
  if (std::holds_alternative<Abandoned>(trial.outcome)) return "left the race";
  return "";
}

bool has_several_blocks(const TuningRecord& record) {
  return std::any_of(record.trials.begin(), record.trials.end(),
                     [&](const Trial& trial) { return trial.variant.block != record.trials.front().variant.block; });
}

}  // namespace regtune
