#pragma once
// The per-architecture constants that decide how many blocks fit on a streaming multiprocessor.
// Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and the
// toolkit's cuda_occupancy.h, against which tests/occupancy_test.cpp compares the results.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regtune {

struct GpuLimits {
  int compute_major = 0;
  int compute_minor = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  int registers_per_block = 0;
  int register_allocation_unit = 256;  // registers, per warp
  int sub_partitions_per_sm = 4;       // each owns an equal share of the register file
  int max_registers_per_thread = 255;
  int max_threads_per_block = 1024;
  int shared_bytes_per_sm = 0;
  int shared_bytes_per_block = 49152;       // without the opt-in attribute
  int shared_bytes_per_block_optin = 0;     // with it
  int reserved_shared_bytes_per_block = 0;  // taken by the system in every block
  int shared_allocation_unit_bytes = 0;
};

// The limits of compute capability major.minor; nothing for one that is not known.
std::optional<GpuLimits> gpu_limits(int compute_major, int compute_minor);

// "sm_90", "sm_90a", "sm_100f": the limits of that target; nothing when it is not understood.
std::optional<GpuLimits> gpu_limits(std::string_view architecture);

// All compute capabilities that gpu_limits knows, ascending, as {major, minor}.
std::vector<std::pair<int, int>> known_compute_capabilities();

}  // namespace regtune
