#pragma once
// How many blocks of a kernel fit on an SM at each number of registers per thread: a staircase, since registers are
// handed out in units. For one block size and one amount of shared memory on one GPU; the formula is db/occupancy's. It
// compiles nothing, and says nothing where the limits of the GPU are not known.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// Registers per thread that all give the same occupancy.
struct Step {
  int from_registers = 0;
  int to_registers = 0;
  Occupancy occupancy;
};

struct Staircase {
  Dim3 block;
  std::int64_t shared_bytes = 0;  // static and dynamic, of one block
  int warps_per_sm = 0;           // the most that an SM holds
  std::vector<Step> steps;        // ascending; ends where a block no longer fits, at the latest at the GPU's most
};

// The limits of the record's GPU, else of its architecture; all zero where neither is known.
GpuLimits limits_of(const TuningRecord& record);

Staircase occupancy_staircase(const GpuLimits& limits, Dim3 block, std::int64_t static_shared_bytes,
                              std::int64_t dynamic_shared_bytes);

// "at 67 registers 3 blocks of 256 threads fit on an SM (37.5 %); 64 or fewer would let 4 in (50 %)". Empty where no
// step holds that number of registers.
std::string about_step(const Staircase& staircase, int registers_per_thread);

}  // namespace regtune
