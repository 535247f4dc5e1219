#pragma once
// What the kernel's parameters are: offsets and sizes from the compiled code's own tables, types from the
// mangled name, and the names, which no machine code holds, from the author's text.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cubin.hpp"

namespace regtune {

struct KernelParameter {
  std::string name;  // as the author wrote it; "arg0", "arg1", ... where the text does not show it
  // "const float*", "unsigned long"; empty for an extern "C" kernel whose text hides it. A handle of CUDA's that is a
  // mere integer to the compiler goes by the author's word for it: "cudaTextureObject_t".
  std::string type;
  int offset_bytes = 0;
  int size_bytes = 0;
};

struct KernelSignature {
  std::string mangled_name;
  std::string name;     // without parameters and namespaces' decoration: "decayWide", "ns::sgemm<128, float>"
  std::string display;  // "decayWide(const float*, float*, unsigned long)"
  std::vector<KernelParameter> parameters;
  std::string launch_bounds = {};  // as the declaration writes them: "kThreads, 5"; empty: none, or not seen
  // What the code declares of clusters: blocks along x, y and z (__cluster_dims__), and the most that there may be (the
  // third launch bound); 0: nothing.
  std::array<int, 3> blocks_per_cluster = {0, 0, 0};
  int max_blocks_per_cluster = 0;
};

// Whether a parameter of this type holds a texture object, or a tensor map by value.
bool is_texture_type(std::string_view type);
bool is_tensor_map_type(std::string_view type);

// `kernel` is an entry point of a cubin compiled from `source_text`. Never fails: what the text does not
// show is left unnamed.
KernelSignature kernel_signature(const CubinKernel& kernel, std::string_view source_text);

// "_Z9decayWidePKfPfm" -> "decayWide(const float*, float*, unsigned long)"; the input where it is not mangled.
std::string demangle(const std::string& mangled_name);

// "ns::sgemm<128, float>" -> "sgemm": as the declaration in the source spells it.
std::string unqualified_name(const KernelSignature& signature);

// True when a user who says `wanted` ("decayWide", "ns::decayWide", "sgemm<128, float>", or the mangled
// name) means this kernel. White space does not count.
bool names_kernel(const KernelSignature& signature, std::string_view wanted);

}  // namespace regtune
