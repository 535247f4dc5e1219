#pragma once
// Runs as CSV (RFC 4180), for spreadsheets and data frames: a head, then a line for each variant of each run. No cell
// of it is a formula to a spreadsheet, whatever a record holds.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

std::string csv_text(const std::vector<TuningRecord>& records);

}  // namespace regtune
