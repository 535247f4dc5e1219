#include "occupancy_text.hpp"

#include <gtest/gtest.h>

#include "gpu_limits.hpp"

namespace regtune {
namespace {

// On sm_90: 65,536 registers, 2048 threads, 32 blocks and 228 KiB of shared memory for an SM.
TuningRecord record_of(int registers, Dim3 block, int static_shared_bytes = 0) {
  TuningRecord record;
  record.architecture = "sm_90";
  Trial trial;
  trial.shape = {{1024, 1, 1}, block, 0};
  trial.variant.block = block;
  trial.facts.emplace();
  trial.facts->registers_per_thread = registers;
  trial.facts->static_shared_bytes = static_shared_bytes;
  trial.facts->occupancy = occupancy(gpu_limits("sm_90").value(), {registers, static_shared_bytes, 0, 0, 0}, block);
  record.trials.push_back(trial);
  return record;
}

TEST(OccupancyText, SaysHowManyRegistersWouldLetOneMoreBlockFit) {
  const auto texts = about_occupancy(record_of(48, {256, 1, 1}, 4096));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0],
            "occupancy: 48 registers x 256 threads: registers hold it at 5 blocks per SM (62.5 % of its warps)");
  EXPECT_EQ(
      texts[1],
      "what would change it: 40 registers would allow 6; shared memory would allow 45, threads 8, block slots 32");
}

TEST(OccupancyText, SaysWhereNoBudgetHelps) {
  const auto full = about_occupancy(record_of(32, {256, 1, 1}));
  EXPECT_NE(full.at(0).find("the threads of an SM hold it at 8 blocks per SM (100.0 %"), std::string::npos) << full[0];
  EXPECT_NE(full.at(1).find("buy no occupancy"), std::string::npos) << full[1];
  const auto small = about_occupancy(record_of(16, {32, 1, 1}));
  EXPECT_NE(small.at(0).find("the block slots of an SM hold it at 32 blocks"), std::string::npos) << small[0];
  EXPECT_NE(small.at(1).find("larger blocks"), std::string::npos) << small[1];
  const auto shared = about_occupancy(record_of(32, {128, 1, 1}, 40000));
  EXPECT_NE(shared.at(0).find("its 40000 bytes of shared memory hold it at 5 blocks"), std::string::npos) << shared[0];
  EXPECT_NE(shared.at(1).find("bytes of shared memory per block would allow 6"), std::string::npos) << shared[1];
}

TEST(OccupancyText, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_TRUE(about_occupancy({}).empty());
  TuningRecord record = record_of(48, {256, 1, 1});
  record.architecture = "sm_1";
  EXPECT_TRUE(about_occupancy(record).empty());
  record = record_of(48, {256, 1, 1});
  record.trials.front().facts->occupancy.reset();
  EXPECT_TRUE(about_occupancy(record).empty());
}

}  // namespace
}  // namespace regtune
