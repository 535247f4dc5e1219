#pragma once
// Where launch descriptions come from: a comment of the source (/*regtune ... */) or a side file, both TOML, and the
// same keys as flags, which win. Unknown keys, values of the wrong type and impossible blocks are refused here, where
// the line is known.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch_description.hpp"

namespace regtune {

// The comment block of `source_text` if it has one, else the side file beside `source_path`
// (k.cu -> k.regtune.toml) if there is one, else an empty description. Having both is an error.
// Throws Error(bad_description) naming file, line and key; bad_launch for a block that CUDA cannot launch.
LaunchDescription read_description(const std::filesystem::path& source_path, std::string_view source_text);

// A description that stands somewhere else, for a source that is not to be touched. Data files are relative to it,
// include folders to the source. Throws Error(file_not_found or bad_description).
LaunchDescription read_description_file(const std::filesystem::path& file);

// Whether there is a comment block or a side file to read.
bool has_description(const std::filesystem::path& source_path, std::string_view source_text);
// k.cu -> k.regtune.toml
std::filesystem::path side_file_of(const std::filesystem::path& source_path);

// What a description says of that kernel: its own table, else what is said of all. Where it is about another kernel
// alone, and `kernel` is one of several, nothing but how the file is compiled.
LaunchDescription description_of_kernel(LaunchDescription description, const std::optional<std::string>& kernel,
                                        bool one_of_several);

// What was given on the command line; each that is set wins over the file's.
struct DescriptionFlags {
  std::optional<std::filesystem::path> file;        // --description FILE, in the place of the source's own
  std::optional<std::string> kernel;                // --kernel NAME
  std::vector<std::string> sizes;                   // --set n=1<<24
  std::optional<std::string> block;                 // --block 128,256 or 32x8,16x16
  std::optional<std::string> grid;                  // --grid 'ceil_div(n, block)'
  std::optional<std::string> dynamic_shared_bytes;  // --shared EXPR
  std::vector<std::string> arguments;  // --arg n=n, --arg a=2.5, --arg 'in={buffer="n", init="uniform(0,1)"}': an
                                       // expression, or the TOML table that the file would hold
  std::vector<std::string> options;    // --option / everything after --: added to the author's
  std::vector<std::string> nvcc_options = {};        // of an nvcc command, what NVRTC does not take and nvcc needs
  std::vector<std::string> include_folders;          // -I, relative to the current folder
  std::vector<std::string> pre_included_files = {};  // --include, relative to the current folder
  std::vector<std::string> defines;                  // -D
  std::optional<std::uint64_t> seed;                 // --seed
  std::vector<std::string> tune;                     // --tune UNROLL=1,2,4,8
  std::vector<std::string> metrics = {};             // --metric 'bytes=8*n', --metric 'flops=2*n'
  bool one_of_several = false;  // `kernel` is one of those that --kernel meant: what is said of another is not of it
};

// A size that the file does not have is put before the file's, so that the file's expressions can use it.
// What only the whole says is checked here: the combinations of tune, and block_macro against the blocks.
// Throws Error(bad_description or bad_launch) naming the flag or the key.
LaunchDescription with_flags(LaunchDescription description, const DescriptionFlags& flags);

}  // namespace regtune
