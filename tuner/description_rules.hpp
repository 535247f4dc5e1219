#pragma once
// What a launch description may hold, whether it comes from TOML or from a flag: blocks that CUDA can launch, names
// that can be used, values that can be put into the source. Each check throws Error with the place and what to write.
#include <string>
#include <string_view>
#include <vector>

#include "launch_description.hpp"

namespace regtune {

[[noreturn]] void refuse(const Origin& origin, std::string_view what);         // Error(bad_description)
[[noreturn]] void refuse_launch(const Origin& origin, std::string_view what);  // Error(bad_launch)

std::string_view trimmed(std::string_view text);  // of blanks and tabs
std::vector<std::string_view> split(std::string_view text, char separator);
std::string printable(std::string_view text);  // bytes outside ASCII's visible ones become '?'

// "256", "32x8" or "8x8x4".
Dim3 parse_block(std::string_view text, const Origin& origin);
void add_block(std::vector<Dim3>& blocks, const Dim3& block);  // each once

void check_size_name(std::string_view name, const Origin& origin);
void check_macro_name(std::string_view name, const Origin& origin);
void add_macro_value(TunedName& macro, const std::string& value);  // each once

// "; did you mean \"grid\"?" when a known word is at most two edits away, else an empty text.
std::string near_miss(std::string_view word, const std::vector<std::string>& known);

}  // namespace regtune
