#include "cli_values.hpp"

#include <fmt/format.h>

#include "regtune/error.hpp"

namespace regtune {

template <class T>
std::optional<T> CliValues::given(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return {};
  return std::get<T>(found->second);
}

void CliValues::set_default(const std::string& name, bool is_integer, double value) {
  if (is_integer)
    values_.try_emplace(name, static_cast<int>(value));
  else
    values_.try_emplace(name, value);
}

std::string CliValues::spell(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? "--" + name : fmt::format("{}: {}", place->second, name);
}

bool CliValues::flag(const std::string& name) const {
  return given<bool>(name).value_or(false);
}

std::optional<std::string> CliValues::text(const std::string& name) const {
  return given<std::string>(name);
}

std::vector<std::string> CliValues::list(const std::string& name) const {
  return given<std::vector<std::string>>(name).value_or(std::vector<std::string>{});
}

std::optional<int> CliValues::integer(const std::string& name) const {
  return given<int>(name);
}

std::optional<std::uint64_t> CliValues::unsigned_integer(const std::string& name) const {
  return given<std::uint64_t>(name);
}

std::optional<int> CliValues::integer_in(const std::string& name, int low, int high) const {
  const std::optional<int> value = integer(name);
  if (value && (*value < low || *value > high))
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: must lie between {} and {}; choose such a number", spell(name), *value, low, high));
  return value;
}

std::optional<int> CliValues::count(const std::string& name) const {
  const std::optional<int> value = integer(name);
  if (value && *value < 0)
    throw Error(ErrorKind::usage, fmt::format("{} {}: must not be negative; choose 0 or more", spell(name), *value));
  return value;
}

std::optional<double> CliValues::number_in(const std::string& name, double low, double high) const {
  const std::optional<double> value = given<double>(name);
  if (value && !(*value >= low && *value <= high))  // not a number lies nowhere
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: must lie between {} and {}; choose such a number", spell(name), *value, low, high));
  return value;
}

}  // namespace regtune
