#pragma once
// What earlier runs say about a code before it is launched: those of the same key that were interrupted, whose rounds
// and findings are taken up, and all that launched the same, whose faults and hangs keep a code in quarantine. A wrong
// result is taken up within one key only: other inputs may be served well by that code.
#include <map>
#include <optional>
#include <string>

#include "earlier_run.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

class PastRuns {
 public:
  PastRuns() = default;  // there were none
  // `retry`: what is in quarantine is launched again, and so is what faulted or hung in an interrupted run.
  PastRuns(Store& store, const TuningRecord& head, bool retry);

  // For the race. Outlives it.
  const EarlierRun& interrupted() const { return interrupted_; }
  // The outcome of a code that must not, or need not, be launched. `trial` has facts.
  std::optional<Outcome> outcome_of(const Trial& trial) const;
  // One line for the user when an interrupted run is taken up; else empty.
  std::string told() const;

 private:
  EarlierRun interrupted_;
  std::map<std::string, Quarantined> quarantine_;  // by code_identity
};

}  // namespace regtune
