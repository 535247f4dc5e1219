#pragma once
// What a launch description says, as values: sizes, blocks, grid and arguments, with each expression as it was written
// and the place where it stands. Whoever reads one (a comment, a side file, flags) fills these in; the workload's plan
// evaluates them.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "expression.hpp"
#include "regtune/types.hpp"
#include "tensor_map.hpp"
#include "texture.hpp"

namespace regtune {

struct SizeDescription {
  std::string name;
  Expression value;
};

// A texture object: how many texels it has along each of one or two axes, and how they are read.
struct TextureDescription {
  std::vector<Expression> extents;
  TextureSampling sampling;
};

// A tensor map: a view of a buffer of its own, or of another one.
struct TensorMapDescription {
  std::vector<Expression> dims;             // elements, the innermost first
  std::vector<Expression> strides;          // bytes; empty: the elements lie behind each other
  std::vector<Expression> box;              // elements of a tile
  std::vector<Expression> element_strides;  // empty: 1 each
  std::string of;                           // the buffer that it views; empty: its own
  std::optional<Expression> base_offset;    // bytes from the buffer's start
  TensorMapMode mode;
};

// What a parameter, a field of a structure or a variable of the module holds.
struct ArgumentDescription {
  std::string parameter;  // its name, or its position from 0 as digits
  Origin origin;
  // Exactly one of scalar, length, fields, texture, tensor_map, and, of a variable of the module, values and file is
  // set.
  std::optional<Expression> scalar;
  std::optional<Expression> length;  // buffer: elements
  // buffer: zeros | ones | iota | uniform(a, b) | normal(m, s) | mod(n) | permutation(n) | sorted(a, b) | file:path;
  // empty: zeros
  std::string init;
  std::string type;            // C type of an element or of the scalar; empty: as the signature tells
  std::optional<bool> output;  // buffer: default: a pointer to non-const
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  std::int64_t ulp_tolerance = 0;
  std::vector<ArgumentDescription> fields = {};             // of a structure by value
  std::optional<std::int64_t> offset_bytes = std::nullopt;  // of a field; empty: where C would put it
  std::vector<Expression> values = {};                      // of an array
  std::string file = {};                                    // .bin or .npy
  std::optional<TextureDescription> texture = std::nullopt;
  std::optional<TensorMapDescription> tensor_map = std::nullopt;
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
  bool cooperative = false;              // all blocks are resident at once; the grid is the most that there may be
  std::vector<Expression> cluster = {};  // blocks of a cluster along x, y and z; empty: as the code declares
  std::vector<ArgumentDescription> arguments;
  std::vector<ArgumentDescription> globals = {};       // __constant__ and __device__ variables
  std::vector<std::string> options;                    // the author's compiler options
  std::vector<std::string> nvcc_options;               // beside the options, where nvcc compiles the file
  std::vector<std::filesystem::path> include_folders;  // absolute, or relative to the source's folder
  std::optional<std::uint64_t> seed;
  std::filesystem::path base_folder;  // data files are relative to it
  std::vector<TunedName> tune;
  std::vector<std::string> block_macros;  // of the block's x, y and z; empty: the source takes any block
  Origin block_macro_origin = {};
  std::optional<Expression> bytes;  // that a launch reads and writes, as the author counts them
  std::optional<Expression> flops;
  double weight = 1;  // launches of it for each one of the file's other kernels
  // Of a file that describes several: what each kernel's own table makes of it, whole and with its name.
  std::vector<LaunchDescription> kernels = {};
};

}  // namespace regtune
