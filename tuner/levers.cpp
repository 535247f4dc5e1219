#include "levers.hpp"

#include <fmt/format.h>

#include "regtune/error.hpp"

namespace regtune {

Levers levers_from(const std::string& list) {
  Levers levers;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    if (name == "usage-level")
      levers.register_usage_levels = true;
    else if (name == "smem-spill")
      levers.shared_spilling = true;
    else
      throw Error(ErrorKind::usage,
                  fmt::format("--levers {}: '{}' is none; name usage-level or smem-spill", list, name));
    at = end + 1;
  }
  return levers;
}

bool reads_as_levers(const std::string& argument) {
  return !argument.empty() && argument.find_first_not_of("abcdefghijklmnopqrstuvwxyz-,") == std::string::npos &&
         argument.front() != '-';
}

}  // namespace regtune
