#pragma once
// Time, spilled bytes and occupancy of every distinct code over its registers per thread: three panels under each other
// on one axis. A code without a time stands at the top edge, so that each has its mark.
#include <string>

#include "chart_frame.hpp"

namespace regtune {

std::string registers_chart(const Chart& chart, const SharedRange& range);

}  // namespace regtune
