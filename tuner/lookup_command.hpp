#pragma once
// `regtune lookup`: what the cache says about a kernel, sizes and GPU, by the library's own ladder, with the rung and
// what is stale said beside the answer. Reads only.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record.hpp"
#include "regtune/tuned_policy.hpp"

namespace regtune {

struct LookupRequest {
  std::string kernel;
  std::vector<std::string> sizes;  // "n=16777216", as given
  std::optional<std::string> gpu;  // empty: this machine's, or the newest that is stored where it has none
  std::optional<std::filesystem::path> cache;
  int device = 0;
  bool exact_only = false;
};

struct LookupAnswer {
  std::optional<TuningRecord> record;  // the run that answers, whole
  Match match = Match::none;
  double size_distance = 0;
  Stale stale;
  std::string file;                // that holds it
  bool is_users_file = true;       // else one of those below it
  std::vector<std::string> notes;  // of files that cannot be used, and of what was assumed
  std::string miss;                // what was looked for and what there is; empty on a hit
};

// Throws Error; a miss is not an error.
LookupAnswer look_up(const LookupRequest& request);

std::string_view to_string(Match match);  // "exact", "nearest sizes", ...
// One line: how the answer was found, in what it is stale, and the file unless it is the user's.
std::string found_text(const LookupAnswer& answer);
// "driver", "compiler", "source".
std::vector<std::string> stale_names(const Stale& stale);

}  // namespace regtune
