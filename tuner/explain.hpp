#pragma once
// `--explain`: why a run ended as it did, told from its record alone, so that one which was read back from the cache
// or from JSON is explained in the same words. First the way to the machine code, then a line for each variant.
#include <string>

#include "record.hpp"

namespace regtune {

std::string explanation(const TuningRecord& record);

// One line without its end: whether the budget was in force, what the code came to, and what became of it.
// Requires: `trial` is one of the record's.
std::string explain_trial(const TuningRecord& record, const Trial& trial);

}  // namespace regtune
