#include "statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>

namespace regtune {
namespace {

// 1, 2, ..., n, so that a value is its own rank. Shuffled: order must not matter.
std::vector<double> ranks(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  std::mt19937 random(1);
  std::shuffle(values.begin(), values.end(), random);
  return values;
}

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({5, 5, 5, 1000}), 5);
  EXPECT_EQ(median(ranks(1001)), 501);
  EXPECT_EQ(median(ranks(1000)), 500.5);
}

// Ranks from the sums of binomial coefficients, done with exact integers outside this program:
// n = 20: P(X <= 5) = 21,700 / 2^20 = 0.0207 <= 0.025 < P(X <= 6) = 0.0577, hence [x_(6), x_(15)].
TEST(Statistics, IntervalLiesBetweenTheOrderStatisticsOfTheBinomial) {
  struct Case {
    int n;
    double confidence;
    double low;
  };
  for (const Case& c : {Case{10, 0.95, 2}, Case{10, 0.99, 1}, Case{20, 0.90, 6}, Case{20, 0.95, 6}, Case{20, 0.99, 4},
                        Case{100, 0.90, 42}, Case{100, 0.95, 40}, Case{100, 0.99, 37}, Case{200, 0.95, 86},
                        Case{200, 0.99, 82}, Case{1000, 0.90, 474}, Case{1000, 0.95, 469}, Case{1000, 0.99, 459}}) {
    const Interval interval = median_interval(ranks(c.n), c.confidence);
    EXPECT_EQ(interval.low, c.low) << c.n << " at " << c.confidence;
    EXPECT_EQ(interval.high, c.n + 1 - c.low) << c.n << " at " << c.confidence;
    EXPECT_EQ(interval.median, (c.n + 1) / 2.0);
  }
}

TEST(Statistics, TooFewSamplesGiveTheWholeRange) {
  EXPECT_EQ(median_interval({5}, 0.99), (Interval{5, 5, 5}));
  EXPECT_EQ(median_interval({2, 1}, 0.99), (Interval{1, 1.5, 2}));
  for (int n = 3; n <= 7; ++n) EXPECT_EQ(median_interval(ranks(n), 0.99).low, 1) << n;
  EXPECT_DOUBLE_EQ(range_coverage(1), 0);
  EXPECT_DOUBLE_EQ(range_coverage(2), 0.5);
  EXPECT_DOUBLE_EQ(range_coverage(7), 1 - 1.0 / 64);
  EXPECT_LT(range_coverage(7), 0.99);
  EXPECT_GE(range_coverage(8), 0.99);
}

TEST(Statistics, IntervalHoldsItsMedianForManySamples) {
  // 2^-n underflows from n = 1075 on: the interval must not become the whole range there.
  const Interval interval = median_interval(ranks(20000), 0.99);
  EXPECT_LT(interval.low, interval.median);
  EXPECT_LT(interval.median, interval.high);
  EXPECT_NEAR(interval.high - interval.low, 2.5758 * std::sqrt(20000.0), 3);
}

TEST(Statistics, ShiftMovesTheIntervalAndNothingElse) {
  std::vector<double> values = ranks(41);
  const Interval before = median_interval(values, 0.95);
  for (double& value : values) value += 100;
  EXPECT_EQ(median_interval(values, 0.95), (Interval{before.low + 100, before.median + 100, before.high + 100}));
}

struct Noise {
  const char* name;
  double true_median;
  std::function<double(std::mt19937&)> draw;
};

class Coverage : public testing::TestWithParam<int> {};

// GPU times are skewed, have two clocks, and now and then an outlier. The interval must cover whatever they are.
TEST_P(Coverage, HoldsForSkewedBimodalAndHeavyTailedNoise) {
  const int n = GetParam();
  constexpr double kConfidence = 0.95;
  constexpr int kRuns = 4000;
  const std::vector<Noise> noises{
      {"skewed", 1, [](std::mt19937& r) { return std::lognormal_distribution<>(0, 1)(r); }},
      {"exponential", std::log(2.0), [](std::mt19937& r) { return std::exponential_distribution<>(1)(r); }},
      // Half at each clock: any value between the humps is a median; the middle is the one.
      {"two humps", 0,
       [](std::mt19937& r) {
         return std::bernoulli_distribution(0.5)(r) ? std::normal_distribution<>(5, 1)(r)
                                                    : std::normal_distribution<>(-5, 1)(r);
       }},
      {"heavy tail", 3, [](std::mt19937& r) { return 3 + std::cauchy_distribution<>(0, 1)(r); }}};
  for (const Noise& noise : noises) {
    std::mt19937 random(static_cast<unsigned>(n));
    int covered = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(noise.draw(random));
      const Interval interval = median_interval(values, kConfidence);
      covered += interval.low <= noise.true_median && noise.true_median <= interval.high;
    }
    // Three standard deviations of a simulation of 4,000 runs: 0.0104.
    EXPECT_GE(covered, static_cast<int>((kConfidence - 0.0104) * kRuns)) << noise.name;
    // An interval that covered always would be no interval; the binomial's steps cost 3 % at the most here.
    EXPECT_LE(covered, static_cast<int>(0.99 * kRuns)) << noise.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Statistics, Coverage, testing::Values(9, 20, 51, 100));

TEST(Statistics, PairsSamplesOfTheSameRound) {
  const std::vector<Sample> slow{{1, 4.0}, {2, 9.0}, {5, 10.0}};
  const std::vector<Sample> fast{{5, 5.0}, {2, 3.0}, {7, 1.0}};
  EXPECT_EQ(paired_ratios(slow, fast), (std::vector<double>{3.0, 2.0}));
  EXPECT_EQ(paired_ratios(fast, slow), (std::vector<double>{0.5, 1.0 / 3}));
}

TEST(Statistics, RoundsWithoutAPartnerGiveNoRatio) {
  EXPECT_TRUE(paired_ratios({}, {}).empty());
  EXPECT_TRUE(paired_ratios(std::vector<Sample>{{1, 1.0}}, std::vector<Sample>{{2, 1.0}}).empty());
  EXPECT_TRUE(paired_ratios(std::vector<Sample>{{1, 1.0}}, std::vector<Sample>{{1, 0.0}}).empty())
      << "no division by 0";
}

TEST(Statistics, PairingCancelsDrift) {
  // The clock falls by a quarter while both run; one is 2 % faster throughout.
  std::vector<Sample> reference, faster;
  for (int round = 0; round < 100; ++round) {
    const double drift = 1 + 0.25 * round / 99;
    reference.push_back({round, drift});
    if (round % 2 == 0) faster.push_back({round, drift / 1.02});
  }
  for (const double ratio : paired_ratios(reference, faster)) EXPECT_NEAR(ratio, 1.02, 1e-12);
}

// What a GPU does to a series of rounds: each factor acts on the sample that is taken next.
struct Machine {
  const char* name;
  double drift = 0;         // the clocks fall by this share while the rounds go on
  double outliers = 0;      // share of samples that take up to three times as long
  double clock_gap = 0;     // of the slow clock
  double clock_switch = 0;  // chance, per sample, that the clock changes
};

class CoverageOfPairs : public testing::TestWithParam<Machine> {};

TEST_P(CoverageOfPairs, HoldsWhateverTheMachineDoes) {
  const Machine machine = GetParam();
  constexpr double kConfidence = 0.95;
  constexpr double kTrueRatio = 0.98;
  constexpr int kRuns = 3000;
  constexpr int kRounds = 45;
  std::mt19937 random(7);
  std::uniform_real_distribution<> chance;
  int covered = 0;
  int covered_unpaired = 0;
  for (int run = 0; run < kRuns; ++run) {
    bool slow = chance(random) < 0.5;
    const auto sample = [&](double ms, int round) {
      if (chance(random) < machine.clock_switch) slow = !slow;
      ms *= 1 + machine.drift * round / kRounds;
      if (slow) ms *= 1 + machine.clock_gap;
      if (chance(random) < machine.outliers) ms *= std::uniform_real_distribution<>(1.1, 3)(random);
      return ms * std::lognormal_distribution<>(0, 0.002)(random);
    };
    std::vector<Sample> reference, code;
    for (int round = 1; round <= kRounds; ++round) {
      // The order within a round is drawn anew, as the race does.
      const bool reference_first = chance(random) < 0.5;
      if (reference_first) reference.push_back({round, sample(1, round)});
      // A code that leaves early: its rounds are the first two thirds.
      if (round <= kRounds * 2 / 3) code.push_back({round, sample(kTrueRatio, round)});
      if (!reference_first) reference.push_back({round, sample(1, round)});
    }
    const Interval paired = median_interval(paired_ratios(code, reference), kConfidence);
    covered += paired.low <= kTrueRatio && kTrueRatio <= paired.high;
    std::vector<double> own, all;
    for (const Sample& s : code) own.push_back(s.ms);
    for (const Sample& s : reference) all.push_back(s.ms);
    const Interval unpaired = median_interval(own, kConfidence);
    covered_unpaired += unpaired.low <= kTrueRatio * median(all) && kTrueRatio * median(all) <= unpaired.high;
  }
  // Three standard deviations of a simulation of 3,000 runs: 0.012.
  EXPECT_GE(covered, static_cast<int>((kConfidence - 0.012) * kRuns));
  EXPECT_LT(covered, kRuns) << "an interval that always covers is no interval";
  if (machine.drift > 0 && machine.clock_gap == 0) {
    EXPECT_LT(covered_unpaired, kRuns / 2) << "without pairing the drift decides: the test could fail";
  }
}

INSTANTIATE_TEST_SUITE_P(Statistics, CoverageOfPairs,
                         testing::Values(Machine{"Quiet"}, Machine{"Drift", 0.15}, Machine{"Outliers", 0, 0.05},
                                         Machine{"TwoClocks", 0, 0, 0.12, 0.05},
                                         Machine{"FlickeringClocks", 0, 0, 0.12, 0.5},
                                         Machine{"AllAtOnce", 0.15, 0.05, 0.12, 0.05}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace regtune
