#pragma once
// Which budget to use, from the trials of a finished race and nothing else: a recorded run is decided again
// in the same way. "Faster" means that the whole interval of the speed-up lies above 1 + margin, and comes from as many
// rounds as the confidence needs. Of those that are faster and as fast as the fastest, paired by round and within the
// margin, the simplest is named. What was refused, or was not confirmed, is never named.
#include <map>
#include <optional>
#include <vector>

#include "record.hpp"

namespace regtune {

// `reference_id`: the author's code, or its stand-in where the author's cannot be launched. Requires: that
// trial was measured.
Verdict decide(const std::vector<Trial>& trials, int reference_id, const MeasureSettings& settings);

// Before anything is confirmed: the budgets that decide() would name if the race ended as it stands, each once; the
// best under the kernel's own name, that in the source, and that under another name. By medians, so that it is a guess.
// `ratios`: the time of each code still in the race over the reference's, by the id of the trial that was timed.
std::vector<int> likely_to_be_named(const std::vector<Trial>& trials, const std::map<int, double>& ratios,
                                    double margin);

// The stand-in for an author's code that cannot be launched: bounds stripped, then (T), then the highest
// launchable cap. The author's own id where that can be launched; nothing when no variant can.
std::optional<int> choose_reference(const std::vector<Trial>& trials);

// The trial whose code was timed for variant `id`: itself, or the one with the same code.
const Trial& timed_trial(const std::vector<Trial>& trials, int id);

}  // namespace regtune
