#pragma once
// What a person reads of NVRTC's codes beside nvcc's: where the two differ, and whether a gain was confirmed there.
#include <string>

#include "record.hpp"

namespace regtune {

// Lines for a report: one for each code that differs in registers or spills, was not compiled, or was timed; empty
// where nothing is to be told.
std::string nvcc_text(const TuningRecord& record);

}  // namespace regtune
