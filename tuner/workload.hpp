#pragma once
// The plan of what is launched: every size, grid, buffer and scalar as a number, ready for the process that
// owns the GPU. Made from the launch description and the kernel's signature; nothing is allocated here.
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "argument_plan.hpp"
#include "launch_description.hpp"
#include "record.hpp"
#include "signature.hpp"
#include "snapshot_plan.hpp"

namespace regtune {

// One launch to plan: a block, and the integers that expressions see under the names that are tuned with it.
struct LaunchCase {
  Dim3 block;
  Sizes tuned = {};
};

// Blocks that are launched together on neighbouring multiprocessors.
struct ClusterPlan {
  Dim3 blocks;
  bool declared = false;  // by the code itself, with __cluster_dims__: the launch says nothing of it
};

struct WorkloadPlan {
  Sizes sizes;
  std::vector<LaunchShape> shapes;        // one per launch case, in their order; the first is the author's
  bool cooperative = false;               // of the blocks in a shape's grid, as many as are resident at once
  std::vector<ParameterPlan> parameters;  // in the kernel's order
  std::vector<StructPlan> globals = {};   // __constant__ and __device__ variables, by the names in the compiled module
  std::uint64_t seed = 1;
  std::vector<std::string> notes;  // what was assumed, one sentence each, for the user
  Work work = {};                  // without the GPU's own figure
  std::optional<ClusterPlan> cluster = {};
  std::optional<SnapshotPlan> snapshot = {};  // a captured launch: parameters and globals are then empty
};

// Every buffer, those that structures and variables point to included, in the order of parameters and globals.
std::vector<const BufferPlan*> buffers_of(const WorkloadPlan& plan);

// The blocks of the description, the author's first; 256 threads where none is described.
std::vector<Dim3> described_blocks(const LaunchDescription& description);

// What an expression sees under a launch case: the sizes, the block, and what is tuned. `block` is the number of
// threads.
Sizes expression_names(const Sizes& sizes, const LaunchCase& launch);

// `launches`: the author's first; empty: one for each described block. A buffer whose length depends on the case gets
// the largest of all cases, a scalar may not depend on it. Reads the headers of data files, not their data.
// Throws Error: missing_argument (names the parameter and the line to write), bad_description (an
// expression, a type or a file that does not fit; names file, line and key), file_not_found (a data file),
// bad_launch (a grid or block of 0 or over CUDA's limits, a size, length or shared memory that is negative, a cluster
// that does not divide the grid or is not the one that the code declares),
// buffer_too_large (more bytes than 64 bits count).
WorkloadPlan plan_workload(const LaunchDescription& description, const KernelSignature& signature,
                           std::vector<LaunchCase> launches = {});

// One line per parameter, as the report shows it: "in   const float*  16777216 x float, uniform(0, 1)".
std::vector<std::string> describe_arguments(const WorkloadPlan& plan, const KernelSignature& signature);

}  // namespace regtune
