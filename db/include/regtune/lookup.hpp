#pragma once
// What was tuned, asked at run time: the user's cache file over any number of read-only ones. Answers come from memory;
// the files are looked at on first use, and for other processes' changes every 100 ms at most. Needs SQLite and nothing
// of CUDA. A miss is no error: nothing here throws but the constructor, and that only without memory.
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "regtune/tuned_policy.hpp"

#if !defined(REGTUNE_API)
#  define REGTUNE_API __attribute__((visibility("default")))
#endif

namespace regtune {

class AnswerIndex;

struct CacheOptions {
  // The user's file. Empty: $REGTUNE_CACHE, else regtune/regtune.db in the XDG cache folder. Need not exist.
  std::optional<std::filesystem::path> file = std::nullopt;
  // Below it, read-only: files, or folders whose *.db files are taken in the order of their names. Empty: those of
  // $REGTUNE_CACHE_PATH, separated by colons, then /usr/share/regtune.
  std::optional<std::vector<std::filesystem::path>> system_files = std::nullopt;
  std::chrono::milliseconds check_interval{100};  // between two looks for changes in the files
  bool accept_stale = true;                       // false: a stale answer is a miss
};

// May be used by any number of threads. Not by a process that was forked from the one that made it.
class REGTUNE_API Cache {
 public:
  // Opens nothing yet.
  explicit Cache(const CacheOptions& options = {});
  Cache(Cache&&) noexcept;
  Cache& operator=(Cache&&) noexcept;
  ~Cache();

  // What the answer points to lives as long as the cache. Legality is computed anew for `gpu` on every rung but the
  // first. A field of `gpu` that is 0 is not known and not compared; without its compute capability only its own
  // results answer.
  Answer find(const KernelKey& key, const GpuId& gpu) const noexcept;

  // The files that cannot be used or were found damaged, a sentence each.
  std::vector<std::string> problems() const;
  // The files that are looked at, in order, whether they exist or not.
  std::vector<std::filesystem::path> files() const;

 private:
  std::unique_ptr<AnswerIndex> index_;
};

}  // namespace regtune
