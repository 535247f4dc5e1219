#include "decide.hpp"

#include <gtest/gtest.h>

#include "fake_bench.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// Confirmed with `rounds` rounds against a reference of 1 ms; `wobble` spreads the samples evenly on both sides.
Measurement measured(double ms, double wobble = 0.0005, int rounds = 25) {
  Measurement m;
  std::vector<double> times;
  std::vector<double> speedups;
  for (int round = 1; round <= rounds; ++round) {
    const double now = ms * (1 + wobble * ((round * 7) % 11 - 5) / 5);
    m.race.push_back({round, now});
    m.confirmation.push_back({round, now});
    times.push_back(now);
    speedups.push_back(1 / now);
  }
  m.time_ms = median_interval(times, 0.99);
  m.speedup = median_interval(speedups, 0.99);
  return m;
}

// The author's code at 1 ms, then one trial for each policy and outcome.
std::vector<Trial> trials_with(const std::vector<std::pair<RegisterPolicy, Outcome>>& others) {
  std::vector<RegisterPolicy> policies{AuthorsOwn{}};
  for (const auto& [policy, outcome] : others) policies.push_back(policy);
  std::vector<Trial> trials = trials_of(policies);
  trials[0].outcome = measured(1.0, 0);
  for (std::size_t i = 0; i < others.size(); ++i) {
    trials[i + 1].outcome = others[i].second;
    if (std::holds_alternative<NotLaunchable>(others[i].second)) trials[i + 1].facts->occupancy.reset();
    if (std::holds_alternative<CompileFailed>(others[i].second) ||
        std::holds_alternative<NotCompiled>(others[i].second))
      trials[i + 1].facts.reset();
  }
  return trials;
}

TEST(Decide, NamesTheFastestAndTheBestInTheSourceApart) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}, {LaunchBounds{256, 0}, measured(0.9)}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::improved);
  EXPECT_EQ(verdict.best_id, 1);
  EXPECT_NEAR(verdict.speedup.median, 1.25, 0.001);
  EXPECT_EQ(verdict.best_in_source_id, 2);
  EXPECT_NEAR(verdict.speedup_in_source.median, 1 / 0.9, 0.001);
  EXPECT_EQ(verdict.reference_id, 0);
}

TEST(Decide, LeavesTheSourceAloneWhenOnlyAFlagGains) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}, {LaunchBounds{256, 0}, measured(1.1)}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.best_id, 1);
  EXPECT_EQ(verdict.best_in_source_id, 0);
  EXPECT_EQ(verdict.speedup_in_source, (Interval{1, 1, 1}));
}

TEST(Decide, SaysHowManyBudgetsWereNotCompiled) {
  const std::vector<std::pair<RegisterPolicy, Outcome>> slower{{RegisterCap{57}, measured(1.2)},
                                                               {RegisterCap{58}, NotCompiled{"no time"}},
                                                               {RegisterCap{59}, NotCompiled{"no time"}}};
  const Verdict verdict = decide(trials_with(slower), 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::no_gain);
  EXPECT_EQ(verdict.reason, "nothing is faster by more than 0.5 %, of what was compiled: 2 budgets were not");
  EXPECT_EQ(verdict.best_id, 0);
}

TEST(Decide, GivesATieToTheFormThatTravelsWithTheSource) {
  // 0.3 % slower than the flag: no difference at a margin of 0.5 %.
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)},
                                   {MaxRegisters{57}, measured(0.801)},
                                   {LaunchBounds{256, 2}, measured(0.802)},
                                   {LaunchBounds{256, 0}, measured(0.8024)}});
  EXPECT_EQ(decide(trials, 0, {}).best_id, 4);
  EXPECT_EQ(decide(trials, 0, {}).best_in_source_id, 4);
  // With no margin there is no tie.
  MeasureSettings strict;
  strict.margin = 0;
  EXPECT_EQ(decide(trials, 0, strict).best_id, 1);
  EXPECT_EQ(decide(trials, 0, strict).best_in_source_id, 2);
}

TEST(Decide, GivesATieToFewerSpills) {
  auto trials = trials_with({{LaunchBounds{256, 0}, measured(0.8)}, {RegisterCap{57}, measured(0.8)}});
  EXPECT_EQ(decide(trials, 0, {}).best_id, 1);
  trials[1].facts->spill_load_bytes = 4;
  EXPECT_EQ(decide(trials, 0, {}).best_id, 2);
}

TEST(Decide, GivesATieToWhatNeedsNoPragmaWhereverItSpills) {
  auto trials = trials_with({{LaunchBounds{256, 8}, measured(0.8)}, {LaunchBounds{256, 8}, measured(0.8)}});
  trials[1].variant.choice.spills_to_shared = true;
  trials[1].facts->shared_spill_load_bytes = 4;
  trials[2].facts->spill_load_bytes = 8;
  EXPECT_EQ(decide(trials, 0, {}).best_id, 2);
  trials[2].outcome = measured(0.9);
  EXPECT_EQ(decide(trials, 0, {}).best_id, 1);
  EXPECT_EQ(decide(trials, 0, {}).best_in_source_id, 1) << "both can be written there";
}

TEST(Decide, CallsNoTieWhatIsSlowerByMoreThanTheMargin) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}, {LaunchBounds{256, 0}, measured(0.806)}});
  EXPECT_EQ(decide(trials, 0, {}).best_id, 1);
  EXPECT_EQ(decide(trials, 0, {}).best_in_source_id, 2);
}

TEST(Decide, CallsNoTieWhatMayBeSlowerByMoreThanTheMargin) {
  // The medians are equal, the rounds say nothing: their ratios spread by 4 %.
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}, {LaunchBounds{256, 0}, measured(0.8, 0.04)}});
  EXPECT_EQ(decide(trials, 0, {}).best_id, 1);
}

TEST(Decide, NamesTheSimplestFormOfTheWinningCode) {
  const auto trials = trials_with({{RegisterCap{64}, measured(0.8)},
                                   {RegisterCap{65}, SameCodeAs{1}},
                                   {LaunchBounds{256, 1}, SameCodeAs{1}},
                                   {LaunchBounds{256, 0}, SameCodeAs{1}}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.best_id, 4);
  EXPECT_NEAR(verdict.speedup.median, 1.25, 0.001);
}

TEST(Decide, FindsNoGainBelowTheMargin) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.998)}, {LaunchBounds{256, 0}, measured(1.2)}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::no_gain);
  EXPECT_EQ(verdict.best_id, 0);
  EXPECT_EQ(verdict.best_in_source_id, 0);
  EXPECT_EQ(verdict.speedup, (Interval{1, 1, 1}));
}

TEST(Decide, IsInconclusiveWhenAnIntervalReachesOverTheMargin) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.996, 0.01)}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_EQ(verdict.best_id, 0);
  EXPECT_NE(verdict.reason.find("--budget"), std::string::npos) << verdict.reason;
}

TEST(Decide, IsNotConfusedByANoisyFinalistBesideAClearWinner) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}, {LaunchBounds{256, 0}, measured(0.996, 0.01)}});
  EXPECT_EQ(decide(trials, 0, {}).kind, Verdict::Kind::improved);
  EXPECT_EQ(decide(trials, 0, {}).best_id, 1);
  EXPECT_EQ(decide(trials, 0, {}).best_in_source_id, 0);
}

TEST(Decide, RefusesAVerdictFromTooFewRounds) {
  // Seven rounds cover a median with 98.4 %, eight with 99.2 %.
  EXPECT_EQ(decide(trials_with({{RegisterCap{57}, measured(0.8, 0.0005, 7)}}), 0, {}).kind,
            Verdict::Kind::inconclusive);
  EXPECT_EQ(decide(trials_with({{RegisterCap{57}, measured(0.8, 0.0005, 8)}}), 0, {}).kind, Verdict::Kind::improved);
  // More codes had the chance to win: each has to be surer.
  std::vector<std::pair<RegisterPolicy, Outcome>> five;
  for (int cap = 60; cap < 65; ++cap) five.emplace_back(RegisterCap{cap}, measured(0.8, 0.0005, 8));
  EXPECT_EQ(decide(trials_with(five), 0, {}).kind, Verdict::Kind::inconclusive);
  // Nor is "no gain" said on no evidence.
  EXPECT_EQ(decide(trials_with({{RegisterCap{57}, measured(1.2, 0.0005, 3)}}), 0, {}).kind,
            Verdict::Kind::inconclusive);
}

TEST(Decide, IgnoresWhatWasNotConfirmed) {
  Measurement race_only = measured(0.5);
  race_only.confirmation.clear();
  const auto trials =
      trials_with({{RegisterCap{57}, race_only}, {RegisterCap{58}, Abandoned{"planted", measured(0.4)}}});
  EXPECT_EQ(decide(trials, 0, {}).best_id, 0);
  EXPECT_EQ(decide(trials, 0, {}).kind, Verdict::Kind::no_gain);
}

TEST(LikelyToBeNamed, AreTheBestOfEachKindInTheirSimplestForm) {
  // Trial 3 has trial 1's code; what was left out of the race is not named.
  auto trials = trials_with({{RegisterCap{57}, NotTimed{}},
                             {RegisterCap{58}, NotTimed{}},
                             {MaxRegisters{57}, SameCodeAs{1}},
                             {LaunchBounds{256, 2}, NotTimed{}},
                             {LaunchBounds{256, 3}, NotTimed{}}});
  EXPECT_EQ(likely_to_be_named(trials, {{1, 0.8}, {2, 0.7}, {4, 0.85}}, 0.005), (std::vector<int>{2, 3}));
  EXPECT_EQ(likely_to_be_named(trials, {{1, 0.8}, {2, 0.797}, {4, 0.85}}, 0.005), (std::vector<int>{3}))
      << "as fast within the margin, and in the source";
  EXPECT_EQ(likely_to_be_named(trials, {{1, 0.8}, {4, 0.79}}, 0.005), (std::vector<int>{4}));
  trials[2].variant.choice.renamed = true;
  EXPECT_EQ(likely_to_be_named(trials, {{1, 0.8}, {2, 0.7}}, 0.005), (std::vector<int>{3, 2}));
}

TEST(LikelyToBeNamed, AreNoneWhereNothingGains) {
  const auto trials = trials_with({{RegisterCap{57}, NotTimed{}}, {RegisterCap{58}, NotTimed{}}});
  EXPECT_EQ(likely_to_be_named(trials, {{1, 0.996}, {2, 1.2}}, 0.005), (std::vector<int>{}));
  EXPECT_EQ(likely_to_be_named(trials, {}, 0.005), (std::vector<int>{}));
}

TEST(Decide, NeverNamesWhatFailed) {
  const auto trials = trials_with({{RegisterCap{24}, NotLaunchable{"planted"}},
                                   {RegisterCap{25}, SameCodeAs{1}},
                                   {RegisterCap{26}, Faulted{"planted"}},
                                   {RegisterCap{27}, TimedOut{100}},
                                   {RegisterCap{28}, WrongResult{"planted"}},
                                   {RegisterCap{29}, CompileFailed{"planted"}},
                                   {LaunchBounds{256, 0}, NotLaunchable{"planted"}}});
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::no_gain);
  EXPECT_EQ(verdict.best_id, 0);
  EXPECT_EQ(verdict.best_in_source_id, 0);
}

TEST(Decide, NeverNamesARefusedLaunchEvenWithATime) {
  // A record from elsewhere that claims a time for code without an occupancy: one that cannot be launched.
  auto trials = trials_with({{RegisterCap{200}, measured(0.1)}, {RegisterCap{201}, SameCodeAs{1}}});
  trials[1].facts->occupancy.reset();
  trials[2].facts->occupancy.reset();
  EXPECT_EQ(decide(trials, 0, {}).best_id, 0);
}

TEST(Decide, SaysWhenNothingWasMeasured) {
  auto trials = trials_with({});
  trials[0].outcome = Measurement{};
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::inconclusive);
  EXPECT_EQ(verdict.best_id, 0);
}

TEST(Decide, SaysThatTheAuthorsCodeCannotBeLaunched) {
  auto trials = trials_with({{CompilerDefault{}, measured(1.0, 0)}, {RegisterCap{64}, measured(1.1)}});
  trials[0].outcome = NotLaunchable{"planted"};
  trials[0].facts->occupancy.reset();
  ASSERT_EQ(choose_reference(trials), 1);
  const Verdict verdict = decide(trials, 1, {});
  EXPECT_EQ(verdict.kind, Verdict::Kind::improved);
  EXPECT_EQ(verdict.reference_id, 1);
  EXPECT_EQ(verdict.best_id, 1);
  EXPECT_NE(verdict.reason.find("cannot be launched"), std::string::npos) << verdict.reason;
}

TEST(Decide, NamesAGainOverTheStandInToo) {
  auto trials = trials_with({{CompilerDefault{}, measured(1.0, 0)}, {RegisterCap{64}, measured(0.7)}});
  trials[0].outcome = NotLaunchable{"planted"};
  trials[0].facts->occupancy.reset();
  const Verdict verdict = decide(trials, 1, {});
  EXPECT_EQ(verdict.best_id, 2);
  EXPECT_NEAR(verdict.speedup.median, 1 / 0.7, 0.01);
}

TEST(Reference, IsTheAuthorsCodeWhereThatCanBeLaunched) {
  EXPECT_EQ(choose_reference(trials_of({AuthorsOwn{}, CompilerDefault{}})), 0);
}

TEST(Reference, FallsBackInTheStatedOrder) {
  auto trials = trials_of(
      {AuthorsOwn{}, CompilerDefault{}, RegisterCap{24}, RegisterCap{64}, LaunchBounds{512, 2}, LaunchBounds{512, 0}});
  const auto refuse = [&](std::size_t id) {
    trials[id].outcome = NotLaunchable{"planted"};
    trials[id].facts->occupancy.reset();
  };
  refuse(0);
  EXPECT_EQ(choose_reference(trials), 1);
  refuse(1);
  EXPECT_EQ(choose_reference(trials), 5);
  refuse(5);
  EXPECT_EQ(choose_reference(trials), 3);
  refuse(3);
  EXPECT_EQ(choose_reference(trials), 2);
  refuse(2);
  EXPECT_EQ(choose_reference(trials), 4);
  refuse(4);
  EXPECT_EQ(choose_reference(trials), std::nullopt);
}

TEST(Reference, HasTheAuthorsBlock) {
  auto trials = trials_of({AuthorsOwn{}, CompilerDefault{}, LaunchBounds{256, 0}});
  trials[0].outcome = NotLaunchable{"planted"};
  trials[1].variant.block = {128, 1, 1};
  EXPECT_EQ(choose_reference(trials), 2);
}

TEST(TimedTrial, IsTheOneWithTheSameCode) {
  const auto trials = trials_with({{RegisterCap{64}, measured(0.8)}, {RegisterCap{65}, SameCodeAs{1}}});
  EXPECT_EQ(timed_trial(trials, 2).variant.id, 1);
  EXPECT_EQ(timed_trial(trials, 1).variant.id, 1);
}

// One launch per sample, 0.4 of whose 1 ms an empty kernel takes, with steps of `step_us`.
MeasureSettings one_launch(double step_us, bool restored = true) {
  MeasureSettings settings;
  settings.restored = restored;
  settings.cold = !restored;
  settings.launch_overhead_ms = 0.4;
  settings.timer_resolution_ms = step_us / 1000;
  return settings;
}

TEST(Decide, SaysThatNothingCanBeSeenOfALaunchTooShortForItsTimer) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.999)}});
  const Verdict verdict = decide(trials, 0, one_launch(50));
  EXPECT_EQ(verdict.kind, Verdict::Kind::not_resolvable);
  EXPECT_EQ(verdict.best_id, 0);
  for (const char* part : {"1000.00 us", "400.00 us", "50.00 us", "8.3 %", "--set", "own output"})
    EXPECT_NE(verdict.reason.find(part), std::string::npos) << verdict.reason;
  EXPECT_NE(decide(trials, 0, one_launch(50, false)).reason.find("--cold"), std::string::npos);
}

TEST(Decide, SeesAGainThatIsLargerThanAStepOfTheTimer) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.8)}});
  EXPECT_EQ(decide(trials, 0, one_launch(50)).kind, Verdict::Kind::improved);
  EXPECT_EQ(decide(trials, 0, one_launch(250)).kind, Verdict::Kind::not_resolvable);
}

TEST(Decide, KeepsItsWordWhereTheTimerIsFineEnough) {
  const auto trials = trials_with({{RegisterCap{57}, measured(0.999)}});
  EXPECT_EQ(decide(trials, 0, one_launch(0.5)).kind, Verdict::Kind::no_gain);
  // Nothing was measured of the timer, or many launches share a sample.
  EXPECT_EQ(decide(trials, 0, one_launch(0)).kind, Verdict::Kind::no_gain);
  MeasureSettings many = one_launch(50);
  many.launches_per_sample = 100;
  EXPECT_EQ(decide(trials, 0, many).kind, Verdict::Kind::no_gain);
}

TEST(Decide, SaysSoWhereALaunchTakesNoLongerThanAnEmptyOne) {
  MeasureSettings settings = one_launch(0.5);
  settings.launch_overhead_ms = 1.1;
  const Verdict verdict = decide(trials_with({{RegisterCap{57}, measured(0.999)}}), 0, settings);
  EXPECT_EQ(verdict.kind, Verdict::Kind::not_resolvable);
  EXPECT_NE(verdict.reason.find("nothing of the kernel's own time"), std::string::npos) << verdict.reason;
}

TEST(Decide, FindsNoGainWhereEveryBudgetGivesTheAuthorsCode) {
  const auto trials = trials_with({{RegisterCap{57}, SameCodeAs{0}}});
  EXPECT_EQ(decide(trials, 0, one_launch(50)).kind, Verdict::Kind::no_gain);
}

TEST(Decide, FindsNoGainWhereEveryOtherCodeIsSlowerByAStep) {
  const auto trials = trials_with({{RegisterCap{57}, measured(1.06)}});
  EXPECT_EQ(decide(trials, 0, one_launch(50)).kind, Verdict::Kind::no_gain);
  EXPECT_EQ(decide(trials, 0, one_launch(70)).kind, Verdict::Kind::not_resolvable);
}

// The same code the other way, at `ms` in each of 15 rounds.
Measurement other_way(Measurement measured, double ms) {
  for (int round = 1; round <= 15; ++round) measured.other_way.push_back({round, ms * (1 + 0.0001 * (round % 3))});
  return measured;
}

TEST(Decide, NamesTheSimplestFormOfTheBestTheOtherWay) {
  auto trials = trials_with({{RegisterCap{57}, other_way(measured(0.8), 2.0)},
                             {RegisterCap{60}, other_way(measured(0.85), 1.5)},
                             {LaunchBounds{256, 0}, SameCodeAs{2}}});
  trials[0].outcome = other_way(measured(1.0, 0), 1.8);
  const Verdict verdict = decide(trials, 0, {});
  EXPECT_EQ(verdict.best_id, 1);
  EXPECT_NEAR(verdict.speedup_other_way.median, 0.9, 0.001);
  EXPECT_EQ(verdict.best_other_way_id, 3);
  EXPECT_NEAR(verdict.speedup_of_best_other_way.median, 1.2, 0.001);
}

TEST(Decide, NamesNobodyTheOtherWayFromTooFewRounds) {
  auto trials = trials_with({{RegisterCap{57}, measured(0.8)}});
  trials[0].outcome = other_way(measured(1.0, 0), 1.8);
  Measurement few = measured(0.8);
  few.other_way = {{1, 3.0}, {2, 3.0}, {3, 3.0}};
  trials[1].outcome = few;
  EXPECT_FALSE(decide(trials, 0, {}).best_other_way_id);
}

}  // namespace
}  // namespace regtune
