#pragma once
// An nvcc command line in the run-time compiler's words: "nvcc -arch=sm_90 -O3 -I inc -Xcompiler -Wall k.cu". What the
// device's code depends on is kept; the host compiler's, the linker's and the output's options are left out, and so is
// the architecture, which is the GPU's. It judges by names alone and reads no file.
#include <string>
#include <vector>

namespace regtune {

struct CompilerArguments {
  std::vector<std::string> kept;      // as NVRTC takes them, each in one word, and nvcc too
  std::vector<std::string> left_out;  // as they were written
  std::vector<std::string> of_nvcc;   // of these, what nvcc needs where it compiles the file; each in one word
};

// True for "nvcc" and "/usr/local/cuda/bin/nvcc".
bool is_nvcc(const std::string& word);

// `arguments` begin behind nvcc's own name. An option that is not known to it is kept: the compiler will say.
CompilerArguments from_nvcc(const std::vector<std::string>& arguments);

}  // namespace regtune
