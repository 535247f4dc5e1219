#pragma once
// A damaged cache file is set aside under a new name, and what can be read of it goes into a new one: the finished runs
// whose answers are what was written, and the codes in quarantine. Kept codes are not taken over, since the compiler
// makes them again. Files that are not ours are never touched.
#include <filesystem>
#include <string>

namespace regtune {

// True where the first bytes say that it is a cache of ours, whatever the rest is.
bool bears_our_mark(const std::filesystem::path& file);

// Requires: bears_our_mark. Returns what was done, in one sentence. Safe where several processes find the damage at
// once: the later ones do nothing and say so. Throws Error where the folder cannot be written.
std::string set_aside_and_salvage(const std::filesystem::path& file);

}  // namespace regtune
