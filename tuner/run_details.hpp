#pragma once
// How a run was made and measured, for the foot of the HTML report: machine, versions, launch, samples, command line.
// Markup of its own; every text of the record is escaped.
#include <string>

#include "record.hpp"

namespace regtune {

std::string run_details(const TuningRecord& record);

// The command line as a shell takes it: "regtune k.cu --grid 'ceil_div(n, block)'".
std::string spell_command_line(const std::vector<std::string>& arguments);

}  // namespace regtune
