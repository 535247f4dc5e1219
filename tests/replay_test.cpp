// Runs recorded on a real GPU (regtune --record) are decided again, and their budgets and refusals are checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "decide.hpp"
#include "from_ptx.hpp"
#include "policy.hpp"
#include "record_json.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

std::filesystem::path records_folder() {
  const char* source = std::getenv("REGTUNE_SOURCE");
  return std::filesystem::path(source ? source : REGTUNE_SOURCE_FOLDER) / "tests/data/h200";
}

std::vector<std::string> record_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(records_folder()))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Replay : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::filesystem::path file = records_folder() / (GetParam() + ".json");
    std::ifstream in(file);
    record_ = record_from_json(nlohmann::json::parse(in), file.string());
    ASSERT_TRUE(record_.gpu);
    ASSERT_GT(record_.trials.size(), 200u);
  }

  std::string spelled(const Trial& trial) const {
    return "variant " + std::to_string(trial.variant.id) + ", " + spell(trial.variant.policy);
  }

  TuningRecord record_;
};

TEST_P(Replay, DecidesAsTheRunDid) {
  ASSERT_TRUE(record_.verdict);
  const Verdict& then = *record_.verdict;
  ASSERT_EQ(choose_reference(record_.trials), then.reference_id);
  const Verdict now = decide(record_.trials, then.reference_id, record_.settings);
  EXPECT_EQ(to_string(now.kind), to_string(then.kind));
  EXPECT_EQ(now.best_id, then.best_id);
  EXPECT_EQ(now.best_in_source_id, then.best_in_source_id);
  EXPECT_EQ(now.speedup, then.speedup);
  EXPECT_EQ(now.speedup_in_source, then.speedup_in_source);
  EXPECT_EQ(now.reason, then.reason);
}

TEST_P(Replay, HasEveryCapInForceOrSaysWhatOverrodeIt) {
  std::vector<int> caps;
  for (const Trial& trial : record_.trials) {
    const auto* cap = std::get_if<RegisterCap>(&trial.variant.policy);
    if (!cap) continue;
    caps.push_back(cap->registers_per_thread);
    if (!trial.facts) continue;
    const Budget& budget = trial.facts->budget;
    EXPECT_EQ(budget.asked, cap->registers_per_thread) << spelled(trial);
    if (budget.status == BudgetStatus::inferred) {  // the code of another cap, under which it fits this one too
      EXPECT_EQ(trial.facts->register_ceiling, 0) << spelled(trial);
      EXPECT_LE(trial.facts->registers_per_thread, cap->registers_per_thread) << spelled(trial);
      EXPECT_NE(budget.note.find("not compiled"), std::string::npos) << spelled(trial) << ": " << budget.note;
      continue;
    }
    EXPECT_LE(trial.facts->registers_per_thread, trial.facts->register_ceiling) << spelled(trial);
    if (budget.status == BudgetStatus::in_force) {
      EXPECT_EQ(trial.facts->register_ceiling, std::max(24, std::min(cap->registers_per_thread, 255)))
          << spelled(trial);
      EXPECT_EQ(budget.note, "") << spelled(trial);
    } else {
      EXPECT_NE(budget.status, BudgetStatus::not_asked) << spelled(trial);
      EXPECT_NE(budget.note.find(std::to_string(cap->registers_per_thread)), std::string::npos)
          << spelled(trial) << ": " << budget.note;
    }
  }
  // Every cap was tried, once for each block.
  std::sort(caps.begin(), caps.end());
  caps.erase(std::unique(caps.begin(), caps.end()), caps.end());
  ASSERT_EQ(caps.size(), 232u);
  EXPECT_EQ(caps.front(), 24);
  EXPECT_EQ(caps.back(), 255);
}

TEST_P(Replay, HasEveryBoundInForceOrSaysWhatOverrodeIt) {
  int bounds_seen = 0;
  for (const Trial& trial : record_.trials) {
    const auto* bounds = std::get_if<LaunchBounds>(&trial.variant.policy);
    if (!bounds || !trial.facts) continue;
    ++bounds_seen;
    const Budget& budget = trial.facts->budget;
    if (budget.status == BudgetStatus::in_force) {
      EXPECT_EQ(trial.facts->register_ceiling, register_ceiling(record_.gpu->limits, *bounds)) << spelled(trial);
      EXPECT_EQ(trial.facts->max_threads_per_block, bounds->max_threads_per_block) << spelled(trial);
      EXPECT_EQ(budget.note, "") << spelled(trial);
    } else {
      EXPECT_NE(budget.status, BudgetStatus::not_asked) << spelled(trial);
      EXPECT_NE(budget.note, "") << spelled(trial);
    }
  }
  if (is_from_ptx(record_))
    EXPECT_EQ(bounds_seen, 0) << "PTX takes caps alone";
  else
    EXPECT_GE(bounds_seen, 2);
}

TEST_P(Replay, HasNoTimeForARefusedLaunch) {
  for (const Trial& trial : record_.trials) {
    if (!trial.facts) {
      EXPECT_TRUE(std::holds_alternative<CompileFailed>(trial.outcome)) << spelled(trial);
      continue;
    }
    const StaticFacts& facts = *trial.facts;
    const BlockResources resources{facts.registers_per_thread, facts.static_shared_bytes,
                                   trial.shape.dynamic_shared_bytes, facts.max_threads_per_block,
                                   facts.required_threads_per_block};
    const auto refused = why_not_launchable(record_.gpu->limits, resources, trial.variant.block);
    EXPECT_EQ(refused.has_value(), !facts.occupancy.has_value()) << spelled(trial);
    const Trial& timed = timed_trial(record_.trials, trial.variant.id);
    if (refused) {
      EXPECT_TRUE(std::holds_alternative<NotLaunchable>(timed.outcome)) << spelled(trial);
      EXPECT_NE(record_.verdict->best_id, trial.variant.id);
      EXPECT_NE(record_.verdict->best_in_source_id, trial.variant.id);
    }
    if (timed.variant.id != trial.variant.id) {
      EXPECT_EQ(facts.code_hash, timed.facts->code_hash) << spelled(trial);
    }
  }
}

TEST_P(Replay, HasAnOutcomeForEveryCodeAndTheReferenceInEveryRound) {
  const Trial& reference = timed_trial(record_.trials, record_.verdict->reference_id);
  const auto* base = std::get_if<Measurement>(&reference.outcome);
  ASSERT_TRUE(base);
  const auto rounds_of = [](const std::vector<Sample>& samples) {
    std::vector<int> rounds;
    for (const Sample& sample : samples) rounds.push_back(sample.round);
    return rounds;
  };
  for (const Trial& trial : record_.trials) {
    EXPECT_FALSE(std::holds_alternative<NotTimed>(trial.outcome)) << spelled(trial);
    const auto* measured = std::get_if<Measurement>(&trial.outcome);
    if (!measured) continue;
    for (const int round : rounds_of(measured->confirmation)) {
      const std::vector<int> all = rounds_of(base->confirmation);
      EXPECT_TRUE(std::find(all.begin(), all.end(), round) != all.end()) << spelled(trial) << ", round " << round;
    }
    for (const Sample& sample : measured->confirmation) EXPECT_GT(sample.ms, 0) << spelled(trial);
  }
}

INSTANTIATE_TEST_SUITE_P(H200, Replay, testing::ValuesIn(record_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace regtune
