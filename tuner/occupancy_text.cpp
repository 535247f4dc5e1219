#include "occupancy_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "gpu_limits.hpp"
#include "occupancy.hpp"

namespace regtune {
namespace {

constexpr int kFewestRegisters = 16;

struct Kernel {
  GpuLimits limits;
  BlockResources resources;
  Dim3 block;
};

// Without the bounds that were compiled in: what is asked is how many blocks would fit, and not whether this code is
// allowed to be launched so.
Kernel kernel_of(const Trial& trial, const GpuLimits& limits) {
  const StaticFacts& facts = trial.facts.value();
  return {limits,
          {facts.registers_per_thread, facts.static_shared_bytes, trial.shape.dynamic_shared_bytes, 0, 0},
          trial.shape.block};
}

int blocks_of(const Kernel& kernel) {
  if (why_not_launchable(kernel.limits, kernel.resources, kernel.block)) return 0;
  return occupancy(kernel.limits, kernel.resources, kernel.block).active_blocks_per_sm;
}

std::string spell_blocks(int blocks) {
  return fmt::format("{} {}", blocks, blocks == 1 ? "block" : "blocks");
}

// The most registers per thread with which more blocks fit; empty: no number does.
std::optional<int> registers_for_more(Kernel kernel, int blocks) {
  for (int registers = kernel.resources.registers_per_thread - 1; registers >= kFewestRegisters; --registers) {
    kernel.resources.registers_per_thread = registers;
    if (blocks_of(kernel) > blocks) return registers;
  }
  return {};
}

std::optional<std::int64_t> shared_bytes_for_more(Kernel kernel, int blocks) {
  const std::int64_t now = kernel.resources.static_shared_bytes + kernel.resources.dynamic_shared_bytes;
  kernel.resources.dynamic_shared_bytes = 0;
  std::int64_t low = -1;  // with so many more blocks fit; -1: with none
  std::int64_t high = now;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    kernel.resources.static_shared_bytes = middle;
    (blocks_of(kernel) > blocks ? low : high) = middle;
  }
  if (low < 0) return {};
  return low;
}

// How many blocks fit by each resource alone.
struct ByResource {
  int registers = 0;
  int shared_memory = 0;
  int threads = 0;
  int blocks = 0;
};

ByResource by_resource(const Kernel& kernel) {
  ByResource by;
  Kernel alone = kernel;
  alone.limits.max_threads_per_sm = 1 << 24;
  alone.limits.max_blocks_per_sm = 1 << 16;
  alone.resources.static_shared_bytes = alone.resources.dynamic_shared_bytes = 0;
  alone.limits.reserved_shared_bytes_per_block = 0;
  by.registers = blocks_of(alone);
  alone = kernel;
  alone.limits.max_threads_per_sm = 1 << 24;
  alone.limits.max_blocks_per_sm = 1 << 16;
  alone.resources.registers_per_thread = 0;
  by.shared_memory = blocks_of(alone);
  by.threads = kernel.limits.max_threads_per_sm / 32 / (static_cast<int>(kernel.block.volume() + 31) / 32);
  by.blocks = kernel.limits.max_blocks_per_sm;
  return by;
}

// What the other resources would allow: "threads would allow 8, block slots 32".
std::string spell_others(const Kernel& kernel, Limiter limiter) {
  const ByResource by = by_resource(kernel);
  const bool uses_shared = kernel.resources.static_shared_bytes + kernel.resources.dynamic_shared_bytes > 0;
  std::vector<std::string> others;
  const auto add = [&](const char* name, int blocks) {
    others.push_back(fmt::format("{}{} {}", name, others.empty() ? " would allow" : "", blocks));
  };
  if (limiter != Limiter::registers) add("registers", by.registers);
  if (limiter != Limiter::shared_memory && uses_shared) add("shared memory", by.shared_memory);
  if (limiter != Limiter::threads) add("threads", by.threads);
  if (limiter != Limiter::blocks) add("block slots", by.blocks);
  return fmt::format("{}", fmt::join(others, ", "));
}

std::string what_would_change_it(const Kernel& kernel, const Occupancy& now) {
  const int blocks = now.active_blocks_per_sm;
  Kernel changed = kernel;
  switch (now.limiter) {
    case Limiter::registers: {
      const std::optional<int> registers = registers_for_more(kernel, blocks);
      if (!registers) return "no fewer registers would let another block fit";
      changed.resources.registers_per_thread = *registers;
      return fmt::format("{} registers would allow {}", *registers, blocks_of(changed));
    }
    case Limiter::shared_memory: {
      const std::optional<std::int64_t> bytes = shared_bytes_for_more(kernel, blocks);
      if (!bytes) return "no smaller use of shared memory would let another block fit";
      changed.resources.static_shared_bytes = *bytes;
      changed.resources.dynamic_shared_bytes = 0;
      return fmt::format("{} bytes of shared memory per block would allow {}, and no register budget does", *bytes,
                         blocks_of(changed));
    }
    case Limiter::threads:
      return now.fraction >= 1 ? "no more warps fit, so registers that are saved buy no occupancy"
                               : "another block size would fill the SM; no register budget does";
    case Limiter::blocks:
      return "larger blocks would hold more warps; no register budget does";
  }
  return "";
}

std::string spell_limiter(const Kernel& kernel, Limiter limiter) {
  const std::int64_t shared = kernel.resources.static_shared_bytes + kernel.resources.dynamic_shared_bytes;
  switch (limiter) {
    case Limiter::registers:
      return "registers hold";
    case Limiter::shared_memory:
      return fmt::format("its {} bytes of shared memory hold", shared);
    case Limiter::threads:
      return "the threads of an SM hold";
    case Limiter::blocks:
      return "the block slots of an SM hold";
  }
  return "";
}

}  // namespace

std::vector<std::string> about_occupancy(const TuningRecord& record) {
  if (record.trials.empty() || !record.trials.front().facts || !record.trials.front().facts->occupancy) return {};
  const std::optional<GpuLimits> limits =
      record.gpu ? std::optional(record.gpu->limits) : gpu_limits(record.architecture);
  if (!limits) return {};
  const Trial& author = record.trials.front();
  const Kernel kernel = kernel_of(author, *limits);
  if (blocks_of(kernel) == 0) return {};
  const Occupancy now = occupancy(kernel.limits, kernel.resources, kernel.block);
  return {fmt::format("occupancy: {} registers x {} threads: {} it at {} per SM ({:.1f} % of its warps)",
                      kernel.resources.registers_per_thread, kernel.block.volume(), spell_limiter(kernel, now.limiter),
                      spell_blocks(now.active_blocks_per_sm), now.fraction * 100),
          fmt::format("what would change it: {}; {}", what_would_change_it(kernel, now),
                      spell_others(kernel, now.limiter))};
}

}  // namespace regtune
