#pragma once
// A launch that was caught in a running program: its shape, the block of its parameters and the memory they point
// into, and who answers for what else is to be known of it. From it comes a plan as from a description: the launch is
// made again with the same memory at the same addresses, so that nothing has to be known of what the kernel reads.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "captured_text.hpp"
#include "cubin.hpp"
#include "signature.hpp"
#include "worker.hpp"
#include "workload.hpp"

namespace regtune {

struct CapturedLaunch {
  std::string kernel;  // mangled
  LaunchShape shape;
  bool is_cooperative = false;
  std::optional<Dim3> cluster;
  SnapshotPlan memory;           // without variables, and with types only once the signature is known
  int host_pointers = 0;         // parameters that point into the host's memory, which is not captured
  int registers_per_thread = 0;  // of the program's own code
  std::string program;
  int process = 0;  // its id
  int launch = 1;
  std::string image;
  // Asks the program for the values of its module's variables; one that it lacks is left out.
  std::function<std::map<std::string, std::string>(const std::vector<std::string>&)> variables;
  // Lets the program make its launch, and puts what it left behind the copy of its memory: what the code made of the
  // source must compute too. Empty: nobody can tell.
  std::function<void()> launched;
  bool source_is_certain = false;  // the program compiled the very text that is tuned
  Channel* context = nullptr;      // where launches are made in the program itself; nullptr: in a process of ours
};

// The plan to make it again with codes of that signature, whose module has these variables. The sizes are those by
// which the result is stored: grid, block and the integers among the parameters. Throws Error(bad_launch) where the
// source's kernel takes other parameters than the program's, and where the program lacks a variable of the code.
WorkloadPlan captured_workload(const CapturedLaunch& captured, const KernelSignature& signature,
                               const std::vector<CubinVariable>& variables);

// The integers among the parameters. A word of 4 bytes whose type nobody knows counts as one.
std::vector<IntegerPlace> integers_of(const KernelSignature& signature, const SnapshotPlan& memory);

// Grid, block and integers as sizes: "grid_x", "block_x", "n".
Sizes sizes_of_launch(const LaunchShape& shape, std::string_view parameter_block,
                      const std::vector<IntegerPlace>& integers);

CapturedFacts facts_of(const CapturedLaunch& captured, const KernelSignature& signature);

}  // namespace regtune
