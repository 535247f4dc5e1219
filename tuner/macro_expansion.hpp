#pragma once
// Writes the function-like macros of a text out where they are called, so that a launch that stands in a #define is
// found with the arguments that it is called with. It serves the search for launches only; no compiler is given what
// it makes. Conditions are not evaluated: of two definitions of one name the last one above the call counts. Where the
// result would grow beyond a few megabytes, the rest stays as it is.
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

struct MacroDefinition {
  std::vector<std::string> parameters;
  bool is_variadic = false;
  std::string body;
};

using MacroTable = std::map<std::string, MacroDefinition>;

// The function-like macros of the text, and those without parameters that hold a launch, are entered into `table`.
void read_macros(std::string_view text, MacroTable& table);

// The text with the macros of `table`, and its own, written out. Directives stay.
std::string with_macros_written_out(std::string_view text, MacroTable table);

}  // namespace regtune
