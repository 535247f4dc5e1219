// What a race does not spend: rounds, finalists and a warm-up that can change nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_bench.hpp"

namespace regtune {
namespace {

std::map<int, FakeCode> equal_codes(std::size_t count) {
  std::map<int, FakeCode> codes;
  for (std::size_t id = 0; id < count; ++id) codes[static_cast<int>(id)] = {1.0};
  return codes;
}

int rounds_of(const Witness& witness, RacePhase phase) {
  return static_cast<int>(std::count_if(witness.rounds.begin(), witness.rounds.end(),
                                        [&](const Witness::Round& round) { return round.phase == phase; }));
}

TEST(RaceCost, OfCodesThatDoNotGainIsEightRoundsAndTheForemostAreConfirmed) {
  const std::vector<RegisterPolicy> policies = usual_policies(20);
  FakeBench bench(equal_codes(policies.size()), {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of(policies), witness);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::no_gain);
  EXPECT_EQ(rounds_of(witness, RacePhase::race), 8);
  EXPECT_EQ(rounds_of(witness, RacePhase::confirmation), 15);
  int confirmed = 0;
  int ruled_out = 0;
  for (const auto& [id, outcome] : run.result.outcomes) {
    confirmed += std::holds_alternative<Measurement>(outcome) ? 1 : 0;
    const auto* left = std::get_if<Abandoned>(&outcome);
    ruled_out += left && left->reason.find("gains no more than 0.5 % after 8 rounds") == 0 ? 1 : 0;
  }
  EXPECT_LE(confirmed, 3) << "the reference, the foremost, and the foremost in the source";
  EXPECT_GE(confirmed, 2);
  EXPECT_EQ(confirmed + ruled_out, static_cast<int>(policies.size()));
  EXPECT_LT(bench.spent_ms, 320);
}

TEST(RaceCost, IsPaidWhereAGainOfMoreThanTheMarginIsPossible) {
  // 1.5 % in a noise of 1 %: eight rounds rule nothing out.
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<RegisterPolicy> policies = usual_policies(8);
    std::map<int, FakeCode> codes;
    for (int id = 0; id < static_cast<int>(policies.size()); ++id) codes[id] = {1.0, 0.01, 0.01};
    codes[5].ms = 0.985;
    FakeBench bench(codes, {}, seed);
    Witness witness;
    found += run_race(bench, trials_of(policies), witness).verdict.best_id == 5 ? 1 : 0;
  }
  EXPECT_GE(found, 49);
}

TEST(RaceCost, OfAnAuthorAloneIsNoLongWarmUpAndNoRace) {
  FakeBench bench({{0, {1.0}}}, {}, 1);
  Witness witness;
  const SimulatedRun run = run_race(bench, trials_of({AuthorsOwn{}}), witness);
  EXPECT_EQ(bench.warmed_up_ms, 10);
  EXPECT_EQ(rounds_of(witness, RacePhase::race), 0);
  EXPECT_EQ(bench.samples.at(0), 15);
  EXPECT_EQ(run.verdict.kind, Verdict::Kind::no_gain);
  const auto& author = std::get<Measurement>(run.trials.front().outcome);
  EXPECT_NEAR(author.time_ms.median, 1.0, 0.01) << "the report has a time";
}

// Gives codes in waves; the first is that of the start.
class Waves final : public EntrantSource {
 public:
  explicit Waves(std::vector<std::vector<int>> waves) : waves_(std::move(waves)) {}
  std::optional<Entrant> next() override {
    std::vector<int>& now = waves_[wave_];
    if (now.empty()) return {};
    const int id = now.back();
    now.pop_back();
    return Entrant{{id, "k", "", {}}, true};
  }
  bool has_more(const std::vector<int>&) override { return ++wave_ < waves_.size(); }
  bool in_source(int) const override { return true; }
  bool own_name(int) const override { return true; }

 private:
  std::vector<std::vector<int>> waves_;
  std::size_t wave_ = 0;
};

RaceResult race_in_waves(FakeBench& bench, Witness& witness, std::vector<std::vector<int>> waves) {
  Waves source(std::move(waves));
  return race(bench, {{0, "k", "", {}}, true}, source, {}, witness);
}

TEST(RaceCost, OfAWaveThatBringsNobodyIsNoRound) {
  const std::map<int, FakeCode> codes{{0, {1.0}}, {1, {0.9}}, {2, {0.95}}, {3, {9.0}}};
  Witness without;
  FakeBench bench(codes, {}, 1);
  race_in_waves(bench, without, {{1, 2}});
  Witness with;
  FakeBench again(codes, {}, 1);
  const RaceResult result = race_in_waves(again, with, {{1, 2}, {}, {3}});
  EXPECT_EQ(rounds_of(with, RacePhase::race), rounds_of(without, RacePhase::race));
  EXPECT_EQ(again.launches.at(3), 1) << "it was launched, and was hopeless";
  EXPECT_TRUE(std::holds_alternative<Abandoned>(result.outcomes.at(3)));
}

TEST(RaceCost, OfAWaveThatBringsAFastCodeIsEightRounds) {
  FakeBench bench({{0, {1.0}}, {1, {0.9}}, {2, {0.8}}}, {}, 1);
  Witness witness;
  const RaceResult result = race_in_waves(bench, witness, {{1}, {2}});
  EXPECT_EQ(rounds_of(witness, RacePhase::race), 16);
  EXPECT_GT(std::get<Measurement>(result.outcomes.at(2)).speedup.low, 1.2);
}

TEST(RaceCost, HoldsTheWholeWarmUpWhenTheSecondCodeComesLate) {
  FakeBench bench({{0, {1.0}}, {1, {0.9}}}, {}, 1);
  Witness witness;
  const RaceResult result = race_in_waves(bench, witness, {{}, {1}});
  EXPECT_EQ(bench.warmed_up_ms, kWarmUpMs);
  EXPECT_GT(std::get<Measurement>(result.outcomes.at(1)).speedup.low, 1.1);
}

TEST(RaceCost, OfTheOtherWayIsEightRoundsWhereNobodyCanWinThere) {
  const std::vector<RegisterPolicy> policies = usual_policies(4);
  FakeBench same(equal_codes(policies.size()), {}, 1);
  Witness witness;
  run_race(same, trials_of(policies), witness);
  EXPECT_EQ(rounds_of(witness, RacePhase::other_way), 8);

  std::map<int, FakeCode> codes{{0, {1.0}}, {1, {0.9}}, {2, {0.9}}};
  codes[0].cold_ms = 2;
  codes[1].cold_ms = 1.5;
  codes[2].cold_ms = 1.4;
  FakeBench other(codes, {}, 1);
  Witness of_other;
  run_race(other, trials_of({AuthorsOwn{}, RegisterCap{40}, RegisterCap{41}}), of_other);
  EXPECT_EQ(rounds_of(of_other, RacePhase::other_way), 15);
}

}  // namespace
}  // namespace regtune
