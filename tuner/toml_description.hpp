#pragma once
// A launch description as TOML. Text is checked and limited
// before toml++ sees it; unknown keys and values of the wrong type are refused with their line.
#include <cstddef>
#include <string>
#include <string_view>

#include "launch_description.hpp"
#include "toml_text.hpp"

namespace regtune {

// `place` is the file, whose line 1 is `lines_before` lines before the text's.
LaunchDescription description_from_toml(std::string_view text, const std::string& place, std::size_t lines_before);

// `value` is a table as the file would hold it under args.<name>; `place` is the flag that gave it.
ArgumentDescription argument_from_toml(const std::string& name, const std::string& value, const std::string& place);

}  // namespace regtune
