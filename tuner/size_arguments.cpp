#include "size_arguments.hpp"

#include <fmt/format.h>

#include "expression.hpp"
#include "regtune/error.hpp"

namespace regtune {

Sizes sizes_from(const std::vector<std::string>& texts, const std::string& option) {
  Sizes sizes;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::usage, fmt::format("{0} {1}: write NAME=VALUE, {0} n=1<<24, say", option, text));
    const std::string name = text.substr(0, equals);
    sizes[name] = evaluate_size({text.substr(equals + 1), {option + " " + name}}, sizes);
  }
  return sizes;
}

}  // namespace regtune
