#pragma once
// What the text of a kernel tells of its launch: the axes that it uses, its dynamic shared memory, and what it reads
// from textures. A look at words, not an understanding: what stands in other functions is seen for textures alone.
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

// tex2D<float4>(image, x, y)
struct TextureFetch {
  std::string function;  // "tex2D", "tex1Dfetch"
  std::string type;      // "float4"
  std::string texture;   // "image"
};

// What the body of a kernel uses of CUDA's own variables, and of shared memory.
struct KernelBody {
  bool block_has_y = false;  // threadIdx.y or blockDim.y
  bool block_has_z = false;
  bool grid_has_y = false;  // blockIdx.y
  bool grid_has_z = false;
  std::vector<TextureFetch> fetches;  // of the whole text, since functions that the kernel calls may fetch
  int shared_element_bytes = 0;       // of an `extern __shared__` array; 0: there is none
};
// Of the first definition of that name (unqualified) in the text; nothing is used where there is none.
KernelBody kernel_body(std::string_view source_text, const std::string& kernel);

}  // namespace regtune
