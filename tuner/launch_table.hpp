#pragma once
// What a watched program launches, counted in memory that it shares with regtune: a program that ends by _exit or is
// killed leaves its counts behind. One entry for each kernel and shape; the program alone writes, entry by entry, and
// regtune reads at any time. Plain values of fixed size, so that both sides agree on the layout.
#include <atomic>
#include <cstdint>

namespace regtune {

struct LaunchEntry {
  std::uint32_t kernel = 0;  // the number under which the program told it
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t is_cooperative = 0;
  std::uint32_t other_shapes = 0;            // all launches of the kernel for whose shapes there was no room
  std::atomic<std::uint64_t> launches = 0;   // by themselves
  std::atomic<std::uint64_t> in_graphs = 0;  // as nodes of graphs, which are not timed
  std::atomic<std::uint64_t> timed = 0;      // of `launches` with the program's own code
  std::atomic<std::uint64_t> timed_ns = 0;   // that these took
  std::atomic<std::uint64_t> replaced = 0;   // of `launches`: made with tuned code, and timed apart
  std::atomic<std::uint64_t> replaced_timed = 0;
  std::atomic<std::uint64_t> replaced_timed_ns = 0;
};

struct LaunchTable {
  static constexpr std::uint32_t kCapacity = 16384;
  std::atomic<std::uint32_t> used = 0;  // entries before it are whole
  LaunchEntry entries[kCapacity];
};

}  // namespace regtune
