// Planted faults: whatever a candidate does is its outcome, never wins, and changes nothing for the others.
#include <gtest/gtest.h>

#include <limits>

#include "fake_bench.hpp"

namespace regtune {
namespace {

constexpr int kAuthor = 0;
constexpr int kBad = 3;     // would be the fastest by far
constexpr int kSecond = 7;  // the fastest of the sound ones

std::map<int, FakeCode> landscape_with(const FakeCode& bad) {
  std::map<int, FakeCode> landscape;
  for (int id = 0; id < 12; ++id) landscape[id] = {1.0 + 0.01 * id, 0.001, 0.001, {}, {}, 0, Faulted{}};
  landscape[kAuthor].ms = 1.2;
  landscape[kSecond].ms = 0.9;
  landscape[kBad] = bad;
  return landscape;
}

SimulatedRun run_with(const FakeCode& bad, FakeBench** keep = nullptr) {
  static std::unique_ptr<FakeBench> bench;
  bench = std::make_unique<FakeBench>(landscape_with(bad), FakeGpu{}, 11);
  if (keep) *keep = bench.get();
  Witness witness;
  return run_race(*bench, trials_of(usual_policies(6)), witness);
}

FakeCode fails_at_check(Shot shot) {
  FakeCode code{0.1};
  code.at_check = std::move(shot);
  return code;
}

void expect_the_second_wins(const SimulatedRun& run) {
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::improved);
  EXPECT_EQ(run.verdict.best_id, kSecond);
  EXPECT_NEAR(run.verdict.speedup.median, 1.2 / 0.9, 0.01);
}

TEST(Faults, RefusedLaunchIsRecordedAsSuchAndNeverWins) {
  FakeBench* bench = nullptr;
  const SimulatedRun run = run_with(fails_at_check(NotLaunchable{"too many registers"}), &bench);
  const auto* refused = std::get_if<NotLaunchable>(&run.trials.at(kBad).outcome);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->reason, "too many registers");
  EXPECT_EQ(bench->launches.at(kBad), 1);
  EXPECT_FALSE(bench->samples.contains(kBad));
  expect_the_second_wins(run);
}

TEST(Faults, LaunchWithoutATimeIsAFaultAndNeverWins) {
  // A refused launch that nobody noticed shows as an empty pair of events: no time at all.
  for (const double nothing :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const SimulatedRun run = run_with(fails_at_check(nothing));
    EXPECT_TRUE(std::holds_alternative<Faulted>(run.trials.at(kBad).outcome)) << nothing;
    expect_the_second_wins(run);
  }
}

TEST(Faults, LaunchThatLosesItsTimeLaterNeverWins) {
  for (int sample = 1; sample <= 40; ++sample) {
    FakeCode bad{0.1};
    bad.fails_at_sample = sample;
    bad.failure = 0.0;
    const SimulatedRun run = run_with(bad);
    const auto* measured = std::get_if<Measurement>(&run.trials.at(kBad).outcome);
    if (measured) continue;  // decided before that sample
    EXPECT_TRUE(std::holds_alternative<Faulted>(run.trials.at(kBad).outcome)) << sample;
    expect_the_second_wins(run);
  }
}

TEST(Faults, FaultIsThatCandidatesOutcome) {
  const SimulatedRun run = run_with(fails_at_check(Faulted{"CUDA_ERROR_ILLEGAL_ADDRESS (700)"}));
  const auto* faulted = std::get_if<Faulted>(&run.trials.at(kBad).outcome);
  ASSERT_TRUE(faulted);
  EXPECT_EQ(faulted->message, "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  expect_the_second_wins(run);
}

TEST(Faults, HangIsThatCandidatesOutcomeAndCountsAgainstTheBudget) {
  const SimulatedRun run = run_with(fails_at_check(TimedOut{1000}));
  ASSERT_TRUE(std::holds_alternative<TimedOut>(run.trials.at(kBad).outcome));
  EXPECT_EQ(std::get<TimedOut>(run.trials.at(kBad).outcome).limit_ms, 1000);
  expect_the_second_wins(run);

  // Every candidate hangs: the budget ends the run, not the number of candidates.
  std::map<int, FakeCode> landscape{{0, {1.0}}};
  for (int id = 1; id < 102; ++id) landscape[id] = fails_at_check(TimedOut{1000});
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  MeasureSettings settings;
  settings.budget_s = 20;
  const SimulatedRun all_hang = run_race(bench, trials_of(usual_policies(96)), witness, settings);
  int hung = 0;
  for (const auto& [id, outcome] : all_hang.result.outcomes) hung += std::holds_alternative<TimedOut>(outcome) ? 1 : 0;
  EXPECT_GE(hung, 9);
  EXPECT_LE(hung, 11);
  EXPECT_EQ(all_hang.result.outcomes.size(), 102u);
  EXPECT_EQ(all_hang.verdict.best_id, 0);
}

TEST(Faults, WrongResultNeverWins) {
  const SimulatedRun run = run_with(fails_at_check(WrongResult{"out: 1 of 16 elements differ"}));
  ASSERT_TRUE(std::holds_alternative<WrongResult>(run.trials.at(kBad).outcome));
  expect_the_second_wins(run);
}

class FaultsLater : public testing::TestWithParam<Shot> {};

TEST_P(FaultsLater, AtWhateverSampleItComesItIsTheOutcome) {
  int failed = 0;
  for (int sample = 1; sample <= 40; ++sample) {
    FakeCode bad{0.6};
    bad.fails_at_sample = sample;
    bad.failure = GetParam();
    FakeBench* bench = nullptr;
    const SimulatedRun run = run_with(bad, &bench);
    if (bench->samples.at(kBad) < sample) {
      // It was decided before: what it did until then was sound.
      EXPECT_EQ(run.verdict.best_id, kBad);
      continue;
    }
    ++failed;
    EXPECT_EQ(bench->samples.at(kBad), sample) << "sampled again after it failed";
    EXPECT_EQ(run.trials.at(kBad).outcome.index(),
              std::visit(
                  [](const auto& shot) -> std::size_t {
                    if constexpr (std::is_same_v<std::decay_t<decltype(shot)>, double>)
                      return 0;
                    else
                      return Outcome(shot).index();
                  },
                  GetParam()))
        << sample;
    expect_the_second_wins(run);
  }
  // In the race and in the confirmation both.
  EXPECT_GE(failed, 15);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultsLater,
                         testing::Values(Shot(NotLaunchable{"planted"}), Shot(Faulted{"planted"}), Shot(TimedOut{100}),
                                         Shot(WrongResult{"planted"})));

TEST(Faults, ReferenceThatFailsLaterEndsTheRun) {
  for (const int sample : {1, 2, 9, 12}) {
    auto landscape = landscape_with({0.95});
    landscape[kAuthor].fails_at_sample = sample;
    FakeBench bench(landscape, {}, 1);
    Witness witness;
    try {
      run_race(bench, trials_of(usual_policies(6)), witness);
      FAIL() << "no error at sample " << sample;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
      EXPECT_NE(std::string(error.what()).find("compute-sanitizer"), std::string::npos) << error.what();
    }
  }
}

TEST(Faults, AllButTheAuthorsFail) {
  std::map<int, FakeCode> landscape{{0, {1.0}}};
  for (int id = 1; id < 12; ++id) landscape[id] = fails_at_check(WrongResult{"planted"});
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(usual_policies(6)), witness);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::no_gain);
  EXPECT_EQ(run.verdict.best_id, 0);
}

// What the GPU's side says of each way to go wrong, as device.cpp words it.
struct Wrong {
  const char* name;
  Shot shot;
};

class FaultKinds : public testing::TestWithParam<Wrong> {};

TEST_P(FaultKinds, CostsItsCodeAloneAndIsToldAsItWas) {
  FakeBench* bench = nullptr;
  const SimulatedRun run = run_with(fails_at_check(GetParam().shot), &bench);
  expect_the_second_wins(run);
  EXPECT_EQ(bench->launches.at(kBad), 1) << "launched again after it failed";
  EXPECT_EQ(run.result.outcomes.size(), 12u) << "the sweep did not go on";
  const Outcome& outcome = run.trials.at(kBad).outcome;
  std::visit(
      [&](const auto& shot) {
        using T = std::decay_t<decltype(shot)>;
        if constexpr (!std::is_same_v<T, double>) {
          EXPECT_TRUE(std::holds_alternative<T>(outcome)) << outcome.index();
        }
      },
      GetParam().shot);
  for (const auto& [id, other] : run.result.outcomes) {
    if (id == kBad) continue;
    EXPECT_TRUE(std::holds_alternative<Measurement>(other) || std::holds_alternative<Abandoned>(other)) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(
    AtTheSeam, FaultKinds,
    testing::Values(Wrong{"WritesOutOfBounds", WrongResult{"out: 4 bytes behind its end were written"}},
                    Wrong{"OneElementIsWrong", WrongResult{"out[3] is 1, not 2"}},
                    Wrong{"IllegalAddress", Faulted{"CUDA_ERROR_ILLEGAL_ADDRESS (700)"}},
                    Wrong{"Trap", Faulted{"CUDA_ERROR_LAUNCH_FAILED (719)"}}, Wrong{"Hang", TimedOut{1000}},
                    Wrong{"ChildKilledFromOutside", Faulted{"the GPU's process was killed by signal 9 (Killed)"}},
                    Wrong{"OutOfMemory", Faulted{"CUDA_ERROR_OUT_OF_MEMORY (2)"}},
                    Wrong{"RefusedLaunch", NotLaunchable{"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"}}),
    [](const auto& tested) { return tested.param.name; });

TEST(Faults, CodesThatAreWrongOnlyUnderSomeBoundsLeaveTheSoundBoundsToWin) {
  // Every bound but one gives a wrong result, as a kernel does that asks for its bounds with #if.
  const std::vector<RegisterPolicy> policies = usual_policies(6);
  std::map<int, FakeCode> landscape = landscape_with({1.03});
  int sound_bound = -1;
  for (int id = 0; id < static_cast<int>(policies.size()); ++id) {
    if (!std::holds_alternative<LaunchBounds>(policies[static_cast<std::size_t>(id)])) continue;
    landscape[id].ms = sound_bound < 0 ? 0.95 : 0.5;
    if (sound_bound >= 0) landscape[id].at_check = WrongResult{"out[0] is 2, not 1"};
    if (sound_bound < 0) sound_bound = id;
  }
  FakeBench bench(landscape, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(policies), witness);
  EXPECT_EQ(run.verdict.best_id, kSecond);
  EXPECT_EQ(run.verdict.best_in_source_id, sound_bound);
}

TEST(Faults, OfEveryKindAtOnceLeaveTheRightWinner) {
  std::map<int, FakeCode> landscape = landscape_with({1.0});
  const std::vector<Shot> shots{Faulted{"trap"}, TimedOut{100}, WrongResult{"canary"}, NotLaunchable{"registers"}, 0.0};
  for (std::size_t i = 0; i < shots.size(); ++i) {
    FakeCode& code = landscape[1 + static_cast<int>(i)];
    code = {0.2};
    if (i % 2 == 0) {
      code.at_check = shots[i];
    } else {
      code.fails_at_sample = 3;
      code.failure = shots[i];
    }
  }
  FakeBench bench(landscape, {}, 5);
  Witness witness;
  expect_the_second_wins(run_race(bench, trials_of(usual_policies(6)), witness));
}

}  // namespace
}  // namespace regtune
