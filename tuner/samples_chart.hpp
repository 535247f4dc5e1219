#pragma once
// The samples of each finalist as a strip, from top to bottom in the order in which they were taken, with the interval
// of the median: how far apart two codes are, and whether anything drifted meanwhile.
#include <string>

#include "chart_frame.hpp"

namespace regtune {

// Empty where nothing was timed.
std::string samples_chart(const Chart& chart);

}  // namespace regtune
