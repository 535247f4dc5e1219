// Compares the rules of occupancy.cpp with the toolkit's own calculator, which stays the reference. It is
// included from the user's toolkit and never copied.
#include "occupancy.hpp"

#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <climits>
#include <set>

#include "record.hpp"

namespace regtune {
namespace {

cudaOccDeviceProp device_of(const GpuLimits& limits) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.compute_major;
  device.computeMinor = limits.compute_minor;
  device.maxThreadsPerBlock = limits.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = limits.max_threads_per_sm;
  device.regsPerBlock = limits.registers_per_block;
  device.regsPerMultiprocessor = limits.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = static_cast<std::size_t>(limits.shared_bytes_per_block);
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared_bytes_per_sm);
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.shared_bytes_per_block_optin);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.reserved_shared_bytes_per_block);
  return device;
}

cudaOccResult reference(const GpuLimits& limits, const BlockResources& resources, int threads) {
  const cudaOccDeviceProp device = device_of(limits);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX;
  function.numRegs = resources.registers_per_thread;
  function.sharedSizeBytes = static_cast<std::size_t>(resources.static_shared_bytes);
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(resources.dynamic_shared_bytes);
  function.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  EXPECT_EQ(CUDA_OCC_SUCCESS,
            cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads,
                                                    static_cast<std::size_t>(resources.dynamic_shared_bytes)));
  return result;
}

// The reference names every limit that agrees; ours names the first of these.
Limiter reference_limiter(unsigned factors) {
  if (factors & OCC_LIMIT_WARPS) return Limiter::threads;
  if (factors & OCC_LIMIT_BLOCKS) return Limiter::blocks;
  if (factors & OCC_LIMIT_SHARED_MEMORY) return Limiter::shared_memory;
  return Limiter::registers;
}

// True when every block size and every amount of shared memory agree; stops at the first that does not.
testing::AssertionResult agrees(const GpuLimits& limits, int registers, const std::vector<int>& block_sizes,
                                const std::vector<std::pair<int, int>>& shared) {
  for (const int threads : block_sizes) {
    for (const auto& [fixed, dynamic] : shared) {
      BlockResources resources;
      resources.registers_per_thread = registers;
      resources.static_shared_bytes = fixed;
      resources.dynamic_shared_bytes = dynamic;
      const Dim3 block{static_cast<unsigned>(threads), 1, 1};
      const cudaOccResult expected = reference(limits, resources, threads);
      const auto reason = why_not_launchable(limits, resources, block);
      const auto where = [&] {
        return testing::AssertionFailure() << limits.compute_major << "." << limits.compute_minor << " registers "
                                           << registers << " threads " << threads << " shared " << fixed << "+"
                                           << dynamic << " expected " << expected.activeBlocksPerMultiprocessor << ": ";
      };
      if (reason.has_value() != (expected.activeBlocksPerMultiprocessor == 0)) return where() << reason.value_or("-");
      if (reason) continue;
      const Occupancy got = occupancy(limits, resources, block);
      if (got.active_blocks_per_sm != expected.activeBlocksPerMultiprocessor)
        return where() << got.active_blocks_per_sm;
      if (got.limiter != reference_limiter(expected.limitingFactors)) return where() << to_string(got.limiter);
    }
  }
  return testing::AssertionSuccess();
}

GpuLimits limits_of(int major, int minor) {
  const auto limits = gpu_limits(major, minor);
  EXPECT_TRUE(limits.has_value()) << major << "." << minor;
  return limits.value_or(GpuLimits{});
}

TEST(Occupancy, AgreesWithTheToolkitOnEveryArchitecture) {
  std::vector<int> block_sizes = {1, 31, 33, 50, 100, 127, 200, 257, 333, 500, 545, 700, 999, 1023};
  for (int threads = 32; threads <= 1024; threads += 32) block_sizes.push_back(threads);
  const std::vector<std::pair<int, int>> shared = {
      {0, 0},         {1, 0},         {1024, 127},        {4096, 4096},        {16384, 8192},
      {49152, 0},     {49152, 16384}, {0, 65536},         {0, 65537},          {0, 96 * 1024},
      {0, 99 * 1024}, {1, 99 * 1024}, {1024, 162 * 1024}, {0, 163 * 1024 + 1}, {0, 227 * 1024},
  };
  for (const auto& [major, minor] : known_compute_capabilities()) {
    const GpuLimits limits = limits_of(major, minor);
    for (int registers = 16; registers <= 255; ++registers) {
      ASSERT_TRUE(agrees(limits, registers, block_sizes, shared));
    }
  }
}

TEST(Occupancy, NoRegistersAndNoSharedMemoryLimitNothing) {
  const Occupancy got = occupancy(limits_of(7, 5), BlockResources{}, Dim3{32, 1, 1});
  EXPECT_EQ(got.active_blocks_per_sm, 16);
  EXPECT_EQ(got.limiter, Limiter::blocks);
  EXPECT_DOUBLE_EQ(got.fraction, 0.5);
}

TEST(Occupancy, FractionCountsWarpsNotThreads) {
  // 48 threads take two warps: 16 blocks of sm_86 hold 32 of its 48.
  const Occupancy got = occupancy(limits_of(8, 6), {.registers_per_thread = 32}, Dim3{48, 1, 1});
  EXPECT_EQ(got.active_blocks_per_sm, 16);
  EXPECT_DOUBLE_EQ(got.fraction, 32.0 / 48.0);
}

TEST(Occupancy, NamesRegistersOnlyWhereFewerWouldHelp) {
  const GpuLimits hopper = limits_of(9, 0);
  EXPECT_EQ(occupancy(hopper, {.registers_per_thread = 56}, Dim3{256, 1, 1}).limiter, Limiter::registers);
  // 32 registers let exactly the 2,048 threads in that the SM holds anyway.
  EXPECT_EQ(occupancy(hopper, {.registers_per_thread = 32}, Dim3{256, 1, 1}).limiter, Limiter::threads);
}

TEST(Occupancy, CountsAllDimensionsOfTheBlock) {
  const BlockResources resources{.registers_per_thread = 40};
  EXPECT_EQ(occupancy(limits_of(9, 0), resources, Dim3{16, 8, 4}),
            occupancy(limits_of(9, 0), resources, Dim3{512, 1, 1}));
}

TEST(Launchable, SaysWhichResourceFailsAndByHowMuch) {
  const GpuLimits hopper = limits_of(9, 0);
  EXPECT_EQ(why_not_launchable(hopper, {.registers_per_thread = 96}, Dim3{1024, 1, 1}),
            "1,024 threads x 96 registers need 98,304 registers per block; this GPU has 65,536");
  EXPECT_EQ(why_not_launchable(hopper, {.registers_per_thread = 65}, Dim3{1000, 1, 1}),
            "1,000 threads x 65 registers need 73,728 registers per block (allocated 256 at a time to each warp, and "
            "to warps in fours); this GPU has 65,536");
  EXPECT_EQ(why_not_launchable(hopper, {.registers_per_thread = 32}, Dim3{64, 32, 1}),
            "a block of 64x32x1 has 2,048 threads; this GPU takes at most 1,024");
  EXPECT_EQ(why_not_launchable(hopper, {.registers_per_thread = 32, .max_threads_per_block = 256}, Dim3{257, 1, 1}),
            "the code was compiled for at most 256 threads per block; this block has 257");
  EXPECT_EQ(
      why_not_launchable(hopper, {.registers_per_thread = 32, .required_threads_per_block = 256}, Dim3{128, 1, 1}),
      "the code was compiled for blocks of exactly 256 threads; this block has 128");
  EXPECT_EQ(why_not_launchable(
                hopper, {.registers_per_thread = 32, .static_shared_bytes = 1024, .dynamic_shared_bytes = 232448},
                Dim3{128, 1, 1}),
            "a block needs 1,024 bytes of static and 232,448 bytes of dynamic shared memory; this GPU gives a block at "
            "most 232,448");
}

TEST(Launchable, RefusesHostileShapesWithoutOverflow) {
  const GpuLimits hopper = limits_of(9, 0);
  const BlockResources plain{.registers_per_thread = 32};
  EXPECT_TRUE(why_not_launchable(hopper, plain, Dim3{0, 1, 1}));
  EXPECT_TRUE(why_not_launchable(hopper, plain, Dim3{1, 1, 65}));
  EXPECT_TRUE(why_not_launchable(hopper, plain, Dim3{UINT_MAX, UINT_MAX, UINT_MAX}));
  EXPECT_TRUE(why_not_launchable(hopper, {.dynamic_shared_bytes = INT64_MAX}, Dim3{32, 1, 1}));
  EXPECT_TRUE(
      why_not_launchable(hopper, {.static_shared_bytes = 1, .dynamic_shared_bytes = INT64_MAX}, Dim3{32, 1, 1}));
  EXPECT_TRUE(why_not_launchable(hopper, {.dynamic_shared_bytes = -1}, Dim3{32, 1, 1}));
  EXPECT_TRUE(why_not_launchable(hopper, {.registers_per_thread = INT_MAX}, Dim3{32, 1, 1}));
}

TEST(RegisterCeiling, FollowsTheFormulaMeasuredWithPtxas) {
  const GpuLimits hopper = limits_of(9, 0);
  EXPECT_EQ(register_ceiling(hopper, {256, 0}), 255);
  EXPECT_EQ(register_ceiling(hopper, {256, 1}), 255);
  EXPECT_EQ(register_ceiling(hopper, {256, 2}), 128);
  EXPECT_EQ(register_ceiling(hopper, {256, 3}), 80);
  EXPECT_EQ(register_ceiling(hopper, {256, 8}), 32);
  EXPECT_EQ(register_ceiling(hopper, {1024, 0}), 64);
  EXPECT_EQ(register_ceiling(hopper, {2048, 0}), 32);
  EXPECT_EQ(register_ceiling(hopper, {2049, 0}), 255);
  EXPECT_EQ(register_ceiling(limits_of(12, 0), {2048, 0}), 255);
  EXPECT_EQ(register_ceiling(hopper, {INT_MAX, INT_MAX}), 255);
  EXPECT_EQ(register_ceiling(hopper, {0, 0}), 255);
}

TEST(RegisterCeiling, IgnoresMinBlocksThatDoNotFit) {
  EXPECT_FALSE(min_blocks_ignored(limits_of(9, 0), {1024, 2}));
  EXPECT_EQ(register_ceiling(limits_of(9, 0), {1024, 2}), 32);
  EXPECT_TRUE(min_blocks_ignored(limits_of(12, 0), {1024, 2}));
  EXPECT_EQ(register_ceiling(limits_of(12, 0), {1024, 2}), 64);
  EXPECT_TRUE(min_blocks_ignored(limits_of(8, 6), {32, 17}));
  EXPECT_TRUE(min_blocks_ignored(limits_of(9, 0), {32, INT_MAX}));
}

TEST(RegisterCeiling, IsTheMostRegistersThatStillHoldTheBlocks) {
  for (const auto& [major, minor] : known_compute_capabilities()) {
    if (major * 10 + minor < 75) continue;
    const GpuLimits limits = limits_of(major, minor);
    for (int threads = 32; threads <= 1024; threads += 32) {
      for (int blocks = 1; blocks <= limits.max_blocks_per_sm; ++blocks) {
        const LaunchBounds bounds{threads, blocks};
        if (min_blocks_ignored(limits, bounds)) continue;
        const int ceiling = register_ceiling(limits, bounds);
        const Dim3 block{static_cast<unsigned>(threads), 1, 1};
        BlockResources resources{.registers_per_thread = ceiling};
        ASSERT_FALSE(why_not_launchable(limits, resources, block));
        ASSERT_GE(occupancy(limits, resources, block).active_blocks_per_sm, blocks) << threads;
        if (ceiling == limits.max_registers_per_thread) continue;
        resources.registers_per_thread = ceiling + 1;
        ASSERT_TRUE(why_not_launchable(limits, resources, block) ||
                    occupancy(limits, resources, block).active_blocks_per_sm < blocks)
            << major << "." << minor << " " << threads << " " << blocks;
      }
    }
  }
}

TEST(GpuLimits, UnderstandsTargetsAndRefusesTheRest) {
  EXPECT_EQ(gpu_limits("sm_90")->max_threads_per_sm, 2048);
  EXPECT_EQ(gpu_limits("sm_90a")->compute_major, 9);
  EXPECT_EQ(gpu_limits("sm_103f")->compute_minor, 3);
  EXPECT_EQ(gpu_limits("sm_120")->compute_major, 12);
  for (const char* bad : {"", "sm_", "sm_9", "90", "sm_90b", "sm_90f", "sm_86a", "sm_90aa", "sm_-90", "sm_ 90",
                          "sm_99999999999", "sm_91", "compute_90"}) {
    EXPECT_FALSE(gpu_limits(std::string_view(bad))) << bad;
  }
}

TEST(GpuLimits, KnowsEveryTargetOfNvrtc13) {
  std::set<std::pair<int, int>> known;
  for (const auto& capability : known_compute_capabilities()) known.insert(capability);
  EXPECT_EQ(known.size(), known_compute_capabilities().size());
  for (const int sm : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    EXPECT_TRUE(known.contains({sm / 10, sm % 10})) << sm;
  }
}

TEST(Record, NamesSurviveTheRoundTrip) {
  for (const auto status : {BudgetStatus::not_asked, BudgetStatus::in_force, BudgetStatus::clamped, BudgetStatus::inert,
                            BudgetStatus::overridden}) {
    EXPECT_EQ(budget_status_from_string(to_string(status)), status);
  }
  for (const auto kind : {Verdict::Kind::improved, Verdict::Kind::no_gain, Verdict::Kind::inconclusive}) {
    EXPECT_EQ(verdict_kind_from_string(to_string(kind)), kind);
  }
  for (const auto limiter : {Limiter::registers, Limiter::shared_memory, Limiter::threads, Limiter::blocks}) {
    EXPECT_EQ(limiter_from_string(to_string(limiter)), limiter);
  }
  EXPECT_FALSE(budget_status_from_string("In force"));
  EXPECT_FALSE(verdict_kind_from_string(""));
  EXPECT_FALSE(limiter_from_string("warps"));
}

}  // namespace
}  // namespace regtune
