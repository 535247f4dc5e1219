#include "past_runs.hpp"

#include <fmt/format.h>

#include "key.hpp"

namespace regtune {

PastRuns::PastRuns(Store& store, const TuningRecord& head, bool retry) : interrupted_(store.interrupted(head)) {
  if (!retry) {
    quarantine_ = store.quarantine(head);
    return;
  }
  std::erase_if(interrupted_.failed,
                [](const auto& entry) { return !std::holds_alternative<WrongResult>(entry.second); });
}

std::optional<Outcome> PastRuns::outcome_of(const Trial& trial) const {
  const std::string code = code_identity(*trial.facts, trial.shape);
  if (const auto failed = interrupted_.failed.find(code); failed != interrupted_.failed.end()) return failed->second;
  if (const auto kept = quarantine_.find(code); kept != quarantine_.end()) return kept->second;
  return {};
}

std::string PastRuns::told() const {
  if (interrupted_.empty()) return "";
  return fmt::format("taking up a run that was interrupted ({}): {} codes compiled, {} rounds kept",
                     interrupted_.started, interrupted_.codes,
                     interrupted_.race.size() + interrupted_.confirmation.size());
}

}  // namespace regtune
