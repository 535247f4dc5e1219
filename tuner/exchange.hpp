#pragma once
// A run in the formats of other tuners: the T4 results of the autotuning community, and the cache file of Kernel Tuner.
// Every variant is a configuration of one parameter for the budget, the block,
// and the source's knobs; a variant whose code another one shares has that one's times. Only what was measured is
// handed on: times that were not recorded are left out, or 0 where the format wants one.
#include <string>

#include "record.hpp"

namespace regtune {

// T4 results 1.0.0 (https://github.com/odgaard/TuningSchema). Throws Error(usage) where nothing was timed.
std::string t4_text(const TuningRecord& record);

// As Kernel Tuner reads it, one configuration a line: closed, and ready to be continued. Budgets that were never
// compiled, or left the race without a sample, are not in it. Throws Error(usage) where nothing was timed.
std::string kernel_tuner_text(const TuningRecord& record);

}  // namespace regtune
