#pragma once
// In which order the builds of a sweep are compiled: what can matter most comes first, so that a budget of time that
// ends early has bought the most; and the dear ones, which are those of low caps, never come last, so that no core
// idles while the last of them is finished. Knows variants, limits and, later, which codes are fast; compiles nothing.
#include <cstdint>
#include <vector>

#include "gpu_limits.hpp"
#include "record.hpp"
#include "source.hpp"

namespace regtune {

struct CompileOrder {
  // The author's code; then its bounds, one for each register ceiling, and no bound; then the caps at which occupancy
  // changes. Under the kernel's own name, for every choice of the source's macros.
  std::vector<Build> first;
  // Everything else: the bounds of a ceiling that was had, and the other caps, every second of what is left at a time;
  // then all of it under other names and with ptxas's options, likewise.
  std::vector<Build> rest;
};

// Every build of the planned trials once. `static_shared_bytes` is the kernel's.
CompileOrder compile_order(const std::vector<Trial>& planned, std::int64_t static_shared_bytes,
                           const GpuLimits& limits);

// With nothing in `rest`: where there is time for everything, nothing waits.
CompileOrder in_one_wave(CompileOrder order);

// The most registers per thread with which each possible number of blocks still fits on an SM, from few blocks to many:
// a cap between two of them gives away registers for no block.
std::vector<int> occupancy_steps(const LaunchShape& shape, std::int64_t static_shared_bytes, const GpuLimits& limits);

// How far around a fast code caps are its neighbours.
inline constexpr int kNeighbourhood = 4;

// A code that is still in the race.
struct FastCode {
  int registers_per_thread = 0;
  std::vector<Build> builds;  // that give it, the simplest first; at least one
};

// Those of `left` that lie near the fast codes: their own budgets under other names and options, then the caps within
// kNeighbourhood of their registers, the nearest first. `fast`: the fastest first.
std::vector<Build> neighbours(const std::vector<FastCode>& fast, const std::vector<Build>& left);

}  // namespace regtune
