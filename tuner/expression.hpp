#pragma once
// The arithmetic of a launch description: sizes, grids, lengths and scalars as expressions over named
// numbers, evaluated by an embedded Lua that has no libraries, little memory and few instructions. Integers
// are 64-bit and checked: what Lua would wrap around silently is an error here. Refuses strings, tables and
// whatever else is not arithmetic; an expression cannot touch the machine and cannot run for long.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "regtune/types.hpp"

namespace regtune {

// Where a value was written, for messages: "saxpy.cu:3: sizes.n", or "--set n".
struct Origin {
  std::string text;
};

struct Expression {
  std::string text;  // Lua operators, ceil_div, round_up, min, max; a number in the TOML arrives as its text
  Origin origin;
};

// Each throws Error(bad_description) that names the origin, quotes the text, and says what to try.

// One to three integers: "ceil_div(n, block), m". A float with an integral value (n / 4) counts as an integer.
std::vector<std::int64_t> evaluate_integers(const Expression& expression, const Sizes& names);

// Exactly one integer.
std::int64_t evaluate_size(const Expression& expression, const Sizes& names);

// One number; true and false are 1 and 0; inf and nan are known.
std::variant<std::int64_t, double> evaluate_number(const Expression& expression, const Sizes& names);

// Empty when `name` can name a size; else the reason ("is a word of the expression language").
std::optional<std::string> why_not_a_size_name(std::string_view name);

// `text` in quotes for a message: shortened, and with unprintable bytes replaced.
std::string in_quotes(std::string_view text);

}  // namespace regtune
