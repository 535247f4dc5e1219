#pragma once
// `regtune lookup`: what the cache says about a kernel, sizes and GPU. Reads only, and never gives the answer
// of another GPU without being asked to.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

struct LookupRequest {
  std::string kernel;
  std::vector<std::string> sizes;  // "n=16777216", as given
  std::optional<std::string> gpu;  // empty: this machine's, or any where it has none
  std::optional<std::filesystem::path> cache;
  int device = 0;
};

struct LookupAnswer {
  std::optional<TuningRecord> record;
  std::string miss;  // what was looked for and what there is; empty on a hit
};

// Throws Error; a miss is not an error.
LookupAnswer look_up(const LookupRequest& request);

}  // namespace regtune
