#include "cache_path.hpp"

#include <algorithm>
#include <cstdlib>

#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr const char* system_folder = "/usr/share/regtune";

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

std::optional<fs::path> find_default_cache_path() {
  if (const char* file = variable("REGTUNE_CACHE")) return file;
  const char* cache = variable("XDG_CACHE_HOME");
  // The XDG specification has relative paths ignored.
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "regtune" / "regtune.db";
  if (const char* home = variable("HOME")) return fs::path(home) / ".cache" / "regtune" / "regtune.db";
  return std::nullopt;
}

fs::path default_cache_path() {
  if (const auto path = find_default_cache_path()) return *path;
  throw Error(ErrorKind::cache_unusable,
              "there is no place for the cache: none of REGTUNE_CACHE, XDG_CACHE_HOME and HOME is set. Name a file "
              "with --cache FILE");
}

std::vector<fs::path> paths_in(std::string_view list) {
  std::vector<fs::path> paths;
  while (!list.empty()) {
    const auto end = std::min(list.find(':'), list.size());
    if (end != 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return paths;
}

std::vector<fs::path> system_cache_path() {
  const char* given = variable("REGTUNE_CACHE_PATH");
  std::vector<fs::path> entries = paths_in(given ? given : "");
  entries.emplace_back(system_folder);
  return entries;
}

std::vector<fs::path> files_of(const std::vector<fs::path>& path) {
  std::vector<fs::path> files;
  for (const fs::path& entry : path) {
    std::error_code error;
    if (!fs::is_directory(entry, error)) {
      files.push_back(entry);
      continue;
    }
    std::vector<fs::path> found;
    for (auto at = fs::directory_iterator(entry, error); !error && at != fs::directory_iterator(); at.increment(error))
      if (at->path().extension() == ".db") found.push_back(at->path());
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace regtune
