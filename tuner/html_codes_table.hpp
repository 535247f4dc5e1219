#pragma once
// The table of the HTML report: a row for each distinct code, the author's and the best marked, and for each value the
// one to sort by. All that the pictures show is in it.
#include <string>
#include <vector>

#include "distinct_codes.hpp"
#include "record.hpp"

namespace regtune {

// `caption`: plain text, for those who hear the page.
std::string codes_table(const TuningRecord& record, const std::vector<DistinctCode>& codes, const std::string& caption);

}  // namespace regtune
