#pragma once
// What a buffer holds before the first launch, and how a description spells it. The data itself is made where it is
// needed, on the GPU (device_code.cu), or read from a file there; here the text is understood and checked.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "element_type.hpp"
#include "expression.hpp"

namespace regtune {

struct BufferInit {
  enum class Kind { zeros, ones, iota, uniform, normal, file, modulo, permutation, sorted };
  Kind kind = Kind::zeros;
  double a = 0;  // uniform, sorted: low;  normal: mean; modulo, permutation: how many numbers there are, from 0
  double b = 1;  // uniform, sorted: high; normal: standard deviation
  std::string
      path;  // file: an existing .bin or .npy, or that in .zst, whose size and type were checked against the buffer
};

// What NumPy calls the elements of a buffer, without the byte order: "f4". NumPy has no bfloat16: the packages that add
// one store two bytes.
std::string_view numpy_type(ElementType type);

// `names`: what the expressions of mod(n) and permutation(n) see. A path is relative to `base_folder`.
// Throws Error(bad_description).
BufferInit parse_buffer_init(const std::string& text, ElementType type, const Sizes& names,
                             const std::filesystem::path& base_folder, const Origin& origin);

// Reads the header of a .npy file, or the size of any other; a compressed one that does not tell its size is taken.
// Throws Error: file_not_found, bad_description where type or count is not the buffer's.
void check_data_file(const std::filesystem::path& path, const std::string& buffer, ElementType type, std::int64_t count,
                     const Origin& origin);

std::string init_text(const BufferInit& init);  // "uniform(0, 1)"

}  // namespace regtune
