#pragma once
// What a cache file needs now and then: a look whether all of it is sound, leaving out what is of no more use, and
// giving the room back. Each is one short transaction, beside whatever else uses the file. Throws
// Error(cache_unusable).
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

struct Soundness {
  std::size_t runs = 0;  // finished ones
  std::size_t answers = 0;
  std::size_t codes = 0;
  std::vector<std::string> problems;  // a sentence each; empty: sound
};
// Reads everything, changes nothing: the pages, each run against its answer, each code against its hash.
Soundness verify_cache(const std::filesystem::path& file);

struct PruneRequest {
  std::optional<int> older_than_days;  // finished runs that were begun before; empty: none for their age
  bool codes = false;                  // all kept codes, and not only those of no more use
  std::string regtune_version;         // codes of other versions are never found again
};
struct Pruned {
  std::size_t runs = 0;
  std::size_t interrupted = 0;  // whose processes have ended
  std::size_t codes = 0;
};
// Gives no room back: vacuum_cache does.
Pruned prune_cache(const std::filesystem::path& file, const PruneRequest& request);

struct Vacuumed {
  std::uintmax_t bytes_before = 0;
  std::uintmax_t bytes_after = 0;
};
Vacuumed vacuum_cache(const std::filesystem::path& file);

}  // namespace regtune
