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
#include "guess.hpp"
#include "kernel_body.hpp"
#include "signature.hpp"

namespace regtune {

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

}  // namespace regtune
