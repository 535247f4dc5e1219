#pragma once
// The launch description: what the author says about how the kernel is launched. TOML, in a comment of the
// source (/*regtune ... */) or in a side file, and the same keys as flags, which win. Expressions are kept as
// written and workload.hpp evaluates them; unknown keys, values of the wrong type and impossible blocks are
// refused here, where the line is known.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"
#include "regtune/types.hpp"

namespace regtune {

struct SizeDescription {
  std::string name;
  Expression value;
};

struct ArgumentDescription {
  std::string parameter;  // its name, or its position from 0 as digits
  Origin origin;
  std::optional<Expression> scalar;  // exactly one of scalar and length is set
  std::optional<Expression> length;  // buffer: elements
  std::string init;            // buffer: zeros | ones | iota | uniform(a, b) | normal(m, s) | file:path; empty: zeros
  std::string type;            // C type of an element or of the scalar; empty: as the signature tells
  std::optional<bool> output;  // buffer: default: a pointer to non-const
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  std::int64_t ulp_tolerance = 0;
};

// A macro of the source, or a template argument of the kernel, and the values that are tried.
struct TunedName {
  std::string name;
  std::vector<std::string> values;  // as they are written into the source or the kernel's name; each once
  Origin origin;
};

struct LaunchDescription {
  std::optional<std::string> kernel;
  // Of `kernel = "scale<UNROLL, float>"`, once with_authors_instance has put the author's values into `kernel`: the
  // name as it was written, and which tuned names it holds. Empty: none.
  std::string kernel_pattern;
  std::vector<std::string> template_arguments;
  std::vector<SizeDescription> sizes;
  std::vector<Dim3> blocks;        // the first is the author's; empty: not described; each is launchable
  std::optional<Expression> grid;  // gives 1 to 3 numbers
  std::optional<Expression> dynamic_shared_bytes;
  std::vector<ArgumentDescription> arguments;
  std::vector<std::string> options;                    // the author's compiler options
  std::vector<std::string> nvcc_options;               // beside them, where nvcc compiles the file
  std::vector<std::filesystem::path> include_folders;  // absolute, or relative to the source's folder
  std::optional<std::uint64_t> seed;
  std::filesystem::path base_folder;  // data files are relative to it
  std::vector<TunedName> tune;
  std::vector<std::string> block_macros;  // of the block's x, y and z; empty: the source takes any block
  Origin block_macro_origin = {};
  std::optional<Expression> bytes;  // that a launch reads and writes, as the author counts them
  std::optional<Expression> flops;
};

// The comment block of `source_text` if it has one, else the side file beside `source_path`
// (k.cu -> k.regtune.toml) if there is one, else an empty description. Having both is an error.
// Throws Error(bad_description) naming file, line and key; bad_launch for a block that CUDA cannot launch.
LaunchDescription read_description(const std::filesystem::path& source_path, std::string_view source_text);

// What was given on the command line; each that is set wins over the file's.
struct DescriptionFlags {
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
};

// A size that the file does not have is put before the file's, so that the file's expressions can use it.
// What only the whole says is checked here: the combinations of tune, and block_macro against the blocks.
// Throws Error(bad_description or bad_launch) naming the flag or the key.
LaunchDescription with_flags(LaunchDescription description, const DescriptionFlags& flags);

// "; did you mean \"grid\"?" when a known word is at most two edits away, else an empty text.
std::string near_miss(std::string_view word, const std::vector<std::string>& known);

}  // namespace regtune
