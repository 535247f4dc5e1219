// A race that takes up the rounds of one that was interrupted: what is kept, what is taken again, and that the answer
// is as sound as that of a race that was left alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_bench.hpp"

namespace regtune {
namespace {

constexpr int kAuthor = 0;
constexpr int kBest = 7;
constexpr int kHopelessCode = 3;

std::map<int, FakeCode> landscape(double noise = 0.002) {
  std::map<int, FakeCode> codes;
  for (int id = 0; id < 16; ++id) codes[id] = {1.0 + 0.01 * id, noise, noise};
  codes[kAuthor].ms = 1.2;
  codes[kBest].ms = 0.97;
  codes[kHopelessCode].ms = 9;
  return codes;
}

std::string code_of(int id) {
  return "code " + std::to_string(id);
}

// The codes keep their names whatever their ids are.
std::vector<Entrant> entrants(std::size_t count) {
  std::vector<RegisterPolicy> policies{AuthorsOwn{}};
  for (std::size_t i = 1; i < count; ++i) policies.push_back(RegisterCap{24 + static_cast<int>(i)});
  std::vector<Entrant> all = entrants_of(trials_of(policies));
  for (Entrant& entrant : all) entrant.code = code_of(entrant.candidate.id);
  return all;
}

// What the store gives of a run that was killed after so many rounds of each phase.
EarlierRun interrupted_after(const Witness& witness, std::size_t race_rounds, std::size_t confirmation_rounds) {
  EarlierRun earlier;
  for (const Witness::Round& round : witness.rounds) {
    if (round.phase == RacePhase::other_way) continue;
    auto& rounds = round.phase == RacePhase::race ? earlier.race : earlier.confirmation;
    if (rounds.size() == (round.phase == RacePhase::race ? race_rounds : confirmation_rounds)) continue;
    rounds.emplace_back();
    for (const auto& [id, ms] : round.ms) rounds.back()[code_of(id)] = ms;
  }
  return earlier;
}

std::size_t rounds_of(const Witness& witness, RacePhase phase) {
  return static_cast<std::size_t>(std::count_if(witness.rounds.begin(), witness.rounds.end(),
                                                [&](const Witness::Round& round) { return round.phase == phase; }));
}

const Measurement& measurement_of(const RaceResult& result, int id) {
  return std::get<Measurement>(result.outcomes.at(id));
}

struct Interrupted : testing::Test {
  void SetUp() override {
    FakeBench bench(landscape(), {}, 1);
    whole = race(bench, entrants(16), kAuthor, {}, witness);
    race_rounds = rounds_of(witness, RacePhase::race);
    confirmation_rounds = rounds_of(witness, RacePhase::confirmation);
    ASSERT_GE(race_rounds, 8u);
    ASSERT_GE(confirmation_rounds, 15u);
  }
  Witness witness;
  RaceResult whole;
  std::size_t race_rounds = 0;
  std::size_t confirmation_rounds = 0;
};

TEST_F(Interrupted, RaceGoesOnAfterTheRoundsThatWereKept) {
  const EarlierRun earlier = interrupted_after(witness, 5, 0);
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  const RaceResult result = race(bench, entrants(16), kAuthor, {}, again, earlier);
  ASSERT_FALSE(again.rounds.empty());
  EXPECT_EQ(again.rounds.front().number, 6) << "the count goes on";
  EXPECT_EQ(again.rounds.front().phase, RacePhase::race);
  const std::vector<Sample>& race_of_best = measurement_of(result, kBest).race;
  ASSERT_GT(race_of_best.size(), 5u);
  for (int round = 1; round <= 5; ++round) {
    const auto place = static_cast<std::size_t>(round) - 1;
    EXPECT_EQ(race_of_best[place], (Sample{round, earlier.race[place].at(code_of(kBest))}));
    EXPECT_EQ(measurement_of(result, kAuthor).race[place].round, round) << "pairs stay together";
  }
}

TEST_F(Interrupted, RaceThatWasOverIsNotRunAgain) {
  const EarlierRun earlier = interrupted_after(witness, race_rounds, 0);
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  race(bench, entrants(16), kAuthor, {}, again, earlier);
  EXPECT_EQ(rounds_of(again, RacePhase::race), 0u);
  EXPECT_GE(rounds_of(again, RacePhase::confirmation), 15u);
}

TEST_F(Interrupted, ConfirmationOfTheSameFinalistsGoesOn) {
  const EarlierRun earlier = interrupted_after(witness, race_rounds, 10);
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  const RaceResult result = race(bench, entrants(16), kAuthor, {}, again, earlier);
  EXPECT_EQ(again.rounds.front().phase, RacePhase::confirmation);
  EXPECT_EQ(again.rounds.front().number, 11);
  const std::vector<Sample>& confirmed = measurement_of(result, kBest).confirmation;
  ASSERT_GE(confirmed.size(), 15u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(confirmed[i].ms, earlier.confirmation[i].at(code_of(kBest)));
  // It is looked at after the same counts of rounds as in a run that was left alone: no look more.
  const std::size_t count = confirmed.size();
  EXPECT_TRUE(std::find(kLooks.begin(), kLooks.end(), static_cast<int>(count)) != kLooks.end()) << count;
}

TEST_F(Interrupted, ConfirmationOfOtherFinalistsStartsAnew) {
  EarlierRun earlier = interrupted_after(witness, race_rounds, 10);
  for (EarlierRun::Round& round : earlier.confirmation) round["a code that is no longer there"] = 1;
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  race(bench, entrants(16), kAuthor, {}, again, earlier);
  EXPECT_EQ(again.rounds.front().phase, RacePhase::confirmation);
  EXPECT_EQ(again.rounds.front().number, 1);
  EXPECT_GE(rounds_of(again, RacePhase::confirmation), 15u);
}

TEST_F(Interrupted, EverythingButTheVerdictNeedsNoRoundMore) {
  const EarlierRun earlier = interrupted_after(witness, race_rounds, confirmation_rounds);
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  const RaceResult result = race(bench, entrants(16), kAuthor, {}, again, earlier);
  // The few with L2 in the other state are taken anew; they decide nothing.
  EXPECT_EQ(rounds_of(again, RacePhase::other_way), again.rounds.size());
  EXPECT_EQ(measurement_of(result, kBest).speedup, measurement_of(whole, kBest).speedup);
}

TEST_F(Interrupted, CodeThatWasFarTooSlowIsNotLaunchedAgain) {
  EarlierRun earlier;
  earlier.first_ms[code_of(kHopelessCode)] = 9;
  earlier.first_ms[code_of(5)] = 1.06;  // left for another reason: it may be checked again
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  const RaceResult result = race(bench, entrants(16), kAuthor, {}, again, earlier);
  EXPECT_FALSE(bench.launches.contains(kHopelessCode));
  EXPECT_TRUE(bench.launches.contains(5));
  EXPECT_TRUE(std::holds_alternative<Abandoned>(result.outcomes.at(kHopelessCode)));
}

TEST_F(Interrupted, CodesThatJoinLaterRaceWithoutTheRoundsTheyMissed) {
  EarlierRun earlier = interrupted_after(witness, 6, 0);
  for (EarlierRun::Round& round : earlier.race) {
    round.erase(code_of(kBest));
    round.erase(code_of(9));
  }
  FakeBench bench(landscape(), {}, 2);
  Witness again;
  const RaceResult result = race(bench, entrants(16), kAuthor, {}, again, earlier);
  const std::vector<Sample>& best = measurement_of(result, kBest).race;
  ASSERT_FALSE(best.empty());
  EXPECT_EQ(best.front().round, 7);
  EXPECT_GT(measurement_of(result, kBest).speedup.low, 1.2);
}

TEST(InterruptedRaces, OfIdenticalCodesNameNoWinnerHoweverOftenTheyAreTakenUp) {
  int won = 0;
  std::mt19937_64 random(3);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::map<int, FakeCode> codes;
    for (int id = 0; id < 12; ++id) codes[id] = {1.0, 0.01, 0.01};
    EarlierRun earlier;
    MeasureSettings settings;
    settings.margin = 0;
    settings.budget_s = 1;
    for (int kill = 0; kill < 4; ++kill) {
      FakeBench bench(codes, {}, seed * 10 + static_cast<std::uint64_t>(kill));
      Witness witness;
      const RaceResult result = race(bench, entrants(12), kAuthor, settings, witness, earlier);
      if (kill == 3) {
        for (const auto& [id, outcome] : result.outcomes)
          if (const auto* measured = std::get_if<Measurement>(&outcome);
              measured && id != kAuthor && measured->speedup.low > 1 && measured->confirmation.size() >= 15) {
            ++won;
            break;
          }
        continue;
      }
      // Killed after any number of its rounds.
      const std::size_t kept = std::uniform_int_distribution<std::size_t>(0, witness.rounds.size())(random);
      for (std::size_t i = 0; i < kept; ++i) {
        if (witness.rounds[i].phase == RacePhase::other_way) break;
        auto& rounds = witness.rounds[i].phase == RacePhase::race ? earlier.race : earlier.confirmation;
        rounds.emplace_back();
        for (const auto& [id, ms] : witness.rounds[i].ms) rounds.back()[code_of(id)] = ms;
      }
    }
  }
  EXPECT_LE(won, 3) << "of 100, at 99 % confidence";
}

}  // namespace
}  // namespace regtune
