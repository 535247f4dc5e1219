#pragma once
// One or several tuning runs as a page for people: a single file with its style sheet, its few lines of script and its
// pictures in it, which loads nothing from anywhere. Takes records only; the same records give the same bytes. Every
// text of a record is escaped (markup.hpp): it may come from a file that anybody wrote.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// Several runs stand side by side; those of one kernel on the same axes. Requires: at least one run, each with trials.
std::string html_report(const std::vector<TuningRecord>& runs);

}  // namespace regtune
