#pragma once
// One cache file as look-ups see it: opened read-only when it is there, opened anew when another takes its place, read
// kernel by kernel and kept in memory. What was read once lives as long as this, whatever becomes of the file. A file
// that cannot be used answers nothing and says why. Throws nothing but std::bad_alloc. One thread at a time.
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "regtune/tuned_policy.hpp"
#include "sqlite.hpp"

namespace regtune {

class CacheFile {
 public:
  explicit CacheFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Looks whether the answers may be others than before; forgets them if so. True then.
  bool look_for_changes();
  // Of the kernels with that name in any spelling, newest first. Valid until look_for_changes gives true.
  const std::vector<const TunedPolicy*>& answers(const std::string& kernel);

  const std::filesystem::path& path() const { return path_; }
  // Why nothing, or not all, of it can be used. A file that is not there is no problem.
  const std::string& problem() const { return problem_; }

 private:
  // What tells a file from another one in its place.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    // Of files that this process holds for unchangeable: others may change them all the same.
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  std::optional<Identity> identity() const;
  void open();
  void close();
  std::vector<const TunedPolicy*> read(const std::string& kernel);

  std::filesystem::path path_;
  std::optional<Database> database_;
  std::optional<Identity> opened_;
  bool must_read_again_ = false;  // the last time something could not be read
  int data_version_ = 0;
  std::int64_t generation_ = 0;
  std::map<std::string, std::vector<const TunedPolicy*>> kept_;             // by name, as asked for
  std::unordered_map<std::string, std::unique_ptr<TunedPolicy>> policies_;  // by checksum; none is ever removed
  std::string problem_;
};

}  // namespace regtune
