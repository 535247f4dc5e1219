// The referee on a GPU made of numbers: true claims hold, false ones do not, and what cannot be told is not called
// true.
#include "referee.hpp"

#include <gtest/gtest.h>

#include "fake_bench.hpp"

namespace regtune {
namespace {

constexpr Interval kTenPercent{1.098, 1.1, 1.102};

Candidate candidate(int id) {
  return {id, "k", "", {}};
}

Finding finding_of(const std::map<int, FakeCode>& codes, const Claim& claim, FakeGpu gpu = {},
                   RefereeSettings settings = {}, std::uint64_t seed = 1) {
  FakeBench bench(codes, gpu, seed);
  return referee(bench, candidate(0), {claim}, {candidate(claim.variant_id)}, settings, seed).of_claims.front();
}

TEST(Referee, ATrueClaimHoldsAndIsKnownToAFifthOfAPercent) {
  for (const FakeGpu& gpu : {FakeGpu{}, FakeGpu{0.1}, FakeGpu{0, 0.02}, FakeGpu{0, 0, 0.12, 0.01}}) {
    const Finding finding = finding_of({{0, {1.1}}, {1, {1.0}}}, {1, true, kTenPercent}, gpu);
    EXPECT_EQ(finding.says, Finding::Says::holds) << finding.reason;
    EXPECT_LE(finding.speedup.high - finding.speedup.low, 0.002);
    EXPECT_NEAR(finding.speedup.median, 1.1, 0.002);
    EXPECT_GE(finding.rounds, 30);
  }
}

TEST(Referee, AGainThatIsGoneOrHalfOfItDoesNotHold) {
  EXPECT_EQ(finding_of({{0, {1.0}}, {1, {1.0}}}, {1, true, kTenPercent}).says, Finding::Says::fails);
  EXPECT_EQ(finding_of({{0, {1.05}}, {1, {1.0}}}, {1, true, kTenPercent}).says, Finding::Says::fails);
  EXPECT_EQ(finding_of({{0, {0.9}}, {1, {1.0}}}, {1, true, kTenPercent}).says, Finding::Says::fails);
  const Finding more = finding_of({{0, {1.2}}, {1, {1.0}}}, {1, true, kTenPercent});
  EXPECT_EQ(more.says, Finding::Says::holds) << "it gains more than was said";
}

TEST(Referee, ALittleLessThanWasSaidHoldsWithinTheMargin) {
  EXPECT_EQ(finding_of({{0, {1.095}}, {1, {1.0}}}, {1, true, kTenPercent}).says, Finding::Says::holds);
  EXPECT_EQ(finding_of({{0, {1.085}}, {1, {1.0}}}, {1, true, kTenPercent}).says, Finding::Says::fails);
}

TEST(Referee, NoGainHoldsUntilSomethingGains) {
  const Claim no_gain{1, false, {0.99, 1.0, 1.003}};
  EXPECT_EQ(finding_of({{0, {1.0}}, {1, {1.0}}}, no_gain).says, Finding::Says::holds);
  EXPECT_EQ(finding_of({{0, {0.9}}, {1, {1.0}}}, no_gain).says, Finding::Says::holds);
  EXPECT_EQ(finding_of({{0, {1.02}}, {1, {1.0}}}, no_gain).says, Finding::Says::fails);
}

TEST(Referee, WhatTheBudgetCannotTellIsNotCalledTrue) {
  RefereeSettings settings;
  settings.budget_s = 0.1;  // 50 rounds of two samples
  const std::map<int, FakeCode> noisy{{0, {1.1, 0.05, 0.05}}, {1, {1.0, 0.05, 0.05}}};
  const Finding finding = finding_of(noisy, {1, true, kTenPercent}, {}, settings);
  EXPECT_EQ(finding.says, Finding::Says::unresolved) << finding.reason;
  settings.budget_s = 0;
  const Finding none = finding_of(noisy, {1, true, kTenPercent}, {}, settings);
  EXPECT_EQ(none.says, Finding::Says::unresolved);
  EXPECT_EQ(none.rounds, 0);
}

TEST(Referee, AWinnerThatNoLongerRunsDoesNotHold) {
  for (const Shot& shot : {Shot(WrongResult{"out[3]"}), Shot(Faulted{"an illegal address"}), Shot(TimedOut{100}),
                           Shot(NotLaunchable{"registers"}), Shot(0.0)}) {
    FakeCode bad{1.0};
    bad.at_check = shot;
    const Finding at_once = finding_of({{0, {1.1}}, {1, bad}}, {1, true, kTenPercent});
    EXPECT_EQ(at_once.says, Finding::Says::fails);
    EXPECT_NE(at_once.reason, "");
    bad.at_check.reset();
    bad.fails_at_sample = 17;
    bad.failure = shot;
    EXPECT_EQ(finding_of({{0, {1.1}}, {1, bad}}, {1, true, kTenPercent}).says, Finding::Says::fails);
  }
}

TEST(Referee, AReferenceThatFailsEndsIt) {
  FakeCode bad{1.1};
  bad.fails_at_sample = 3;
  try {
    finding_of({{0, bad}, {1, {1.0}}}, {1, true, kTenPercent});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
  }
}

TEST(Referee, JudgesSeveralClaimsInTheSameRounds) {
  FakeBench bench({{0, {1.1}}, {1, {1.0}}, {2, {1.08}}}, {}, 1);
  const std::vector<Finding> findings =
      referee(bench, candidate(0), {{1, true, kTenPercent}, {2, true, {1.04, 1.05, 1.06}}},
              {candidate(1), candidate(2)}, {}, 1)
          .of_claims;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].says, Finding::Says::holds);
  EXPECT_EQ(findings[1].says, Finding::Says::fails);
  EXPECT_EQ(bench.samples.at(0), bench.samples.at(1));
}

TEST(Referee, DropsRoundsInWhichTheClocksWereHeldDown) {
  FakeGpu gpu;
  const ClockReading free{1980};
  const ClockReading capped{1500, {"power cap"}};
  for (int round = 0; round < 30; ++round) gpu.clocks.push_back(round % 3 == 1 ? capped : free);
  FakeBench bench({{0, {1.1}}, {1, {1.0}}}, gpu, 1);
  const Findings findings = referee(bench, candidate(0), {{1, true, kTenPercent}}, {candidate(1)}, {}, 1);
  EXPECT_EQ(findings.of_claims.front().says, Finding::Says::holds);
  ASSERT_TRUE(findings.clocks);
  EXPECT_EQ(findings.clocks->rounds_dropped, 10);
  EXPECT_EQ(findings.clocks->throttled_by, std::vector<std::string>{"power cap"});
  EXPECT_EQ(bench.samples.at(1), findings.of_claims.front().rounds + 10) << "a dropped round is taken again";
}

TEST(Referee, SeldomCallsATrueClaimFalse) {
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::map<int, FakeCode> codes{{0, {1.1, 0.01, 0.02}}, {1, {1.0, 0.01, 0.02}}};
    failed += finding_of(codes, {1, true, kTenPercent}, {0.05, 0.01}, {}, seed).says == Finding::Says::fails ? 1 : 0;
  }
  EXPECT_LE(failed, 2);
}

TEST(Referee, TakesItsClaimsFromTheVerdict) {
  TuningRecord record;
  record.trials = trials_of({AuthorsOwn{}, RegisterCap{57}, LaunchBounds{256, 0}, RegisterCap{60}});
  Measurement confirmed;
  confirmed.confirmation = {{1, 1.0}};
  confirmed.speedup = {0.98, 0.99, 1.0};
  for (Trial& trial : record.trials) trial.outcome = confirmed;
  record.trials[3].outcome = SameCodeAs{1};
  EXPECT_TRUE(claims_of(record).empty()) << "no verdict";
  record.verdict = Verdict{Verdict::Kind::improved, 0, 3, 2, kTenPercent, {1.05, 1.06, 1.07}, ""};
  record.verdict->best_renamed_id = 1;  // the same code as the best
  const std::vector<Claim> claims = claims_of(record);
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_EQ(claims[0].variant_id, 3);
  EXPECT_EQ(claims[0].speedup, kTenPercent);
  EXPECT_EQ(claims[1].variant_id, 2);
  record.verdict = Verdict{Verdict::Kind::no_gain, 0, 0, 0, {1, 1, 1}, {1, 1, 1}, ""};
  std::get<Measurement>(record.trials[2].outcome).speedup = {0.99, 1.0, 1.01};
  const std::vector<Claim> none = claims_of(record);
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].variant_id, 2) << "the fastest of those that do not gain";
  EXPECT_FALSE(none[0].gains);
}

}  // namespace
}  // namespace regtune
