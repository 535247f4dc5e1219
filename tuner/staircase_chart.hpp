#pragma once
// The occupancy staircase of one block size, with the codes of that block on it: how near each is to a step, and how
// many blocks that would let in.
#include <string>

#include "chart_frame.hpp"

namespace regtune {

std::string staircase_chart(const Chart& chart, const Staircase& staircase);

}  // namespace regtune
