#pragma once
// The one exception of regtune: the run cannot go on. One failed candidate is data (record.hpp), and a
// look-up that finds nothing is an empty optional; neither is ever thrown.
#include <stdexcept>
#include <string>

namespace regtune {

// The value is the exit code of the program. Documented in docs/exit_codes.md; never renumbered.
enum class ErrorKind : int {
  usage = 2,                  // the command line is not understood
  file_not_found = 3,         // a file that was named cannot be read
  source_not_compiled = 4,    // the author's own code does not compile
  no_kernel = 5,              // the source holds no kernel, or none of that name
  several_kernels = 6,        // the source holds several and none was named
  missing_argument = 7,       // a kernel parameter has no value
  bad_description = 8,        // the launch description: syntax, unknown key, wrong type, bad expression
  bad_launch = 9,             // grid, block or sizes that no GPU can launch
  buffer_too_large = 10,      // the buffers do not fit the GPU's memory
  unknown_architecture = 11,  // NVRTC does not know the architecture
  cache_unusable = 12,        // the cache file is not a database of ours
  cache_read_only = 13,       // the cache file cannot be written
  no_toolkit = 14,            // NVRTC was not found, or is too old
  gpu_failed = 15,            // the GPU or its driver refused work that no candidate is to blame for
  nothing_launchable = 16,    // no variant at all can be launched with this block
  check_failed = 17,          // `regtune check`: the code breaks a limit or is worse than the baseline
  claim_not_held = 18,        // `regtune verify`: measured again, the stored answer does not hold
  internal = 70,              // a bug of regtune
};

class Error : public std::runtime_error {
 public:
  // `message` says what failed, on what, and what to try.
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace regtune
