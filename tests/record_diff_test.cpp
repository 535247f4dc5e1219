#include "record_diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policy.hpp"
#include "program.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

TuningRecord recorded(const std::string& name) {
  const std::filesystem::path file = source_folder() / "tests/data/h200" / (name + ".json");
  return record_from_json(nlohmann::json::parse(std::ifstream(file)), file.string());
}

void scale(Measurement& measured, double factor) {
  for (std::vector<Sample>* part : {&measured.race, &measured.confirmation, &measured.other_way})
    for (Sample& sample : *part) sample.ms *= factor;
  for (double* end : {&measured.time_ms.low, &measured.time_ms.median, &measured.time_ms.high}) *end *= factor;
}

Measurement& measured(TuningRecord& record, int id) {
  return std::get<Measurement>(record.trials.at(static_cast<std::size_t>(id)).outcome);
}

const TimeDrift& of_author(const RecordDiff& diff) {
  return *std::find_if(diff.times.begin(), diff.times.end(),
                       [](const TimeDrift& drift) { return drift.variant.id == 0; });
}

TEST(RecordDiff, ARunIsTheSameAsItself) {
  for (const char* name : {"decay_wide", "matmul_registers", "saxpy", "decay_indexed"}) {
    const TuningRecord record = recorded(name);
    const RecordDiff diff = record_diff(record, record);
    EXPECT_TRUE(diff.same()) << name;
    EXPECT_TRUE(diff.changes.empty());
    EXPECT_EQ(diff.in_both, record.trials.size());
    EXPECT_EQ(diff.only_before + diff.only_after + diff.other_code, 0u);
    EXPECT_FALSE(diff.times.empty());
  }
}

TEST(RecordDiff, WhatItRanUnderIsToldAndIsNoDifference) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  after.gpu->driver_version = "590.1";
  after.compiler = "NVRTC 13.1";
  after.source_hash = "another";
  const RecordDiff diff = record_diff(before, after);
  ASSERT_EQ(diff.changes.size(), 3u);
  EXPECT_EQ(diff.changes[0].what, "driver");
  EXPECT_EQ(diff.changes[0].before, "580.159.04");
  EXPECT_EQ(diff.changes[0].after, "590.1");
  EXPECT_TRUE(diff.same());
}

void scale_gain(Measurement& measured, double factor) {
  for (double* end : {&measured.speedup.low, &measured.speedup.median, &measured.speedup.high}) *end *= factor;
}

TEST(RecordDiff, ATimeDriftsWhenTheIntervalsLieApart) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  after.gpu->driver_version = "590.1";
  scale(measured(after, 0), 1.02);
  RecordDiff diff = record_diff(before, after);
  EXPECT_EQ(of_author(diff).kind, TimeDrift::Kind::slower);
  EXPECT_FALSE(of_author(diff).beside_authors);
  EXPECT_NEAR(of_author(diff).ratio.median, 1.02, 1e-9);
  EXPECT_LT(of_author(diff).ratio.low, 1.02);
  EXPECT_GT(of_author(diff).ratio.high, 1.02);
  EXPECT_FALSE(diff.same());
  diff = record_diff(after, before);
  EXPECT_EQ(of_author(diff).kind, TimeDrift::Kind::faster);
  // Apart, and less than the margin: no difference that anybody asked for.
  TuningRecord little = before;
  scale(measured(little, 0), 1.004);
  EXPECT_EQ(of_author(record_diff(before, little)).kind, TimeDrift::Kind::within_noise);
}

TEST(RecordDiff, OneCodeOnOneGpuUnderOneDriverDriftsWithTheMachine) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  const int best = before.verdict->best_id;
  scale(measured(after, 0), 1.01);
  scale(measured(after, best), 1.01);  // all alike: what was gained is what it was
  RecordDiff diff = record_diff(before, after);
  EXPECT_EQ(of_author(diff).kind, TimeDrift::Kind::slower) << "it is told";
  EXPECT_TRUE(diff.authors_drift_is_the_machines);
  EXPECT_TRUE(diff.same()) << "and is no difference of the runs";
  scale(measured(after, best), 1.03);
  scale_gain(measured(after, best), 1 / 1.03);
  diff = record_diff(before, after);
  const auto of_best = std::find_if(diff.times.begin(), diff.times.end(),
                                    [&](const TimeDrift& drift) { return drift.variant.id == best; });
  ASSERT_NE(of_best, diff.times.end());
  EXPECT_TRUE(of_best->beside_authors);
  EXPECT_EQ(of_best->kind, TimeDrift::Kind::slower);
  EXPECT_NEAR(of_best->ratio.median, 1.03, 1e-9);
  EXPECT_FALSE(diff.same());
  // Where the author's code is another, nothing is left to compare beside.
  after.trials[0].facts->code_hash = "another";
  EXPECT_FALSE(record_diff(before, after).authors_drift_is_the_machines);
}

TEST(RecordDiff, AFewSamplesSayNothing) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  scale(measured(after, 0), 2);
  measured(after, 0).confirmation.resize(3);
  EXPECT_EQ(of_author(record_diff(before, after)).kind, TimeDrift::Kind::too_few_samples);
}

TEST(RecordDiff, RegistersSpillsAndFailuresDrift) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  after.trials[20].facts->registers_per_thread += 2;
  after.trials[21].facts->spill_store_bytes += 8;
  after.trials[22].facts->code_hash = "another";
  after.trials[0].outcome = Faulted{"illegal address"};
  after.trials.pop_back();
  const RecordDiff diff = record_diff(before, after);
  ASSERT_EQ(diff.facts.size(), 2u);
  EXPECT_EQ(diff.facts[0].registers_after - diff.facts[0].registers_before, 2);
  EXPECT_EQ(diff.facts[1].spills_after - diff.facts[1].spills_before, 8);
  EXPECT_EQ(diff.other_code, 1u);
  EXPECT_EQ(diff.only_before, 1u);
  ASSERT_FALSE(diff.fates.empty());
  EXPECT_EQ(diff.fates[0].before, "works");
  EXPECT_EQ(diff.fates[0].after, "faulted");
  EXPECT_FALSE(diff.same());
}

TEST(RecordDiff, TheEarlierWinnerHasItsPrice) {
  const TuningRecord before = recorded("matmul_registers");
  TuningRecord after = before;
  const auto cap_88 = std::find_if(after.trials.begin(), after.trials.end(), [](const Trial& trial) {
    return trial.variant.policy == RegisterPolicy(RegisterCap{88}) && trial.variant.choice.is_authors();
  });
  ASSERT_NE(cap_88, after.trials.end());
  ASSERT_TRUE(std::holds_alternative<Measurement>(cap_88->outcome));
  scale(std::get<Measurement>(cap_88->outcome), 0.9);
  after.verdict->best_id = cap_88->variant.id;
  const RecordDiff diff = record_diff(before, after);
  EXPECT_TRUE(diff.winner.changed);
  EXPECT_EQ(diff.winner.before->policy, RegisterPolicy(RegisterCap{87}));
  EXPECT_EQ(diff.winner.after->policy, RegisterPolicy(RegisterCap{88}));
  ASSERT_TRUE(diff.winner.cost_of_keeping);
  EXPECT_TRUE(diff.winner.cost_is_known);
  EXPECT_NEAR(diff.winner.cost_of_keeping->median, 1.045 / (1.049 * 0.9), 0.005);
  EXPECT_FALSE(diff.same());
}

TEST(RecordDiff, AWinThatIsGoneIsAChange) {
  const TuningRecord before = recorded("decay_wide");
  TuningRecord after = before;
  after.verdict->kind = Verdict::Kind::no_gain;
  after.verdict->best_id = after.verdict->best_in_source_id = 0;
  const RecordDiff diff = record_diff(before, after);
  EXPECT_TRUE(diff.winner.changed);
  EXPECT_TRUE(diff.winner.before.has_value());
  EXPECT_FALSE(diff.winner.after.has_value());
}

TEST(RecordDiff, AnotherBudgetOfTheWinnersCodeIsNoChange) {
  const TuningRecord before = recorded("decay_wide");
  const int best = before.verdict->best_id;
  const auto same = std::find_if(before.trials.begin(), before.trials.end(), [&](const Trial& trial) {
    const auto* as = std::get_if<SameCodeAs>(&trial.outcome);
    return as && as->variant_id == best;
  });
  ASSERT_NE(same, before.trials.end());
  TuningRecord after = before;
  after.verdict->best_id = same->variant.id;
  EXPECT_FALSE(record_diff(before, after).winner.changed);
}

}  // namespace
}  // namespace regtune
