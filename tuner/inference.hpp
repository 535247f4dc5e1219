#pragma once
// What a launch description leaves out, guessed from the kernel's signature, the names of its parameters, its launch
// bound and the axes that its text uses. Gives a complete description and the list of guesses, each with its reason;
// what the author described is never changed. Pure: reads no file and no GPU. Refuses nothing: what cannot be guessed
// (structures, pointers to pointers) stays missing, and the plan of the workload says so.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "description.hpp"
#include "signature.hpp"

namespace regtune {

// One line of a launch description that nobody wrote.
struct Guess {
  std::string key;     // "sizes.n", "block", "args.in"
  std::string value;   // as TOML: "16777216", "{ buffer = \"n\" }"
  std::string reason;  // "the integer n is named like a length"
};

// What the body of a kernel uses of CUDA's own variables, and of shared memory.
struct KernelBody {
  bool block_has_y = false;  // threadIdx.y or blockDim.y
  bool block_has_z = false;
  bool grid_has_y = false;  // blockIdx.y
  bool grid_has_z = false;
  int shared_element_bytes = 0;  // of an `extern __shared__` array; 0: there is none
};
// Of the first definition of that name (unqualified) in the text; nothing is used where there is none.
KernelBody kernel_body(std::string_view source_text, const std::string& kernel);

struct InferenceFacts {
  KernelBody body;
  int launch_bound = 0;           // threads per block that the author's code is compiled for; 0: none
  std::int64_t memory_bytes = 0;  // of the GPU, for which a guessed size is made small enough; 0: not known
};

InferenceFacts inference_facts(std::string_view source_text, const KernelSignature& signature, int launch_bound,
                               std::int64_t memory_bytes);

struct InferredLaunch {
  LaunchDescription description;
  std::vector<Guess> guesses;  // sizes, block, grid, shared memory, then arguments in the kernel's order
};

InferredLaunch infer_launch(LaunchDescription description, const KernelSignature& signature,
                            const InferenceFacts& facts);

// "args.n = \"n\"": a line of a launch description.
std::string line_of(const Guess& guess);
std::vector<std::string> lines_of(const std::vector<Guess>& guesses);

// What to write instead where a launch on guesses failed: those about a parameter that the failure names, else the
// lengths of buffers and the sizes. Empty without guesses.
std::string advice_for_failure(const std::vector<Guess>& guesses, const std::string& failure);

}  // namespace regtune
