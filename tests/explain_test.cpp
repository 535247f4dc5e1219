#include "explain.hpp"

#include <gtest/gtest.h>

#include "record_json.hpp"

namespace regtune {
namespace {

StaticFacts facts_of(int registers, Budget budget) {
  StaticFacts facts;
  facts.registers_per_thread = facts.register_ceiling = registers;
  facts.budget = std::move(budget);
  facts.occupancy = Occupancy{4, 0.5, Limiter::registers};
  return facts;
}

Measurement measured(double ms, double speedup, int confirmed) {
  Measurement m;
  m.time_ms = {ms, ms, ms};
  m.speedup = {speedup - 0.01, speedup, speedup + 0.01};
  for (int i = 1; i <= confirmed; ++i) m.confirmation.push_back({i, ms});
  return m;
}

// A record with a trial of every outcome and every status.
TuningRecord record_of_all() {
  TuningRecord record;
  record.signature = "k(float*)";
  record.architecture = "sm_90";
  record.compiler = "NVRTC 13.0.88";
  record.route = "plain NVRTC: nvJitLink is not installed";
  record.author_shape = {{1, 1, 1}, {256, 1, 1}, 0};
  const auto add = [&](const RegisterPolicy& policy, std::optional<StaticFacts> facts, Outcome outcome) {
    record.trials.push_back({{static_cast<int>(record.trials.size()), policy, {256, 1, 1}},
                             record.author_shape,
                             std::move(facts),
                             std::move(outcome)});
  };
  add(AuthorsOwn{}, facts_of(67, {}), measured(2, 1, 25));
  add(RegisterCap{64}, facts_of(64, {BudgetStatus::in_force, 64, ""}), measured(1, 2, 25));
  add(LaunchBounds{256, 4}, facts_of(64, {BudgetStatus::in_force, 64, ""}), SameCodeAs{1});
  add(RegisterCap{20}, facts_of(24, {BudgetStatus::clamped, 20, "20 was raised to 24"}),
      Abandoned{"its first launch took 3.00 times the fastest's", {}});
  add(RegisterCap{255}, facts_of(67, {BudgetStatus::inert, 255, "255 is the ceiling without a budget too"}),
      measured(2, 1, 0));
  add(RegisterCap{80}, facts_of(64, {BudgetStatus::overridden, 80, "the ceiling of 64 is set by X"}),
      WrongResult{"out[3] is 1, not 2"});
  add(RegisterCap{24}, std::nullopt, CompileFailed{"ptxas error: no registers\nsecond line"});
  add(RegisterCap{25}, std::nullopt, NotCompiled{"the compile budget was spent"});
  add(RegisterCap{26}, facts_of(26, {BudgetStatus::in_force, 26, ""}), Faulted{"an illegal address"});
  add(RegisterCap{27}, facts_of(27, {BudgetStatus::in_force, 27, ""}), TimedOut{250});
  add(RegisterCap{28}, facts_of(28, {BudgetStatus::in_force, 28, ""}), NotTimed{});
  StaticFacts refused = facts_of(29, {BudgetStatus::in_force, 29, ""});
  refused.occupancy.reset();
  refused.spill_store_bytes = 8;
  refused.spill_load_bytes = 12;
  add(RegisterCap{29}, refused, NotLaunchable{"too many threads"});
  record.verdict = Verdict{Verdict::Kind::improved, 0, 1, 2, {1.99, 2, 2.01}, {1.99, 2, 2.01}, "it lies above"};
  return record;
}

TEST(Explain, GivesEveryVariantItsLine) {
  const TuningRecord record = record_of_all();
  const std::vector<std::string> lines{
      "#0 author's code: no budget asked for; 67 registers, 50.0 % occupancy; confirmed in 25 rounds: 2 ms, 1.000x "
      "(0.990 to 1.010); the reference",
      "#1 --maxrregcount=64: in force, with a ceiling of 64 registers; 64 registers, 50.0 % occupancy; confirmed in 25 "
      "rounds: 1 ms, 2.000x (1.990 to 2.010); chosen: the best",
      "#2 __launch_bounds__(256, 4): in force, with a ceiling of 64 registers; 64 registers, 50.0 % occupancy; same "
      "code as #1, --maxrregcount=64; chosen: the best in the source",
      "#3 --maxrregcount=20: clamped: 20 was raised to 24; 24 registers, 50.0 % occupancy; left the race: its first "
      "launch took 3.00 times the fastest's",
      "#4 --maxrregcount=255: inert: 255 is the ceiling without a budget too; 67 registers, 50.0 % occupancy; raced to "
      "the end and is no finalist: 2 ms, 1.000x (0.990 to 1.010)",
      "#5 --maxrregcount=80: overridden: the ceiling of 64 is set by X; 64 registers, 50.0 % occupancy; dropped, its "
      "result is wrong: out[3] is 1, not 2",
      "#6 --maxrregcount=24: does not compile: ptxas error: no registers",
      "#7 --maxrregcount=25: not compiled: the compile budget was spent",
      "#8 --maxrregcount=26: in force, with a ceiling of 26 registers; 26 registers, 50.0 % occupancy; dropped, it "
      "faulted: an illegal address",
      "#9 --maxrregcount=27: in force, with a ceiling of 27 registers; 27 registers, 50.0 % occupancy; dropped, one "
      "launch took longer than 250 ms",
      "#10 --maxrregcount=28: in force, with a ceiling of 28 registers; 28 registers, 50.0 % occupancy; not timed: no "
      "GPU ran it",
      "#11 --maxrregcount=29: in force, with a ceiling of 29 registers; 29 registers, spills 8/12 bytes; cannot be "
      "launched: too many threads"};
  ASSERT_EQ(record.trials.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(explain_trial(record, record.trials[i]), lines[i]);
}

TEST(Explain, SaysWhereSpillsWentAndWhyTheyMayNot) {
  TuningRecord record = record_of_all();
  Trial trial = record.trials[2];
  trial.variant.choice.spills_to_shared = true;
  trial.facts->spill_store_bytes = 148;
  trial.facts->spill_load_bytes = 140;
  trial.facts->shared_spill_store_bytes = 108;
  trial.facts->shared_spill_load_bytes = 148;
  trial.facts->static_shared_bytes = 19456;
  trial.outcome = NotTimed{};
  record.trials[2] = trial;
  EXPECT_TRUE(explain_trial(record, trial)
                  .starts_with("#2 __launch_bounds__(256, 4) + smem spill: in force, with a ceiling of 64 registers; "
                               "64 registers, spills "
                               "148/140 bytes to local and 108/148 to shared memory, of which a block takes 19456 "
                               "bytes, 50.0 % occupancy; "
                               "not timed: no"))
      << explain_trial(record, trial);
  trial.facts.reset();
  trial.outcome = NotApplicable{"ptxas: Pragma is not allowed"};
  record.trials[2] = trial;
  EXPECT_TRUE(
      explain_trial(record, trial)
          .starts_with("#2 __launch_bounds__(256, 4) + smem spill: not applicable: ptxas: Pragma is not allowed"))
      << explain_trial(record, trial);
}

TEST(Explain, SaysByWhomAFinalistIsBeaten) {
  TuningRecord record = record_of_all();
  record.trials[4].outcome = measured(1.5, 1.3, 25);
  EXPECT_TRUE(explain_trial(record, record.trials[4]).ends_with("; beaten by #1"));
  record.trials[4].outcome = measured(0.999, 2.002, 25);
  EXPECT_TRUE(
      explain_trial(record, record.trials[4]).ends_with("; as fast as #1 within the margin, which is preferred"));
  record.verdict->kind = Verdict::Kind::no_gain;
  EXPECT_TRUE(explain_trial(record, record.trials[4]).ends_with("; no gain that counts"));
}

TEST(Explain, BeginsWithTheWayToTheMachineCodeAndTheVerdict) {
  const std::string text = explanation(record_of_all());
  EXPECT_EQ(
      text.rfind(
          "\nwhy, for k(float*) on sm_90\ncompiler: NVRTC 13.0.88\nway to the machine code: plain NVRTC: "
          "nvJitLink is not installed\noccupancy: 67 registers x 256 threads: registers hold it at 3 blocks per SM "
          "(37.5 % of its warps)\nwhat would change it: 64 registers would allow 4; threads would allow 8, block "
          "slots 32\nverdict: improved: it lies above\n#0 author's code: ",
          0),
      0u)
      << text;
}

TEST(Explain, SaysTheSameOfARecordThatWasReadBack) {
  const TuningRecord record = record_of_all();
  EXPECT_EQ(explanation(record_from_json(record_json(record), "record")), explanation(record));
}

TEST(Explain, OfALeftAloneKernelNamesNoChoice) {
  TuningRecord record = record_of_all();
  record.verdict->kind = Verdict::Kind::no_gain;
  record.verdict->best_id = record.verdict->best_in_source_id = 0;
  EXPECT_EQ(explanation(record).find("chosen"), std::string::npos);
}

}  // namespace
}  // namespace regtune
