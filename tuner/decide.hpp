#pragma once
// Which budget to use, from the trials of a finished race and nothing else: a recorded run is decided again
// in the same way. "Faster" means that the whole interval of the speed-up lies above 1 + margin, and comes from as many
// rounds as the confidence needs. Of those that are faster and as fast as the fastest, paired by round and within the
// margin, the simplest is named. What was refused, or was not confirmed, is never named.
#include <vector>

#include "record.hpp"

namespace regtune {

// `reference_id`: the author's code, or its stand-in where the author's cannot be launched. Requires: that
// trial was measured.
Verdict decide(const std::vector<Trial>& trials, int reference_id, const MeasureSettings& settings);

// The stand-in for an author's code that cannot be launched: bounds stripped, then (T), then the highest
// launchable cap. The author's own id where that can be launched; nothing when no variant can.
std::optional<int> choose_reference(const std::vector<Trial>& trials);

// The trial whose code was timed for variant `id`: itself, or the one with the same code.
const Trial& timed_trial(const std::vector<Trial>& trials, int id);

}  // namespace regtune
