#include "run_claim.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "interruption.hpp"

namespace regtune {

ClaimedRun claim_run(Store& store, const TuningRecord& head, const std::function<bool(const TuningRecord&)>& serves,
                     Progress& progress) {
  using namespace std::chrono_literals;
  while (true) {
    const KeyClaim claim = store.claim(head);
    if (!claim.other) return {claim.run, {}};
    progress.note(fmt::format("regtune: process {} has been tuning the same since {}: waiting for it",
                              claim.other->process, claim.other->started));
    while (store.is_going_on(claim.other->id)) {
      stop_if_interrupted();
      std::this_thread::sleep_for(200ms);
    }
    std::optional<TuningRecord> finished = store.finished(claim.other->id);
    if (!finished) {
      progress.note(fmt::format("regtune: process {} has ended without a verdict", claim.other->process));
    } else if (finished->verdict && serves(*finished)) {
      progress.note(fmt::format("regtune: process {} is done, and this is its answer", claim.other->process));
      return {0, std::move(finished)};
    } else {
      progress.note("regtune: it was asked for another margin, confidence or budget: tuning again");
    }
  }
}

}  // namespace regtune
