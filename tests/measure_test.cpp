#include "measure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "fake_bench.hpp"

namespace regtune {
namespace {

// Times of the kind that register budgets give: the low caps spill and are up to ten times slower, the others lie
// within a few percent of each other, without order.
std::map<int, FakeCode> spilling_landscape(int codes, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < codes; ++id) {
    const double place = static_cast<double>(id) / codes;
    const double spilling = id > 1 && place < 0.4 ? 10 - 20 * place : 1;
    FakeCode code;
    code.ms = 2 * spilling * std::uniform_real_distribution<>(1, 1.2)(random);
    code.noise_below = code.noise_above = noise;
    landscape[id] = code;
  }
  landscape[0].ms = 2.3;
  return landscape;
}

double best_ms(const std::map<int, FakeCode>& landscape) {
  return std::min_element(landscape.begin(), landscape.end(),
                          [](const auto& a, const auto& b) { return a.second.ms < b.second.ms; })
      ->second.ms;
}

struct Conditions {
  const char* name;
  FakeGpu gpu;
  double noise;
};

class RaceUnder : public testing::TestWithParam<Conditions> {};

TEST_P(RaceUnder, FindsTheBestWithinTheMarginIn99Of100Replays) {
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const std::vector<RegisterPolicy> policies = usual_policies(60);
    const auto landscape = spilling_landscape(static_cast<int>(policies.size()), GetParam().noise, seed);
    FakeBench bench(landscape, GetParam().gpu, seed);
    Witness witness;
    const SimulatedRun run = run_race(bench, trials_of(policies), witness);
    if (landscape.at(run.verdict.best_id).ms > best_ms(landscape) * 1.005) ++missed;
    EXPECT_LT(bench.spent_ms, 15000) << "seed " << seed;
  }
  EXPECT_LE(missed, 1);
}

TEST_P(RaceUnder, NamesNoWinnerAmongIdenticalCodesIn200Runs) {
  int won = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<RegisterPolicy> policies = usual_policies(12);
    std::map<int, FakeCode> landscape;
    for (int id = 0; id < static_cast<int>(policies.size()); ++id) {
      landscape[id].noise_below = landscape[id].noise_above = GetParam().noise;
    }
    FakeBench bench(landscape, GetParam().gpu, seed);
    Witness witness;
    const Verdict verdict = run_race(bench, trials_of(policies), witness).verdict;
    won += verdict.kind == Verdict::Kind::improved || verdict.best_id != 0 || verdict.best_in_source_id != 0 ? 1 : 0;
  }
  EXPECT_EQ(won, 0);
}

INSTANTIATE_TEST_SUITE_P(Race, RaceUnder,
                         testing::Values(Conditions{"Quiet", {}, 0.0005}, Conditions{"Noise", {}, 0.01},
                                         Conditions{"Drift", {0.1}, 0.001}, Conditions{"Outliers", {0, 0.02}, 0.001},
                                         Conditions{"TwoClocks", {0, 0, 0.12, 0.01}, 0.001},
                                         Conditions{"AllAtOnce", {0.05, 0.01, 0.1, 0.005}, 0.003}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Race, FindsNoWinnerInHeavyNoise) {
  int won = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<RegisterPolicy> policies = usual_policies(10);
    std::map<int, FakeCode> landscape;
    for (int id = 0; id < static_cast<int>(policies.size()); ++id)
      landscape[id].noise_below = landscape[id].noise_above = 0.05;
    FakeBench bench(landscape, {}, seed);
    Witness witness;
    won += run_race(bench, trials_of(policies), witness).verdict.kind == Verdict::Kind::improved ? 1 : 0;
  }
  EXPECT_EQ(won, 0);
}

TEST(Race, KeepsTheBestThatIsSecondOnlyByNoise) {
  // Its time spreads by 3 %, so that it is often behind the quiet one that is truly 2 % slower.
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::map<int, FakeCode> landscape{{0, {1.1}}, {1, {1.0}}, {2, {0.98, 0.03, 0.03}}};
    for (int id = 3; id < 12; ++id) landscape[id] = {1.06};
    FakeBench bench(landscape, {}, seed);
    Witness witness;
    const SimulatedRun run = run_race(bench, trials_of(usual_policies(6)), witness);
    kept += std::holds_alternative<Measurement>(run.result.outcomes.at(2)) ? 1 : 0;
  }
  EXPECT_GE(kept, 99);
}

TEST(Race, SpendsOneLaunchOnASlowCode) {
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < 10; ++id) landscape[id] = {2.0};
  landscape[2].ms = 20;
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(usual_policies(4)), witness);
  EXPECT_EQ(bench.launches.at(2), 1);
  const auto& abandoned = std::get<Abandoned>(run.result.outcomes.at(2));
  EXPECT_NE(abandoned.reason.find("first launch took"), std::string::npos) << abandoned.reason;
  ASSERT_EQ(abandoned.so_far.race.size(), 1u);
  EXPECT_NEAR(abandoned.so_far.time_ms.median, 20, 1);
}

TEST(Race, SamplesAShortSlowCodeOnceMore) {
  // One launch of a few microseconds says too little: the first is cold.
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < 10; ++id) landscape[id] = {0.01};
  landscape[2].ms = 0.1;
  FakeGpu gpu;
  gpu.launches_per_sample = 100;
  FakeBench bench(landscape, gpu, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(usual_policies(4)), witness);
  EXPECT_EQ(bench.launches.at(2), 101);
  EXPECT_EQ(run.result.settings.launches_per_sample, 100);
  EXPECT_TRUE(std::holds_alternative<Abandoned>(run.result.outcomes.at(2)));
}

TEST(Race, GivesEveryEntrantExactlyOneOutcome) {
  const std::vector<RegisterPolicy> policies = usual_policies(40);
  auto landscape = spilling_landscape(static_cast<int>(policies.size()), 0.002, 7);
  landscape[5].at_check = NotLaunchable{"planted"};
  landscape[30].fails_at_sample = 2;
  FakeBench bench(landscape, {}, 7);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(policies), witness);
  ASSERT_EQ(run.result.outcomes.size(), policies.size());
  std::map<int, std::size_t> told;
  for (const auto& [id, outcome] : witness.outcomes) {
    EXPECT_TRUE(told.emplace(id, outcome.index()).second) << "told twice: " << id;
    EXPECT_EQ(outcome.index(), run.result.outcomes.at(id).index());
  }
  EXPECT_EQ(told.size(), policies.size());
  for (const auto& [id, outcome] : run.result.outcomes) EXPECT_FALSE(std::holds_alternative<NotTimed>(outcome));
}

TEST(Race, HoldsTheReferenceInEveryRound) {
  const std::vector<RegisterPolicy> policies = usual_policies(40);
  FakeBench bench(spilling_landscape(static_cast<int>(policies.size()), 0.01, 3), {}, 3);
  Witness witness;
  run_race(bench, trials_of(policies), witness);
  ASSERT_GT(witness.rounds.size(), 15u);
  for (const Witness::Round& round : witness.rounds) EXPECT_TRUE(round.ms.contains(0)) << round.number;
}

TEST(Race, DecidesFromFreshSamplesOnly) {
  const std::vector<RegisterPolicy> policies = usual_policies(40);
  FakeBench bench(spilling_landscape(static_cast<int>(policies.size()), 0.01, 3), {}, 3);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(policies), witness);
  // No race round after the first round of the confirmation, and none of either after the first the other way.
  EXPECT_TRUE(std::is_sorted(witness.rounds.begin(), witness.rounds.end(),
                             [](const auto& a, const auto& b) { return a.phase < b.phase; }));
  ASSERT_TRUE(std::any_of(witness.rounds.begin(), witness.rounds.end(),
                          [](const auto& round) { return round.phase == RacePhase::confirmation; }));
  int finalists = 0;
  for (const auto& [id, outcome] : run.result.outcomes) {
    const auto* measured = std::get_if<Measurement>(&outcome);
    if (!measured) continue;
    ++finalists;
    // Each sample is the one that was told for its phase and round: none is used twice.
    for (const Witness::Round& round : witness.rounds) {
      const auto& samples = round.phase == RacePhase::race           ? measured->race
                            : round.phase == RacePhase::confirmation ? measured->confirmation
                                                                     : measured->other_way;
      const auto found = std::find_if(samples.begin(), samples.end(),
                                      [&](const Sample& sample) { return sample.round == round.number; });
      ASSERT_NE(found, samples.end());
      EXPECT_EQ(found->ms, round.ms.at(id));
    }
    EXPECT_EQ(measured->race.size() + measured->confirmation.size() + measured->other_way.size(),
              witness.rounds.size());
    std::vector<double> confirmed;
    for (const Sample& sample : measured->confirmation) confirmed.push_back(sample.ms);
    std::sort(confirmed.begin(), confirmed.end());
    EXPECT_GE(measured->time_ms.median, confirmed.front());
    EXPECT_LE(measured->time_ms.median, confirmed.back());
    EXPECT_LE(measured->speedup.low, measured->speedup.median);
    EXPECT_LE(measured->speedup.median, measured->speedup.high);
  }
  EXPECT_GE(finalists, 2);
  EXPECT_LE(finalists, 9);
}

TEST(Race, ShufflesTheOrderOfRounds) {
  // The same seed gives the same run, another seed another one.
  const auto times = [](std::uint64_t seed) {
    const std::vector<RegisterPolicy> policies = usual_policies(10);
    FakeBench bench(spilling_landscape(static_cast<int>(policies.size()), 0.01, 3), {}, 3);
    Witness witness;
    MeasureSettings settings;
    settings.seed = seed;
    run_race(bench, trials_of(policies), witness, settings);
    return witness.rounds.front().ms;
  };
  EXPECT_EQ(times(1), times(1));
  EXPECT_NE(times(1), times(2));
}

class RaceOnABudget : public testing::TestWithParam<double> {};

TEST_P(RaceOnABudget, KeepsIt) {
  const std::vector<RegisterPolicy> policies = usual_policies(94);
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < 100; ++id) landscape[id] = {100 + 0.5 * id};
  landscape[0].ms = 130;
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  MeasureSettings settings;
  settings.budget_s = GetParam();
  const SimulatedRun run = run_race(bench, trials_of(policies), witness, settings);
  // A round that has begun is finished.
  EXPECT_LE(bench.spent_ms, settings.budget_s * 1000 + 10 * 130);
  EXPECT_EQ(run.result.outcomes.size(), 100u);
  // Too few rounds for the stated confidence name no winner.
  for (const auto& [id, outcome] : run.result.outcomes)
    if (const auto* measured = std::get_if<Measurement>(&outcome); measured && measured->confirmation.size() < 8) {
      EXPECT_NE(run.verdict.kind, Verdict::Kind::improved);
      EXPECT_NE(run.verdict.kind, Verdict::Kind::no_gain);
    }
}

INSTANTIATE_TEST_SUITE_P(Seconds, RaceOnABudget, testing::Values(0.0, 0.5, 2.0, 5.0, 10.0, 20.0, 60.0));

TEST(Race, NamesTheBestOfASlowKernelOnATightBudget) {
  // 100 codes of a tenth of a second and 30 s: 15 s to look at each once, 6 s to race a few, 9 s to confirm.
  const std::vector<RegisterPolicy> policies = usual_policies(94);
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < 100; ++id) landscape[id] = {100 + 0.5 * id};
  landscape[0].ms = 130;
  landscape[40].ms = 90;
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  MeasureSettings settings;
  settings.budget_s = 30;
  const SimulatedRun run = run_race(bench, trials_of(policies), witness, settings);
  EXPECT_EQ(run.verdict.best_id, 40);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::improved);
  EXPECT_NEAR(run.verdict.speedup.median, 130.0 / 90, 0.01);
  EXPECT_LE(bench.spent_ms, 31000);
}

TEST(Race, HasNothingToDoForAnAuthorAlone) {
  FakeBench bench({{0, {1.0}}}, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of({AuthorsOwn{}}), witness);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::no_gain);
  EXPECT_LT(bench.spent_ms, 100);
}

// A race of these codes; id 0 is the author's.
SimulatedRun race_of(const std::vector<FakeCode>& codes, FakeGpu gpu, MeasureSettings settings = {},
                     FakeBench** keep = nullptr) {
  static std::unique_ptr<FakeBench> bench;
  std::map<int, FakeCode> landscape;
  std::vector<RegisterPolicy> policies{AuthorsOwn{}};
  for (std::size_t id = 0; id < codes.size(); ++id) {
    landscape[static_cast<int>(id)] = codes[id];
    if (id > 0) policies.push_back(RegisterCap{static_cast<int>(40 + id)});
  }
  bench = std::make_unique<FakeBench>(landscape, gpu, 3);
  if (keep) *keep = bench.get();
  Witness witness;
  return run_race(*bench, trials_of(policies), witness, settings);
}

FakeCode code_of(double ms, double cold_ms = 0) {
  FakeCode code{ms};
  code.cold_ms = cold_ms;
  return code;
}

TEST(OtherWay, TellsAWinnerThatLosesWithAColdCache) {
  FakeBench* bench = nullptr;
  const SimulatedRun run = race_of({code_of(1.0, 1.5), code_of(0.9, 1.7), code_of(0.9005, 1.3)}, {}, {}, &bench);
  ASSERT_EQ(run.verdict.best_id, 1);
  EXPECT_NEAR(run.verdict.speedup_other_way.median, 1.5 / 1.7, 0.01);
  ASSERT_TRUE(run.verdict.best_other_way_id);
  EXPECT_EQ(*run.verdict.best_other_way_id, 2);
  EXPECT_NEAR(run.verdict.speedup_of_best_other_way.median, 1.5 / 1.3, 0.01);
  EXPECT_EQ(bench->cold_launches.at(1), 15);
  EXPECT_EQ(std::get<Measurement>(run.trials[1].outcome).other_way.size(), 15u);
}

TEST(OtherWay, KeepsSilentAboutAWinnerThatStays) {
  const SimulatedRun run = race_of({code_of(1.0, 1.5), code_of(0.9, 1.4), code_of(0.95, 1.45)}, {});
  EXPECT_EQ(run.verdict.best_id, 1);
  EXPECT_FALSE(run.verdict.best_other_way_id);
  EXPECT_NEAR(run.verdict.speedup_other_way.median, 1.5 / 1.4, 0.01);
}

TEST(OtherWay, NamesTheAuthorsCodeWhereTheWinnerIsSlower) {
  const SimulatedRun run = race_of({code_of(1.0, 1.5), code_of(0.9, 1.7)}, {});
  EXPECT_EQ(run.verdict.best_id, 1);
  EXPECT_EQ(run.verdict.best_other_way_id, 0);
}

TEST(OtherWay, IsNotTakenWhereNothingCanBeFlushed) {
  FakeGpu gpu;
  gpu.can_flush = false;
  FakeBench* bench = nullptr;
  const SimulatedRun run = race_of({code_of(1.0, 1.5), code_of(0.9, 1.7)}, gpu, {}, &bench);
  EXPECT_TRUE(bench->cold_launches.empty());
  EXPECT_FALSE(run.verdict.best_other_way_id);
  EXPECT_EQ(run.verdict.speedup_other_way, Interval{});
}

TEST(OtherWay, ChoosesNobodyAndStaysWithinTheBudget) {
  MeasureSettings settings;
  settings.budget_s = 0.2;
  FakeBench* bench = nullptr;
  race_of({code_of(1.0, 1.5), code_of(0.9, 1.7)}, {}, settings, &bench);
  EXPECT_LE(bench->spent_ms, 210);
}

TEST(ColdRace, ComparesColdTimesWithColdOnes) {
  // Cold launches take four times as long: by its check, which is warm, none is hopeless.
  FakeGpu gpu;
  gpu.launches_per_sample = 20;
  MeasureSettings settings;
  settings.cold = true;
  FakeBench* bench = nullptr;
  const SimulatedRun run = race_of({code_of(0.05, 0.2), code_of(0.05, 0.19), code_of(0.04, 0.1901), code_of(0.05, 0.4)},
                                   gpu, settings, &bench);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::improved);
  EXPECT_EQ(run.verdict.best_id, 1);
  EXPECT_NEAR(run.verdict.speedup.median, 0.2 / 0.19, 0.01);
  EXPECT_NEAR(std::get<Measurement>(run.trials[0].outcome).time_ms.median, 0.2, 0.01);
  EXPECT_EQ(run.result.settings.launches_per_sample, 1);
  EXPECT_EQ(run.result.settings.sample_mode, SampleMode::one_launch);
  // The other way is the warm one, where another is best.
  EXPECT_EQ(run.verdict.best_other_way_id, 2);
  EXPECT_TRUE(std::holds_alternative<Abandoned>(run.trials[3].outcome));
}

TEST(Race, SaysHowItsSamplesWereTaken) {
  FakeGpu gpu;
  gpu.launches_per_sample = 200;
  gpu.launch_overhead_ms = 0.002;
  gpu.timer_resolution_ms = 0.0005;
  const MeasureSettings settings = race_of({code_of(0.005), code_of(0.004)}, gpu).result.settings;
  EXPECT_EQ(settings.sample_mode, SampleMode::graph);
  EXPECT_EQ(settings.launches_per_sample, 200);
  EXPECT_EQ(settings.launch_overhead_ms, 0.002);
  EXPECT_EQ(settings.timer_resolution_ms, 0.0005);
}

TEST(Race, DropsTheRoundsOfAThrottleAndCountsThem) {
  const ClockReading free{1980};
  const ClockReading capped{1500, {"power cap"}};
  FakeGpu gpu;
  gpu.clocks = {free, capped, capped, free, free, free, free, free, free, free, free, capped, free};
  Witness witness;
  FakeBench bench({{0, {1.0}}, {1, {0.9}}}, gpu, 3);
  const SimulatedRun run = run_race(bench, trials_of({AuthorsOwn{}, RegisterCap{40}}), witness);
  ASSERT_TRUE(run.result.clocks);
  EXPECT_EQ(run.result.clocks->rounds_dropped, 3);
  EXPECT_EQ(run.result.clocks->throttled_by, std::vector<std::string>{"power cap"});
  EXPECT_EQ(run.verdict.best_id, 1);
  // None of the dropped ones was told, and as many were taken in their place, under their numbers.
  std::map<RacePhase, int> last;
  for (const Witness::Round& round : witness.rounds) EXPECT_EQ(round.number, ++last[round.phase]);
  const auto& measured = std::get<Measurement>(run.trials[1].outcome);
  EXPECT_GE(measured.race.size(), 8u);
  EXPECT_GE(measured.confirmation.size(), 15u);
}

TEST(Race, GoesOnWhereTheCardThrottlesAllTheTime) {
  FakeGpu gpu;
  gpu.clocks.assign(1000, {1500, {"power cap"}});
  const SimulatedRun run = race_of({code_of(1.0), code_of(0.9)}, gpu);
  EXPECT_EQ(run.verdict.best_id, 1);
  EXPECT_EQ(run.result.clocks->rounds_dropped, 8);
  EXPECT_TRUE(run.result.clocks->gave_up_dropping);
}

}  // namespace
}  // namespace regtune
