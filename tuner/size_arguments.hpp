#pragma once
// Sizes as they are given on the command line of commands that read no launch description: NAME=EXPR, where a later one
// may use those before it.
#include <string>
#include <vector>

#include "regtune/types.hpp"

namespace regtune {

// `option`: what the messages call it, "--set". Throws Error(usage), or Error(bad_description) for a bad expression.
Sizes sizes_from(const std::vector<std::string>& texts, const std::string& option);

}  // namespace regtune
