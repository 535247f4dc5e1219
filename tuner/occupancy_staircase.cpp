#include "occupancy_staircase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace regtune {
namespace {

// A record from elsewhere may hold anything; the formula divides by these.
bool are_known(const GpuLimits& l) {
  constexpr int kWarp = 32;
  return l.max_threads_per_sm >= kWarp && l.max_blocks_per_sm > 0 && l.registers_per_sm > 0 &&
         l.registers_per_block > 0 && l.register_allocation_unit > 0 && l.sub_partitions_per_sm > 0 &&
         l.max_registers_per_thread > 0 && l.max_registers_per_thread <= 255 && l.max_threads_per_block > 0 &&
         l.shared_bytes_per_sm > 0 && l.shared_bytes_per_block_optin >= 0 && l.reserved_shared_bytes_per_block >= 0 &&
         l.shared_allocation_unit_bytes > 0;
}

std::string spell_blocks(int blocks) {
  return fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
}

std::string_view spell_limit(Limiter limiter) {
  switch (limiter) {
    case Limiter::registers:
      return "registers limit";
    case Limiter::shared_memory:
      return "shared memory limits";
    case Limiter::threads:
      return "threads limit";
    case Limiter::blocks:
      return "blocks limit";
  }
  return "something limits";
}

}  // namespace

GpuLimits limits_of(const TuningRecord& record) {
  if (record.gpu && are_known(record.gpu->limits)) return record.gpu->limits;
  return gpu_limits(record.architecture).value_or(GpuLimits{});
}

Staircase occupancy_staircase(const GpuLimits& limits, Dim3 block, std::int64_t static_shared_bytes,
                              std::int64_t dynamic_shared_bytes) {
  Staircase staircase{block, 0, limits.max_threads_per_sm / 32, {}};
  if (!are_known(limits)) return staircase;
  for (int registers = 1; registers <= limits.max_registers_per_thread; ++registers) {
    const BlockResources resources{registers, static_shared_bytes, dynamic_shared_bytes, 0, 0};
    if (why_not_launchable(limits, resources, block)) break;
    const Occupancy fits = occupancy(limits, resources, block);
    if (staircase.steps.empty() || !(staircase.steps.back().occupancy == fits))
      staircase.steps.push_back({registers, registers, fits});
    staircase.steps.back().to_registers = registers;
  }
  if (!staircase.steps.empty()) staircase.shared_bytes = static_shared_bytes + dynamic_shared_bytes;
  return staircase;
}

std::string about_step(const Staircase& staircase, int registers_per_thread) {
  const auto holds = [&](const Step& step) {
    return step.from_registers <= registers_per_thread && registers_per_thread <= step.to_registers;
  };
  const auto step = std::find_if(staircase.steps.begin(), staircase.steps.end(), holds);
  if (step == staircase.steps.end()) return "";
  std::string text =
      fmt::format("at {} registers {} of {} threads {} on an SM ({:.3g} % of its warps)", registers_per_thread,
                  spell_blocks(step->occupancy.active_blocks_per_sm), staircase.block.volume(),
                  step->occupancy.active_blocks_per_sm == 1 ? "fits" : "fit", step->occupancy.fraction * 100);
  if (step->occupancy.limiter != Limiter::registers || step == staircase.steps.begin())
    return text + fmt::format("; {} that: fewer registers change nothing", spell_limit(step->occupancy.limiter));
  const Step& more = *std::prev(step);
  return text + fmt::format("; {} or fewer would let {} in ({:.3g} %)", more.to_registers,
                            more.occupancy.active_blocks_per_sm, more.occupancy.fraction * 100);
}

}  // namespace regtune
