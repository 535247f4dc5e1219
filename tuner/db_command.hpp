#pragma once
// `regtune db` and `regtune import`: looking after a cache file, and taking what other files hold into it. Says what it
// did, run by run. Files from elsewhere are data: what is damaged is left out and counted.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

enum class DbVerb { list, show, merge, prune, verify, vacuum };

struct DbRequest {
  DbVerb verb = DbVerb::list;
  std::vector<std::string> arguments;  // kernels to list or show; files to merge or verify
  std::optional<std::filesystem::path> cache;
  std::optional<int> older_than_days;  // prune
  bool codes = false;                  // prune
};

struct DbAnswer {
  std::string text;
  nlohmann::json json;
  bool found = true;  // false: nothing of that name is stored
  bool sound = true;  // false: verify found something
};

// Throws Error(usage) for a verb that there is none of.
DbVerb db_verb_from_string(const std::string& name);

// Throws Error.
DbAnswer look_after_db(const DbRequest& request);

}  // namespace regtune
