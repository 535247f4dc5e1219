#pragma once
// Sizes as they are given on the command line: NAME=EXPR, where a later one may use those before it; of a tuning also
// NAME=EXPR,EXPR, which stands for several tunings. Knows no launch description.
#include <string>
#include <vector>

#include "regtune/types.hpp"

namespace regtune {

// `option`: what the messages call it, "--set". Throws Error(usage), or Error(bad_description) for a bad expression.
Sizes sizes_from(const std::vector<std::string>& texts, const std::string& option);

// What --set stands for: one list for each combination of the values, the first name changing last. "n=1<<20,1<<24" is
// two lists of one; commas in brackets belong to their expression. Nothing given is one empty list. Throws Error(usage)
// for an empty value and for more than 64 combinations.
std::vector<std::vector<std::string>> size_sets(const std::vector<std::string>& texts);

}  // namespace regtune
