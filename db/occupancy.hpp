#pragma once
// How many blocks of a kernel fit on one streaming multiprocessor, what stops one more, and whether the
// kernel can be launched at all. Rules: the toolkit's cuda_occupancy.h (the tests compare with it).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu_limits.hpp"
#include "regtune/types.hpp"

namespace regtune {

enum class Limiter { registers, shared_memory, threads, blocks };
std::string_view to_string(Limiter limiter);
std::optional<Limiter> limiter_from_string(std::string_view text);

struct Occupancy {
  int active_blocks_per_sm = 0;
  double fraction = 0;  // active warps over the warps an SM can hold, 0..1
  Limiter limiter = Limiter::threads;
  friend bool operator==(const Occupancy&, const Occupancy&) = default;
};

// What one block of the kernel takes.
struct BlockResources {
  int registers_per_thread = 0;
  std::int64_t static_shared_bytes = 0;  // as the author declared it, without the system's reserve
  std::int64_t dynamic_shared_bytes = 0;
  int max_threads_per_block = 0;       // the bound compiled into the code; 0: none
  int required_threads_per_block = 0;  // .reqntid: the block must have exactly this many; 0: none
};

// Empty when the launch is legal on a GPU with these limits; else one sentence that names the resource and
// by how much it is exceeded ("384 threads need 65,536 + 1,024 registers ...").
std::optional<std::string> why_not_launchable(const GpuLimits& limits, const BlockResources& resources, Dim3 block);

// Requires: why_not_launchable is empty for the same arguments.
Occupancy occupancy(const GpuLimits& limits, const BlockResources& resources, Dim3 block);

// The most registers per thread that the compiler allows itself under __launch_bounds__(T, B) (B = 0: not
// given). A B that the architecture cannot hold is ignored, as ptxas does.
// Formula: tuner/DESIGN.md, "Register ceiling"; checked against cubins in tests/register_ceiling_test.cpp.
int register_ceiling(const GpuLimits& limits, const LaunchBounds& bounds);

// True when ptxas drops B: more blocks or more warps than an SM holds.
bool min_blocks_ignored(const GpuLimits& limits, const LaunchBounds& bounds);

}  // namespace regtune
