#include "size_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "expression.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::size_t kMostCombinations = 64;

// "1<<20, max(a, b)" -> "1<<20", " max(a, b)".
std::vector<std::string> values_in(const std::string& list) {
  std::vector<std::string> values(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0)
      values.emplace_back();
    else
      values.back() += c;
  }
  return values;
}

}  // namespace

std::vector<std::vector<std::string>> size_sets(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string>> sets(1);
  for (const std::string& text : texts) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    std::vector<std::vector<std::string>> longer;
    const std::vector<std::string> values = values_in(text.substr(std::min(equals + 1, text.size())));
    for (const std::vector<std::string>& set : sets)
      for (const std::string& value : values) {
        if (values.size() > 1 && value.find_first_not_of(' ') == std::string::npos)
          throw Error(
              ErrorKind::usage,
              fmt::format("--set {}: a value is missing beside a comma; drop the comma, or write the value", text));
        longer.push_back(set);
        longer.back().push_back(values.size() == 1 ? text : name + "=" + value);
      }
    sets = std::move(longer);
    if (sets.size() > kMostCombinations)
      throw Error(ErrorKind::usage, fmt::format("--set gives {} combinations of sizes; name at most {} in one run",
                                                sets.size(), kMostCombinations));
  }
  return sets;
}

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
