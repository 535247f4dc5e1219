#pragma once
// A small picture for a terminal: the time of each code over its registers per thread, codes that spill marked, the
// author's and the best named. Letters only, and of ASCII where the user's programs print nothing else.
#include <string>

#include "code_table.hpp"
#include "record.hpp"

namespace regtune {

// Empty where fewer than three codes were timed, or the window is too narrow for a picture.
std::string time_plot(const TuningRecord& record, const ReportStyle& style);

}  // namespace regtune
