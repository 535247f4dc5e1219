#pragma once
// Which files are the cache: one that a user writes, and those below it that are only read. Follows the environment and
// looks at no file but for the names in the folders that are given.
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace regtune {

// REGTUNE_CACHE, else $XDG_CACHE_HOME/regtune/regtune.db, else $HOME/.cache/regtune/regtune.db. Throws
// Error(cache_unusable) where none of them is set.
std::filesystem::path default_cache_path();
std::optional<std::filesystem::path> find_default_cache_path();  // empty where none of them is set

// Separated by colons; empty ones are left out.
std::vector<std::filesystem::path> paths_in(std::string_view list);
// What is read below the user's file: the entries of $REGTUNE_CACHE_PATH, then /usr/share/regtune.
std::vector<std::filesystem::path> system_cache_path();
// Each folder replaced by its *.db files, in the order of their names.
std::vector<std::filesystem::path> files_of(const std::vector<std::filesystem::path>& path);

}  // namespace regtune
