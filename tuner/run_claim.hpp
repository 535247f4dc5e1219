#pragma once
// One key is tuned by one process at a time: two would disturb each other's measurements and find the same. The second
// waits for the first and takes its answer; if the first dies, the second takes up what it left. Only a process that
// can be seen to be alive is waited for, so nobody waits for the dead, nor for another machine.
#include <cstdint>
#include <functional>
#include <optional>

#include "progress.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

struct ClaimedRun {
  std::int64_t run = 0;                  // begun for this process
  std::optional<TuningRecord> finished;  // or what another process has just found
};

// `serves` says whether the other process's record is what this one was asked for; if not, this one tunes when that one
// has ended.
ClaimedRun claim_run(Store& store, const TuningRecord& head, const std::function<bool(const TuningRecord&)>& serves,
                     Progress& progress);

}  // namespace regtune
