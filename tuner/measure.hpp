#pragma once
// The race: every distinct code is launched and checked once, then those that can still be the fastest are
// timed in interleaved rounds against the reference until the rest is beaten, and the finalists are timed
// again in fresh rounds. Works against the seam of bench.hpp alone, so that recorded and faulty devices can
// be raced in tests. Which code is named the winner is decide.hpp's matter.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench.hpp"
#include "record.hpp"

namespace regtune {

struct Entrant {
  Candidate candidate;
  bool in_source = false;  // at least one of the budgets that give this code can be written into the source
  bool own_name = true;    // at least one gives it under the kernel's own name
};

enum class RacePhase { check, race, confirmation };

// Told as things happen; the cache and the progress line listen. An outcome that is told again replaces the former:
// who left because of a code that failed later comes back.
class RaceObserver {
 public:
  virtual ~RaceObserver() = default;
  virtual void on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) = 0;
  virtual void on_outcome(int id, const Outcome& outcome) = 0;
  virtual void on_progress(RacePhase phase, int done, int left_in_race) = 0;
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
  // What is known by now of a code that was given: a later budget may have given the same one.
  virtual bool in_source(int id) const = 0;
  virtual bool own_name(int id) const = 0;
};

struct RaceResult {
  std::map<int, Outcome> outcomes;  // one for each entrant
  MeasureSettings settings;         // with what the reference run found out
};

// `reference` can be launched and is not among the source's. Throws Error(gpu_failed) when it cannot be timed;
// whatever another entrant does is its outcome.
RaceResult race(Bench& bench, const Entrant& reference, EntrantSource& source, MeasureSettings settings,
                RaceObserver& observer);

// As above, with all entrants there from the start. Requires: `reference_id` is the id of one entrant, which can be
// launched. Throws Error(gpu_failed) when the reference cannot be timed; whatever another entrant does is its outcome.
RaceResult race(Bench& bench, const std::vector<Entrant>& entrants, int reference_id, MeasureSettings settings,
                RaceObserver& observer);

}  // namespace regtune
