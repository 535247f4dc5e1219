#pragma once
// What keeps a kernel from more blocks on an SM, and what would change it, in the sentences of a CUDA programmer.
// Counts with the occupancy rules (occupancy.hpp); whether more blocks would be faster is for the race to say.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// Of the author's code. Empty where it was not compiled or cannot be launched, or where the limits of its architecture
// are not known.
std::vector<std::string> about_occupancy(const TuningRecord& record);

}  // namespace regtune
