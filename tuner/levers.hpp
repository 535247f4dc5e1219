#pragma once
// What a tuning tries beside the register budgets when it is asked to, as a list on the command line names it. Knows no
// compiler: whether a lever can be pulled for a kernel is the plan's to say.
#include <string>

namespace regtune {

struct Levers {
  bool register_usage_levels = false;  // ptxas's --register-usage-level, under every cap
  bool shared_spilling = false;        // registers spilled to shared memory, under every bound with both numbers
  friend bool operator==(const Levers&, const Levers&) = default;
};

inline constexpr const char* kAllLevers = "usage-level,smem-spill";

// "usage-level,smem-spill", in any order. Throws Error(usage) for a name that there is not.
Levers levers_from(const std::string& list);

// Whether an argument that stands behind --levers is its list, and not the file to tune.
bool reads_as_levers(const std::string& argument);

}  // namespace regtune
