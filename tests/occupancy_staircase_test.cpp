#include "occupancy_staircase.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

GpuLimits hopper() {
  return gpu_limits(9, 0).value();
}

TEST(OccupancyStaircase, HasTheStepsOfTheFormula) {
  const Staircase stairs = occupancy_staircase(hopper(), {256, 1, 1}, 0, 0);
  EXPECT_EQ(stairs.warps_per_sm, 64);
  std::vector<std::pair<int, int>> to_blocks;
  for (const Step& step : stairs.steps) to_blocks.emplace_back(step.to_registers, step.occupancy.active_blocks_per_sm);
  EXPECT_EQ(to_blocks,
            (std::vector<std::pair<int, int>>{{32, 8}, {40, 6}, {48, 5}, {64, 4}, {80, 3}, {128, 2}, {255, 1}}));
  int next = 1;
  for (const Step& step : stairs.steps) {
    EXPECT_EQ(step.from_registers, next) << "no number of registers is left out, or in two steps";
    next = step.to_registers + 1;
    for (int registers = step.from_registers; registers <= step.to_registers; ++registers)
      EXPECT_EQ(occupancy(hopper(), {registers, 0, 0, 0, 0}, {256, 1, 1}), step.occupancy);
  }
}

TEST(OccupancyStaircase, EndsWhereABlockNoLongerFits) {
  const Staircase stairs = occupancy_staircase(hopper(), {1024, 1, 1}, 0, 0);
  ASSERT_FALSE(stairs.steps.empty());
  EXPECT_EQ(stairs.steps.back().to_registers, 64) << "65,536 registers for 1024 threads";
}

TEST(OccupancyStaircase, SaysWhatTheNextStepIs) {
  const Staircase stairs = occupancy_staircase(hopper(), {256, 1, 1}, 0, 0);
  EXPECT_EQ(about_step(stairs, 67),
            "at 67 registers 3 blocks of 256 threads fit on an SM (37.5 % of its warps); 64 or fewer would let 4 in "
            "(50 %)");
  EXPECT_EQ(
      about_step(stairs, 20),
      "at 20 registers 8 blocks of 256 threads fit on an SM (100 % of its warps); threads limit that: fewer registers "
      "change nothing");
  const Staircase shared = occupancy_staircase(hopper(), {256, 1, 1}, 0, 100000);
  EXPECT_NE(about_step(shared, 32).find("2 blocks of 256 threads fit"), std::string::npos) << about_step(shared, 32);
  EXPECT_NE(about_step(shared, 32).find("shared memory limits that"), std::string::npos) << about_step(shared, 32);
  EXPECT_EQ(about_step(stairs, 300), "");
}

TEST(OccupancyStaircase, ALimitThatIsNoneGivesNoSteps) {
  EXPECT_TRUE(occupancy_staircase({}, {256, 1, 1}, 0, 0).steps.empty());
  GpuLimits hostile = hopper();
  for (int* field : {&hostile.register_allocation_unit, &hostile.sub_partitions_per_sm,
                     &hostile.shared_allocation_unit_bytes, &hostile.registers_per_sm}) {
    const int before = *field;
    for (const int value : {0, -1}) {
      *field = value;
      EXPECT_TRUE(occupancy_staircase(hostile, {256, 1, 1}, 0, 0).steps.empty());
    }
    *field = before;
  }
  EXPECT_TRUE(occupancy_staircase(hopper(), {256, 1, 1}, INT64_MAX, INT64_MAX).steps.empty());
}

TEST(OccupancyStaircase, TakesTheArchitecturesLimitsWhereNoGpuIsKnown) {
  TuningRecord record;
  record.architecture = "sm_90";
  EXPECT_EQ(limits_of(record).max_threads_per_sm, 2048);
  record.gpu.emplace();
  EXPECT_EQ(limits_of(record).max_threads_per_sm, 2048) << "a GPU without limits says nothing";
  record.architecture = "of nobody";
  EXPECT_EQ(limits_of(record).max_threads_per_sm, 0);
}

}  // namespace
}  // namespace regtune
