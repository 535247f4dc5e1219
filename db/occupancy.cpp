#include "occupancy.hpp"

#include <algorithm>
#include <limits>

namespace regtune {
namespace {

constexpr std::int64_t warp_size = 32;
// A launch is checked as if its warps took registers in four sub-partitions at once. Compute capability
// 6.0 has two, but a kernel must fit its four-partition siblings as well.
constexpr std::int64_t launch_check_sub_partitions = 4;
constexpr unsigned max_block_z = 64;
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

std::int64_t divide_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit;
}
std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return divide_up(value, unit) * unit;
}

std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::int64_t warps_of(Dim3 block) {
  return divide_up(static_cast<std::int64_t>(block.volume()), warp_size);
}

std::int64_t registers_per_warp(const GpuLimits& limits, const BlockResources& resources) {
  return round_up(std::int64_t{resources.registers_per_thread} * warp_size, limits.register_allocation_unit);
}

std::optional<std::string> why_block_refused(const GpuLimits& limits, const BlockResources& resources, Dim3 block) {
  const std::string shape = std::to_string(block.x) + "x" + std::to_string(block.y) + "x" + std::to_string(block.z);
  if (block.x == 0 || block.y == 0 || block.z == 0) return "a block of " + shape + " has no threads";
  const auto most = static_cast<unsigned>(limits.max_threads_per_block);
  // Each dimension first: the product of three unchecked ones could exceed 64 bits.
  if (block.x > most || block.y > most || block.z > max_block_z) {
    return "a block of " + shape + " exceeds " + grouped(most) + "x" + grouped(most) + "x" +
           std::to_string(max_block_z) + ", the most in each dimension";
  }
  const auto threads = static_cast<std::int64_t>(block.volume());
  if (threads > limits.max_threads_per_block) {
    return "a block of " + shape + " has " + grouped(threads) + " threads; this GPU takes at most " +
           grouped(limits.max_threads_per_block);
  }
  if (resources.required_threads_per_block > 0 && threads != resources.required_threads_per_block) {
    return "the code was compiled for blocks of exactly " + grouped(resources.required_threads_per_block) +
           " threads; this block has " + grouped(threads);
  }
  if (resources.max_threads_per_block > 0 && threads > resources.max_threads_per_block) {
    return "the code was compiled for at most " + grouped(resources.max_threads_per_block) +
           " threads per block; this block has " + grouped(threads);
  }
  return std::nullopt;
}

std::optional<std::string> why_registers_refused(const GpuLimits& limits, const BlockResources& resources, Dim3 block) {
  if (resources.registers_per_thread > limits.max_registers_per_thread) {
    return grouped(resources.registers_per_thread) + " registers per thread exceed the " +
           grouped(limits.max_registers_per_thread) + " of this GPU";
  }
  const auto threads = static_cast<std::int64_t>(block.volume());
  const std::int64_t needed =
      registers_per_warp(limits, resources) * round_up(warps_of(block), launch_check_sub_partitions);
  if (needed <= limits.registers_per_block) return std::nullopt;
  std::string reason = grouped(threads) + " threads x " + grouped(resources.registers_per_thread) + " registers need " +
                       grouped(needed) + " registers per block";
  if (needed != threads * resources.registers_per_thread) {
    reason += " (allocated " + grouped(limits.register_allocation_unit) + " at a time to each warp, and to warps in " +
              "fours)";
  }
  return reason + "; this GPU has " + grouped(limits.registers_per_block);
}

std::optional<std::string> why_shared_refused(const GpuLimits& limits, const BlockResources& resources) {
  const std::int64_t fixed = resources.static_shared_bytes;
  const std::int64_t dynamic = resources.dynamic_shared_bytes;
  const std::int64_t most = limits.shared_bytes_per_block_optin;
  if (fixed < 0 || dynamic < 0) {
    return "a block cannot have " + grouped(std::min(fixed, dynamic)) + " bytes of shared memory";
  }
  // Subtracted, not added: the sum of two large requests could exceed 64 bits.
  if (fixed <= most && dynamic <= most - fixed) return std::nullopt;
  return "a block needs " + grouped(fixed) + " bytes of static and " + grouped(dynamic) +
         " bytes of dynamic shared memory; this GPU gives a block at most " + grouped(most);
}

// The blocks that b blocks per SM stand for once ptxas has dropped what cannot be held.
std::int64_t effective_min_blocks(const GpuLimits& limits, const LaunchBounds& bounds) {
  return bounds.min_blocks_per_sm <= 0 || min_blocks_ignored(limits, bounds) ? 1 : bounds.min_blocks_per_sm;
}

}  // namespace

std::string_view to_string(Limiter limiter) {
  switch (limiter) {
    case Limiter::registers:
      return "registers";
    case Limiter::shared_memory:
      return "shared_memory";
    case Limiter::threads:
      return "threads";
    case Limiter::blocks:
      return "blocks";
  }
  return "unknown";
}

std::optional<Limiter> limiter_from_string(std::string_view text) {
  for (const Limiter limiter : {Limiter::registers, Limiter::shared_memory, Limiter::threads, Limiter::blocks}) {
    if (text == to_string(limiter)) return limiter;
  }
  return std::nullopt;
}

std::optional<std::string> why_not_launchable(const GpuLimits& limits, const BlockResources& resources, Dim3 block) {
  if (auto reason = why_block_refused(limits, resources, block)) return reason;
  if (auto reason = why_registers_refused(limits, resources, block)) return reason;
  return why_shared_refused(limits, resources);
}

Occupancy occupancy(const GpuLimits& limits, const BlockResources& resources, Dim3 block) {
  const std::int64_t warps = warps_of(block);
  const std::int64_t warps_per_sm = limits.max_threads_per_sm / warp_size;
  const std::int64_t by_threads = warps_per_sm / warps;
  const std::int64_t by_blocks = limits.max_blocks_per_sm;

  // A warp lives in one sub-partition and takes its registers there, so what one partition has left over
  // is of no use to a warp in another.
  std::int64_t by_registers = no_limit;
  if (const std::int64_t per_warp = registers_per_warp(limits, resources); per_warp > 0) {
    const std::int64_t warps_per_partition = limits.registers_per_sm / limits.sub_partitions_per_sm / per_warp;
    by_registers = warps_per_partition * limits.sub_partitions_per_sm / warps;
  }

  std::int64_t by_shared = no_limit;
  const std::int64_t shared =
      round_up(resources.static_shared_bytes + resources.dynamic_shared_bytes + limits.reserved_shared_bytes_per_block,
               limits.shared_allocation_unit_bytes);
  if (shared > 0) by_shared = limits.shared_bytes_per_sm / shared;

  const std::int64_t active = std::min({by_threads, by_blocks, by_registers, by_shared});
  Occupancy result;
  result.active_blocks_per_sm = static_cast<int>(active);
  result.fraction = static_cast<double>(active * warps) / static_cast<double>(warps_per_sm);
  // Where several limits agree, the one that no register budget can move is named: "registers" promises
  // that fewer of them would let another block in.
  if (active == by_threads) {
    result.limiter = Limiter::threads;
  } else if (active == by_blocks) {
    result.limiter = Limiter::blocks;
  } else if (active == by_shared) {
    result.limiter = Limiter::shared_memory;
  } else {
    result.limiter = Limiter::registers;
  }
  return result;
}

bool min_blocks_ignored(const GpuLimits& limits, const LaunchBounds& bounds) {
  if (bounds.min_blocks_per_sm <= 0) return false;
  const std::int64_t warps = divide_up(std::max(bounds.max_threads_per_block, 1), warp_size);
  return bounds.min_blocks_per_sm > limits.max_blocks_per_sm ||
         warps * bounds.min_blocks_per_sm > limits.max_threads_per_sm / warp_size;
}

int register_ceiling(const GpuLimits& limits, const LaunchBounds& bounds) {
  if (bounds.max_threads_per_block <= 0) return limits.max_registers_per_thread;
  const std::int64_t warps = divide_up(bounds.max_threads_per_block, warp_size);
  // "Value of threads per SM is out of range. .minnctapersm and .maxntid will be ignored": ptxas 13.0 for
  // T = 2048 on sm_120 (1,536 threads per SM) and T = 2049 on sm_90.
  if (warps > limits.max_threads_per_sm / warp_size) return limits.max_registers_per_thread;
  const std::int64_t warps_per_partition =
      divide_up(warps * effective_min_blocks(limits, bounds), limits.sub_partitions_per_sm);
  const std::int64_t registers_per_partition = limits.registers_per_sm / limits.sub_partitions_per_sm;
  const std::int64_t units = registers_per_partition / warps_per_partition / limits.register_allocation_unit;
  // One unit of registers for a warp is this many for each of its threads.
  const std::int64_t per_thread = units * (limits.register_allocation_unit / warp_size);
  return static_cast<int>(std::min<std::int64_t>(per_thread, limits.max_registers_per_thread));
}

}  // namespace regtune
