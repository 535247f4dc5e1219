#pragma once
// The race: every distinct code is launched and checked once, then those that can still be the fastest are
// timed in interleaved rounds against the reference until the rest is beaten, and the finalists are timed
// again in fresh rounds. Works against the seam of bench.hpp alone, so that recorded and faulty devices can
// be raced in tests. Which code is named the winner is decide.hpp's matter.
#include <optional>
#include <vector>

#include "race_field.hpp"

namespace regtune {

// A code that races: its time over the reference's, in the median of so many rounds; of none, by its first launch.
struct Lead {
  int id = 0;
  double ratio = 1;
  std::size_t rounds = 0;
};

// Where entrants come from while the race is on: codes reach the GPU as soon as they are compiled.
class EntrantSource {
 public:
  virtual ~EntrantSource() = default;
  // The next code to launch, waited for; empty when all there are were given.
  virtual std::optional<Entrant> next() = 0;
  // Asked when the rounds have settled, until it says no: codes that are worth a try now that `still_racing`, the
  // fastest first, are known to be fast. next() then gives them.
  virtual bool has_more(const std::vector<int>& still_racing) = 0;
  // Told before the first round, whenever the rounds have settled, and before the confirmation: what is still in the
  // race. Nothing is decided by it; work that a winner will need can begin.
  virtual void leads(const std::vector<Lead>&) {}
  // What is known by now of a code that was given: a later budget may have given the same one.
  virtual bool in_source(int id) const = 0;
  virtual bool own_name(int id) const = 0;
};

// The rounds of `earlier` are taken up as if they were taken now, and cost nothing of the budget.
// `reference` can be launched and is not among the source's. Throws Error(gpu_failed) when it cannot be timed;
// whatever another entrant does is its outcome.
RaceResult race(Bench& bench, const Entrant& reference, EntrantSource& source, MeasureSettings settings,
                RaceObserver& observer, const EarlierRun& earlier = {});

// As above, with all entrants there from the start. Requires: `reference_id` is the id of one entrant, which can be
// launched. Throws Error(gpu_failed) when the reference cannot be timed; whatever another entrant does is its outcome.
RaceResult race(Bench& bench, const std::vector<Entrant>& entrants, int reference_id, MeasureSettings settings,
                RaceObserver& observer, const EarlierRun& earlier = {});

}  // namespace regtune
