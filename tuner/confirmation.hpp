#pragma once
// The last part of a race: the finalists are timed again in fresh rounds, because the samples that chose them flatter
// them. Only these rounds decide and are reported. Which finalist is named is decide.hpp's matter.
#include "race_field.hpp"

namespace regtune {

// Of those that are running the few fastest of every kind stay; the others leave.
void choose_finalists(RaceField& field);

// Rounds until every finalist is known to gain or not to gain and the best one's time is known within the margin, or
// the budget is spent, or a code that led has failed (RaceField::leader_failed).
void confirm(RaceField& field);

// A few rounds of the finalists with the L2 cache in the other state (cold after a warm run, and the reverse), so that
// a winner that depends on it is known as such; fewer where none can be faster there than the winner by more than the
// margin. Nothing where the GPU has no memory for a flush, or no time is left.
void time_other_way(RaceField& field);

}  // namespace regtune
