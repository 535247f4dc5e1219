#pragma once
// A launch description written out as TOML, so that reading it gives the same description. What was said of a line (a
// guess and its reason) stands behind it as a comment.
#include <map>
#include <string>
#include <vector>

#include "launch_description.hpp"

namespace regtune {

// `comments`: by key, "args.in", "sizes.n", "block". `missing`: whole lines for [args], which are written as comments.
std::string description_text(const LaunchDescription& description, const std::map<std::string, std::string>& comments,
                             const std::vector<std::string>& missing);

// A TOML string in quotes.
std::string toml_string(std::string_view text);

}  // namespace regtune
