// Recorded runs and recorded series are decided again, under what they had and under less.
#include "replay_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "decide.hpp"
#include "policy.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "recorded_series.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

std::filesystem::path record_file(const std::string& name) {
  return source_folder() / "tests/data/h200" / (name + ".json");
}

std::filesystem::path series_file(const std::string& name) {
  return source_folder() / "tests/data/landscapes/raw" / (name + ".json");
}

const Trial& trial_of(const TuningRecord& record, int id) {
  return record.trials.at(static_cast<std::size_t>(id));
}

TEST(ReplayOfARecord, SaysWhatTheRunSaid) {
  for (const char* name :
       {"decay_wide", "saxpy", "matmul_tiled", "nbody", "block_sort", "decay_bounded", "haccmk_ptx"}) {
    const Replay again = replay({record_file(name), {}, {}, {}});
    EXPECT_EQ(again.then, "") << name << ": " << again.then;
    EXPECT_TRUE(again.notes.empty()) << name;
    EXPECT_EQ(again.record.verdict->kind,
              record_from_json(nlohmann::json::parse(std::ifstream(record_file(name))), name).verdict->kind);
  }
}

TEST(ReplayOfARecord, ALargerMarginTakesAwayAWin) {
  const ReplayRequest as_it_was{record_file("decay_wide"), {}, {}, {}};
  const Replay before = replay(as_it_was);
  ASSERT_EQ(before.record.verdict->kind, Verdict::Kind::improved);
  ReplayRequest request = as_it_was;
  request.margin = before.record.verdict->speedup.high - 1 + 0.01;
  const Replay after = replay(request);
  EXPECT_EQ(after.record.verdict->kind, Verdict::Kind::no_gain);
  EXPECT_EQ(after.record.verdict->best_id, after.record.verdict->reference_id);
  EXPECT_NE(after.then, "") << "what the run itself said is told";
  EXPECT_TRUE(holds(replay_text(after, {}), "the run itself said: "));
}

TEST(ReplayOfARecord, ASmallerBudgetLeavesFewerRoundsAndAtLastNone) {
  const auto rounds_under = [](double budget_s) {
    const Replay replayed = replay({record_file("decay_wide"), {}, {}, budget_s});
    const TuningRecord& record = replayed.record;
    const auto* reference = std::get_if<Measurement>(&timed_trial(record.trials, record.verdict->reference_id).outcome);
    return std::pair(reference->race.size() + reference->confirmation.size(), record.verdict->kind);
  };
  const auto whole = rounds_under(60);
  EXPECT_EQ(whole.second, Verdict::Kind::improved);
  std::size_t before = whole.first;
  for (const double budget_s : {1.0, 0.5, 0.2, 0.1, 0.0}) {
    const auto [rounds, kind] = rounds_under(budget_s);
    EXPECT_LE(rounds, before) << budget_s;
    before = rounds;
  }
  EXPECT_EQ(before, 0u) << "no GPU time, no rounds";
  EXPECT_EQ(rounds_under(0).second, Verdict::Kind::inconclusive);
}

TEST(ReplayOfARecord, AHigherConfidenceWidensTheInterval) {
  const auto width = [](double confidence) {
    const Interval speedup = replay({record_file("decay_wide"), {}, confidence, {}}).record.verdict->speedup;
    return speedup.high - speedup.low;
  };
  EXPECT_LT(width(0.9), width(0.999));
}

TEST(ReplayOfARecord, RefusesWhatHoldsNoTimes) {
  const TemporaryFolder folder;
  const auto refusal = [](const std::filesystem::path& file) {
    try {
      replay({file, {}, {}, {}});
    } catch (const Error& error) {
      return std::pair(error.kind(), std::string(error.what()));
    }
    return std::pair(ErrorKind::internal, std::string("no error"));
  };
  EXPECT_EQ(refusal(folder.path() / "none.json").first, ErrorKind::file_not_found);
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"codes": []})", R"({"codes": 3})",
                           R"({"codes": [{"labels": "author"}]})", R"({"format": "regtune record"})"}) {
    const auto [kind, message] = refusal(folder.write("bad.json", text));
    EXPECT_EQ(kind, ErrorKind::bad_description) << text;
    EXPECT_TRUE(holds(message, "bad.json")) << text;
  }
  const auto [kind, message] = refusal(source_folder() / "tests/data/landscapes/decay.json");
  EXPECT_EQ(kind, ErrorKind::bad_description);
  EXPECT_TRUE(holds(message, "no rounds"));
}

TEST(RecordedSeries, RefusesWhatCannotHaveBeenRecorded) {
  const nlohmann::json good = nlohmann::json::parse(std::ifstream(series_file("decay")));
  const auto refused = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    try {
      recorded_sweep_from_json(bad, "bad.json");
    } catch (const Error& error) {
      return error.kind() == ErrorKind::bad_description;
    }
    return false;
  };
  EXPECT_TRUE(refused("/codes/0/labels", "none"));
  EXPECT_TRUE(refused("/codes/3/labels", "cap"));
  EXPECT_TRUE(refused("/codes/3/labels", "lb256"));
  EXPECT_TRUE(refused("/codes/3/median_ms", 0));
  EXPECT_TRUE(refused("/codes/3/regs", "many"));
  EXPECT_TRUE(refused("/codes/3/regs", 1e300)) << "that is no number of registers";
  EXPECT_TRUE(refused("/codes/3/shared", -1));
  EXPECT_TRUE(refused("/codes/3/n", true));
  EXPECT_TRUE(refused("/block", {256, 1}));
  EXPECT_TRUE(refused("/block", {0, 1, 1})) << "occupancy divides by it";
  EXPECT_TRUE(refused("/grid", {1, 1, 65536}));
  EXPECT_TRUE(refused("/architecture", "sm_1"));
  EXPECT_TRUE(refused("/raw_ms/0", nlohmann::json::array({1.0, 2.0})));
  EXPECT_TRUE(refused("/raw_ms/33/5", -1.0));
  EXPECT_FALSE(refused("/gpu", "another"));
}

struct Right {
  const char* file;
  RegisterPolicy best;
  RegisterPolicy in_source;
};

class RawSeriesReplay : public testing::TestWithParam<Right> {};

// A margin of 0.1 %: neighbours that tie within the default margin are told apart, as the series can.
TEST_P(RawSeriesReplay, NamesTheRightBudget) {
  const Replay replayed = replay({series_file(GetParam().file), 0.001, {}, {}});
  const TuningRecord& record = replayed.record;
  const Verdict& verdict = *record.verdict;
  EXPECT_EQ(spell(trial_of(record, verdict.best_id).variant.policy), spell(GetParam().best));
  EXPECT_EQ(spell(trial_of(record, verdict.best_in_source_id).variant.policy), spell(GetParam().in_source));
  EXPECT_EQ(verdict.kind, Verdict::Kind::improved);
  // Kalman's recording holds 50 rounds.
  EXPECT_EQ(replayed.notes.empty(), GetParam().file != std::string("kalman8"));
}

INSTANTIATE_TEST_SUITE_P(H200, RawSeriesReplay,
                         testing::Values(Right{"decay", LaunchBounds{256, 0}, LaunchBounds{256, 0}},
                                         Right{"sgemm_warptile", RegisterCap{172}, MaxRegisters{176}},
                                         Right{"llmc_matmul4", LaunchBounds{256, 2}, LaunchBounds{256, 2}},
                                         Right{"kalman8", RegisterCap{252}, MaxRegisters{240}}),
                         [](const auto& tested) { return tested.param.file; });

TEST(RawSeries, OfDecayHoldCap57AndTheBoundWithinAThousandth) {
  const Replay replayed = replay({series_file("decay"), {}, {}, {}});
  const auto speedup = [&](const RegisterPolicy& policy) {
    for (const Trial& trial : replayed.record.trials)
      if (trial.variant.policy == policy)
        return std::get<Measurement>(timed_trial(replayed.record.trials, trial.variant.id).outcome).speedup.median;
    return 0.0;
  };
  const double cap = speedup(RegisterCap{57});
  const double bound = speedup(LaunchBounds{256, 0});
  EXPECT_NEAR(cap / bound, 1, 0.001);
  EXPECT_NEAR(bound, 1.1143, 0.001);
  EXPECT_EQ(trial_of(replayed.record, replayed.record.verdict->best_id).variant.policy,
            RegisterPolicy(LaunchBounds{256, 0}));
}

TEST(RawSeries, OfRushlarsenLeaveTheAuthorsCodeAlone) {
  for (const double margin : {0.005, 0.001}) {
    const Replay replayed = replay({series_file("rushlarsen"), margin, {}, {}});
    EXPECT_NE(replayed.record.verdict->kind, Verdict::Kind::improved) << margin;
    EXPECT_EQ(replayed.record.verdict->best_id, 0) << margin;
  }
}

}  // namespace
}  // namespace regtune
