// The referee of the benchmark on a GPU made of numbers: what it stops timing is never the best, and what it says that
// others cost is what they cost.
#include "exhaustive.hpp"

#include <gtest/gtest.h>

#include "fake_bench.hpp"

namespace regtune {
namespace {

constexpr int kRounds = 200;
constexpr int kFewest = 30;

std::vector<TimedCode> codes_of(const std::map<int, FakeCode>& landscape) {
  std::vector<TimedCode> codes;
  for (const auto& [id, code] : landscape) codes.push_back({{id, "k", "", {}}, std::to_string(id), ""});
  return codes;
}

TEST(Exhaustive, TimesInAllRoundsWhatCanBeTheBestAndStopsTheOthers) {
  const std::map<int, FakeCode> landscape{{0, {1.0}}, {1, {0.9}}, {2, {10}}, {3, {0.95}}, {4, {0.9002}}};
  FakeBench bench(landscape, {}, 1);
  std::vector<TimedCode> codes = codes_of(landscape);
  EXPECT_EQ(time_exhaustively(bench, codes, kRounds, kFewest, {}).rounds, kRounds);
  EXPECT_EQ(codes[0].samples.size(), 200u) << "what the others are compared with";
  EXPECT_EQ(codes[1].samples.size(), 200u);
  EXPECT_EQ(codes[2].samples.size(), 2u);
  EXPECT_EQ(codes[3].samples.size(), 10u);
  EXPECT_EQ(codes[4].samples.size(), 200u);
  EXPECT_NEAR(codes[1].ratio, 0.9, 0.0005);
  EXPECT_NEAR(codes[3].ratio, 0.95, 0.002);
}

TEST(Exhaustive, TimesTheRecommendedCodeToTheEnd) {
  const std::map<int, FakeCode> landscape{{0, {1.0}}, {1, {0.9}}, {2, {1.5}}};
  FakeBench bench(landscape, {}, 1);
  std::vector<TimedCode> codes = codes_of(landscape);
  codes[2].to_the_end = true;
  time_exhaustively(bench, codes, kRounds, kFewest, {});
  EXPECT_EQ(codes[2].samples.size(), 200u);
  EXPECT_NEAR(codes[2].ratio, 1.5, 0.001);
}

TEST(Exhaustive, NeverStopsTheBest) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::map<int, FakeCode> landscape{{0, {1.0, 0.01, 0.02}}, {1, {0.99, 0.01, 0.02}}};
    for (int id = 2; id < 20; ++id) landscape[id] = {1.0, 0.01, 0.02};
    FakeBench bench(landscape, {0.05, 0.02}, seed);
    std::vector<TimedCode> codes = codes_of(landscape);
    time_exhaustively(bench, codes, kRounds, kFewest, {});
    EXPECT_EQ(codes[1].samples.size(), 200u) << "seed " << seed;
  }
}

TEST(Exhaustive, TakesOutWhatGivesAWrongResult) {
  std::map<int, FakeCode> landscape{{0, {1.0}}, {1, {0.5}}};
  landscape[1].at_check = WrongResult{"out[3]"};
  FakeBench bench(landscape, {}, 1);
  std::vector<TimedCode> codes = codes_of(landscape);
  time_exhaustively(bench, codes, kRounds, kFewest, {});
  ASSERT_EQ(codes.size(), 1u);
  EXPECT_EQ(codes[0].candidate.id, 0);
}

TEST(Exhaustive, SaysWhatItWouldHaveNeeded) {
  const std::map<int, FakeCode> landscape{{0, {1.0}}, {1, {0.9}}};
  FakeBench bench(landscape, {}, 1);
  std::vector<TimedCode> codes = codes_of(landscape);
  const ExhaustiveTiming timing = time_exhaustively(bench, codes, kRounds, kFewest, after_ms(0));
  EXPECT_LT(timing.rounds, kFewest);
  EXPECT_GT(timing.needed_s, 0);
}

TEST(Exhaustive, CountsFiveRoundsOfTheSlowAndAllOfTheOthers) {
  const std::map<int, FakeCode> landscape{{0, {1.0}}, {1, {1.2}}, {2, {2.0}}};
  FakeGpu gpu;
  gpu.launches_per_sample = 3;
  FakeBench bench(landscape, gpu, 1);
  std::vector<TimedCode> codes = codes_of(landscape);
  ExhaustiveTiming timing = time_exhaustively(bench, codes, kFewest, kFewest, {});
  timing.warm_up_s = 0.5;
  EXPECT_NEAR(referee_seconds(codes, timing, kRounds), 0.5 + 3 * (0.2 + 0.24 + 0.01), 0.01);
}

}  // namespace
}  // namespace regtune
