#include "report.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace regtune {
namespace {

constexpr Dim3 kBlock{256, 1, 1};

Measurement measured(double ms, double speedup) {
  return {{}, {{1, ms}}, {ms - 0.001, ms, ms + 0.001}, {speedup - 0.002, speedup, speedup + 0.002}};
}

struct Spills {
  int store = 0;
  int load = 0;
  int stack = 0;
};

TuningRecord record_with_gpu() {
  TuningRecord record;
  record.regtune_version = "0.1.0";
  record.started = "2026-01-02T03:04:05Z";
  record.architecture = "sm_90";
  record.gpu = GpuState{{"NVIDIA H200", 9, 0, 132}, gpu_limits(9, 0).value(), "580.159.04", 0, 0, {}};
  record.compiler = "NVRTC 13.0.88";
  record.signature = "decayWide(const float*, float*, unsigned long)";
  record.sizes = {{"m", 4}, {"n", 16777216}};
  record.author_shape = {{65536, 1, 1}, kBlock, 0};
  record.verdict = Verdict{};
  record.verdict->speedup = record.verdict->speedup_in_source = {1, 1, 1};
  return record;
}

Trial& add(TuningRecord& record, const RegisterPolicy& policy, int registers, const Outcome& outcome,
           const Spills& spills = {}) {
  Trial trial;
  trial.variant.id = static_cast<int>(record.trials.size());
  trial.variant.policy = policy;
  trial.variant.block = kBlock;
  trial.shape = {{65536, 1, 1}, kBlock, 0};
  trial.outcome = outcome;
  if (!std::holds_alternative<CompileFailed>(outcome) && !std::holds_alternative<NotCompiled>(outcome)) {
    trial.facts.emplace();
    trial.facts->registers_per_thread = registers;
    trial.facts->spill_store_bytes = spills.store;
    trial.facts->spill_load_bytes = spills.load;
    trial.facts->stack_frame_bytes = spills.stack;
    if (!std::holds_alternative<NotLaunchable>(outcome)) trial.facts->occupancy = Occupancy{4, 0.5, Limiter::registers};
  }
  record.trials.push_back(trial);
  return record.trials.back();
}

// The author's code, a bound that wins, a flag that wins by more, and one that spills.
TuningRecord improved_record() {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 55, measured(1.439, 1));
  add(record, CompilerDefault{}, 55, SameCodeAs{0});
  add(record, RegisterCap{48}, 48, measured(2.352, 0.612), {48, 52, 56});
  add(record, RegisterCap{57}, 56, measured(1.251, 1.15));
  add(record, LaunchBounds{256, 0}, 63, measured(1.291, 1.115));
  add(record, RegisterCap{58}, 56, SameCodeAs{3});
  record.verdict = Verdict{Verdict::Kind::improved, 0, 3, 4, {1.148, 1.15, 1.152}, {1.113, 1.115, 1.117}, "reason"};
  return record;
}

std::string report(const TuningRecord& record, bool all_rows = false) {
  return report_text(record, "", {all_rows});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (holds(line, part)) found.push_back(line);
  return found;
}

std::string line_with(const std::string& text, const std::string& part) {
  const std::vector<std::string> lines = lines_with(text, part);
  EXPECT_EQ(lines.size(), 1u) << "'" << part << "' in:\n" << text;
  return lines.empty() ? "" : lines[0];
}

std::string squeezed(const std::string& line) {
  std::string text;
  for (const char c : line)
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  return text;
}

TEST(Report, OpensWithWhereAndWhat) {
  const std::string text = report_text(improved_record(), "/c/regtune.db", {});
  EXPECT_EQ(text.rfind("regtune 0.1.0 | NVIDIA H200, sm_90, 132 SMs | driver 580.159.04 | NVRTC 13.0.88 | "
                       "cache /c/regtune.db\n",
                       0),
            0u)
      << text;
  EXPECT_TRUE(holds(text,
                    "decayWide(const float*, float*, unsigned long)   m = 4   n = 16777216   block 256   "
                    "grid 65536\n"))
      << text;
  EXPECT_TRUE(holds(text, "compiled 6 variants -> 4 distinct codes\n")) << text;
  EXPECT_TRUE(holds(text, "stored for NVIDIA H200, m=4, n=16777216\n")) << text;
  EXPECT_FALSE(holds(report(improved_record()), "stored for"));
}

TEST(Report, RowsAreDistinctCodesFastestFirst) {
  const std::string text = report(improved_record());
  EXPECT_EQ(squeezed(line_with(text, "--maxrregcount=57..58")),
            "56 0/0 0 50.0 % registers 1.251 +-0.001 1.15x --maxrregcount=57..58 <- best");
  EXPECT_EQ(squeezed(line_with(text, "__launch_bounds__(256)   ")),
            "63 0/0 0 50.0 % registers 1.291 +-0.001 1.11x __launch_bounds__(256) <- write this");
  EXPECT_EQ(squeezed(line_with(text, "author's code, no bound")),
            "55 0/0 0 50.0 % registers 1.439 +-0.001 1.00x author's code, no bound, no cap");
  EXPECT_EQ(squeezed(line_with(text, "--maxrregcount=48")),
            "48 48/52 56 50.0 % registers 2.352 +-0.001 0.61x --maxrregcount=48");
  EXPECT_LT(text.find("57..58"), text.find("author's code, no bound"));
  EXPECT_LT(text.find("author's code, no bound"), text.find("maxrregcount=48"));
}

TEST(Report, ColumnsStandUnderTheirHeads) {
  const std::string text = report(improved_record());
  const std::string head = line_with(text, "registers  spill");
  const std::string row = line_with(text, "--maxrregcount=48");
  EXPECT_EQ(head.find("budget"), row.find("--maxrregcount=48"));
  EXPECT_EQ(head.find("spill st/ld") + 11, row.find("48/52") + 5);
  EXPECT_EQ(head.find("vs author's") + 11, row.find("0.61x") + 5);
}

TEST(Report, OneMarkWhereTheBestCanBeWritten) {
  TuningRecord record = improved_record();
  record.verdict->best_id = 4;
  record.verdict->speedup = record.verdict->speedup_in_source;
  const std::string text = report(record);
  EXPECT_TRUE(holds(line_with(text, "<- write this"), "__launch_bounds__(256)"));
  EXPECT_FALSE(holds(text, "<- best"));
  EXPECT_TRUE(holds(text,
                    "best: 1.11x faster than the author's code (1.113 to 1.117 with 99 % confidence):  "
                    "__launch_bounds__(256)\n"))
      << text;
  EXPECT_TRUE(holds(text, "in the source: the same")) << text;
}

TEST(Report, AFasterFlagIsSaidBesideTheFormInTheSource) {
  const std::string text = report(improved_record());
  EXPECT_TRUE(holds(text,
                    "best: 1.15x faster than the author's code (1.148 to 1.152 with 99 % confidence):  "
                    "--maxrregcount=57\n"))
      << text;
  EXPECT_TRUE(holds(text, "in the source: 1.11x faster:  __launch_bounds__(256)\n")) << text;
}

TEST(Report, AGainThatOnlyAFlagGivesIsSaid) {
  TuningRecord record = improved_record();
  record.verdict->best_in_source_id = 0;
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "nothing that can be written there is faster; the gain needs the flag")) << text;
  EXPECT_FALSE(holds(text, "<- write this"));
}

TEST(Report, NoGainAndInconclusiveLeaveTheCodeAlone) {
  for (const auto& [kind, said] :
       {std::pair{Verdict::Kind::no_gain,
                  "no significant gain over the author's code: why it is. Leave it as it is.\n"},
        std::pair{Verdict::Kind::inconclusive, "inconclusive: why it is. Until then, leave it as it is.\n"}}) {
    TuningRecord record = improved_record();
    record.verdict = Verdict{kind, 0, 0, 0, {1, 1, 1}, {1, 1, 1}, "why it is"};
    const std::string text = report(record);
    EXPECT_TRUE(holds(text, said)) << text;
    EXPECT_FALSE(holds(text, "<-")) << "nothing is to be written: " << text;
    EXPECT_FALSE(holds(text, "best:")) << text;
  }
}

TEST(Report, SaysHowNearTheBestOfTheOthersCame) {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 55, measured(1.439, 1));
  add(record, CompilerDefault{}, 55, SameCodeAs{0});
  add(record, RegisterCap{48}, 48, measured(1.45, 0.99));
  add(record, RegisterCap{57}, 56, measured(1.437, 1.0014));
  record.verdict = Verdict{Verdict::Kind::no_gain, 0, 0, 0, {1, 1, 1}, {1, 1, 1}, "why it is"};
  EXPECT_TRUE(holds(report(record), "the nearest other: 1.0014x (0.9994 to 1.0034):  --maxrregcount=57\n"))
      << report(record);
  EXPECT_FALSE(holds(report(improved_record()), "the nearest other"));
  record.trials.resize(2);
  EXPECT_FALSE(holds(report(record), "the nearest other")) << "there is none";
}

TEST(Report, AStandInForCodeThatCannotBeLaunchedIsNamed) {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 96, NotLaunchable{"1,024 threads x 96 registers are too many"});
  add(record, RegisterCap{64}, 64, measured(2, 1));
  add(record, LaunchBounds{1024, 1}, 64, measured(1.6, 1.25));
  record.verdict =
      Verdict{Verdict::Kind::improved, 1, 2, 2, {1.2, 1.25, 1.3}, {1.2, 1.25, 1.3}, "it cannot be launched"};
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "vs reference"));
  EXPECT_TRUE(holds(text, "the author's code cannot be launched: 1,024 threads x 96 registers are too many\n")) << text;
  EXPECT_TRUE(holds(text, "best: 1.25x faster than --maxrregcount=64 (")) << text;
  EXPECT_EQ(squeezed(line_with(text, "     96 ")), "96 0/0 0 none cannot launch author's code");
}

TEST(Report, AStandInThatNothingBeatsIsNotCalledFasterThanItself) {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 96, NotLaunchable{"too many registers"});
  add(record, RegisterCap{64}, 64, measured(2, 1));
  record.verdict = Verdict{Verdict::Kind::improved, 1, 1, 1, {1, 1, 1}, {1, 1, 1}, "it cannot be launched"};
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "best: --maxrregcount=64: it cannot be launched\n")) << text;
  EXPECT_FALSE(holds(text, "faster than")) << text;
  EXPECT_FALSE(holds(text, "in the source")) << "a flag cannot be written there: " << text;
}

TEST(Report, WithoutAGpuThereAreFactsAndNoTimes) {
  TuningRecord record = improved_record();
  record.gpu.reset();
  record.verdict.reset();
  for (Trial& trial : record.trials)
    if (!std::holds_alternative<SameCodeAs>(trial.outcome)) trial.outcome = NotTimed{};
  const std::string text = report(record);
  EXPECT_EQ(text.rfind("regtune 0.1.0 | no GPU, sm_90 | NVRTC 13.0.88\n", 0), 0u) << text;
  EXPECT_TRUE(holds(text, "nothing was timed and nothing stored"));
  EXPECT_FALSE(holds(text, "time (ms)"));
  EXPECT_FALSE(holds(text, "best"));
  EXPECT_EQ(squeezed(line_with(text, "--maxrregcount=48")), "48 48/52 56 50.0 % registers --maxrregcount=48");
  EXPECT_LT(text.find("__launch_bounds__(256)"), text.find("--maxrregcount=57")) << "most registers first";
}

TEST(Report, SaysWhatTheCompileBudgetLeftOut) {
  TuningRecord record = improved_record();
  for (const int cap : {100, 101, 102, 104}) add(record, RegisterCap{cap}, 0, NotCompiled{"the time was up"});
  EXPECT_TRUE(holds(report(record), "compiled 6 variants -> 4 distinct codes\n")) << report(record);
  const std::string said =
      "4 of 10 budgets were not compiled, and one of them may be better: --maxrregcount=100..102, "
      "--maxrregcount=104: the time was up\n";
  EXPECT_TRUE(holds(report(record), said)) << report(record);
  EXPECT_TRUE(holds(answer_text(record), said)) << "who looks it up is told too";
  record.trials.back().variant.choice.renamed = true;
  EXPECT_TRUE(holds(report(record), "--maxrregcount=100..102; 1 with another name, macro, option or block: the time"))
      << report(record);
  EXPECT_FALSE(holds(report(improved_record()), "not compiled"));
}

// 30 codes, each slower than the one before; the author's is the slowest.
TuningRecord long_record() {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 99, measured(50, 1));
  for (int i = 1; i < 30; ++i) add(record, RegisterCap{100 + i}, i, measured(i, 1 + 0.5 / i));
  record.verdict = Verdict{Verdict::Kind::no_gain, 0, 0, 0, {1, 1, 1}, {1, 1, 1}, "none"};
  return record;
}

TEST(Report, LongTablesHideTheSlowAndNeverTheAuthors) {
  const std::string text = report(long_record());
  EXPECT_EQ(lines_with(text, " +-0.001 ").size(), 13u) << "with the author's";
  EXPECT_EQ(lines_with(text, "50.000 +-0.001").size(), 1u) << text;
  EXPECT_TRUE(holds(text, "... and 17 more codes (--all shows them)\n")) << text;
}

TEST(Report, AllRowsAreShownWhenAskedFor) {
  const std::string text = report(long_record(), true);
  EXPECT_EQ(lines_with(text, " +-0.001 ").size(), 30u);
  EXPECT_FALSE(holds(text, "more codes"));
}

TEST(Report, TheOneToWriteIsShownHoweverSlowItIs) {
  TuningRecord record = long_record();
  record.trials[29].variant.policy = LaunchBounds{256, 1};
  record.verdict = Verdict{Verdict::Kind::improved, 0, 1, 29, {1.4, 1.5, 1.6}, {1.01, 1.02, 1.03}, ""};
  EXPECT_TRUE(holds(line_with(report(record), "<- write this"), "__launch_bounds__(256, 1)"));
}

TEST(Report, SaysWhatIsSpilledToSharedMemoryAndWhereThatIsRefused) {
  TuningRecord record = improved_record();
  Trial& spilling = add(record, LaunchBounds{256, 8}, 32, measured(0.5, 2), {148, 140, 128});
  spilling.variant.choice.spills_to_shared = true;
  spilling.facts->shared_spill_store_bytes = 108;
  spilling.facts->shared_spill_load_bytes = 148;
  spilling.facts->static_shared_bytes = 19456;
  record.verdict->best_id = record.verdict->best_in_source_id = spilling.variant.id;
  for (const int blocks : {1, 2}) {
    Trial& refused = add(record, LaunchBounds{256, blocks}, 0, NotApplicable{"ptxas: Pragma is not allowed"});
    refused.variant.choice.spills_to_shared = true;
    refused.facts.reset();
  }
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "     148/140    128 ")) << text;
  EXPECT_TRUE(holds(text,
                    "__launch_bounds__(256, 8) + smem spill (and 108/148 bytes to 19456 of shared memory)   <- write "
                    "this\n"))
      << text;
  EXPECT_TRUE(holds(text, "not applicable: __launch_bounds__(256, 1..2) + smem spill: ptxas: Pragma is not allowed\n"))
      << text;
  EXPECT_FALSE(holds(text, "not compiled")) << "no failure of the compiler's";
  EXPECT_TRUE(holds(text, "in the source: the same")) << text;
}

TEST(Report, EveryFailureIsSaidOnceAndNeverHidden) {
  TuningRecord record = long_record();
  add(record, RegisterCap{24}, 24, Faulted{"an illegal address was read"});
  add(record, RegisterCap{25}, 25, TimedOut{10000});
  add(record, RegisterCap{26}, 26, WrongResult{"out[3] is 1, not 2"});
  add(record, RegisterCap{27}, 0, CompileFailed{"ptxas error: no registers\nsecond line"});
  add(record, RegisterCap{29}, 29, Quarantined{"it faulted: an illegal address", "2026-01-02T03:04:05Z"});
  add(record, RegisterCap{28}, 0, CompileFailed{"ptxas error: no registers\nsecond line"});
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "compiled 34 variants -> 34 distinct codes\n")) << text;
  EXPECT_TRUE(holds(text, "faulted, dropped: --maxrregcount=24: an illegal address was read\n")) << text;
  EXPECT_TRUE(holds(text, "stopped after 10000 ms, dropped: --maxrregcount=25\n")) << text;
  EXPECT_TRUE(holds(text, "wrong result, dropped: --maxrregcount=26: out[3] is 1, not 2\n")) << text;
  EXPECT_TRUE(holds(text,
                    "not launched, in quarantine since 2026-01-02T03:04:05Z: --maxrregcount=29: it faulted: an illegal "
                    "address; --retry-quarantined launches it again\n"))
      << text;
  EXPECT_EQ(lines_with(text, " in quarantine   ").size(), 1u) << text;
  EXPECT_TRUE(holds(text, "not compiled: --maxrregcount=27..28: ptxas error: no registers\n")) << text;
  EXPECT_FALSE(holds(text, "second line"));
  EXPECT_EQ(lines_with(text, " faulted   ").size(), 1u) << text;
  EXPECT_EQ(lines_with(text, " timed out   ").size(), 1u) << text;
  EXPECT_EQ(lines_with(text, " wrong result   ").size(), 1u) << text;
}

TEST(Report, ACodeThatLeftTheRaceShowsTheTimeItHad) {
  TuningRecord record = improved_record();
  record.trials[2].outcome = Abandoned{"slower by half", measured(2.352, 0.612)};
  EXPECT_TRUE(holds(line_with(report(record), "--maxrregcount=48"), "2.352 +-0.001        0.61x"));
  record.trials[2].outcome = Abandoned{"slower by half", {}};
  EXPECT_EQ(squeezed(line_with(report(record), "--maxrregcount=48")),
            "48 48/52 56 50.0 % registers - --maxrregcount=48");
}

TEST(Report, DiagnosesAStackFrameThatNoBudgetCures) {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 40, measured(1, 1), {0, 0, 32});
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "a stack frame of 32 bytes and spills nothing")) << text;
  EXPECT_TRUE(holds(text, "no register budget can cure that")) << text;
  EXPECT_FALSE(holds(text, "a larger budget can cure")) << text;
}

TEST(Report, DiagnosesSpillsThatALargerBudgetCures) {
  TuningRecord record = record_with_gpu();
  add(record, AuthorsOwn{}, 40, measured(1, 1), {48, 52, 56}).facts->budget = {BudgetStatus::clamped, 16,
                                                                               "raised to 24"};
  const std::string text = report(record);
  EXPECT_TRUE(holds(text, "spills: 48 bytes stored and 52 loaded per thread; a larger budget can cure that\n")) << text;
  EXPECT_FALSE(holds(text, "no register budget can cure")) << text;
  EXPECT_TRUE(holds(text, "the author's budget: raised to 24\n")) << text;
  EXPECT_FALSE(holds(report(improved_record()), "can cure")) << "spills of others are not the author's";
}

TEST(Report, BlocksAreNamedWhereThereAreSeveral) {
  TuningRecord record = improved_record();
  Trial& other = add(record, RegisterCap{64}, 63, measured(1.1, 1.3));
  other.variant.block = other.shape.block = {32, 8, 1};
  record.verdict = Verdict{Verdict::Kind::improved, 0, 6, 4, {1.29, 1.3, 1.31}, {1.113, 1.115, 1.117}, ""};
  const std::string text = report(record);
  EXPECT_TRUE(holds(line_with(text, "<- best"), "block 32x8: --maxrregcount=64")) << text;
  EXPECT_TRUE(holds(line_with(text, "<- write this"), "block 256: __launch_bounds__(256)")) << text;
  EXPECT_TRUE(holds(text, ":  --maxrregcount=64 with block 32x8\n")) << text;
}

TEST(Report, AnInstanceIsNamedWithTheGridThatIsItsOwn) {
  TuningRecord record = improved_record();
  Trial& other = add(record, RegisterCap{64}, 63, measured(1.1, 1.3));
  other.variant.choice.instance = "scale<4, float>";
  record.verdict = Verdict{Verdict::Kind::improved, 0, 6, 4, {1.29, 1.3, 1.31}, {1.113, 1.115, 1.117}, ""};
  EXPECT_TRUE(holds(report(record), ":  scale<4, float>, --maxrregcount=64\n")) << report(record);
  record.trials[6].shape.grid = {64, 2, 1};
  const std::string text = report(record);
  EXPECT_TRUE(holds(line_with(text, "<- best"), "scale<4, float>: --maxrregcount=64")) << text;
  EXPECT_TRUE(holds(text, ":  scale<4, float>, --maxrregcount=64 on a grid of 64x2\n")) << text;
}

TEST(Report, TheAnswerOfALookUpSaysWhatAndWhere) {
  const std::string text = answer_text(improved_record());
  EXPECT_EQ(text.rfind("decayWide(const float*, float*, unsigned long)   m = 4   n = 16777216   block 256\n", 0), 0u);
  EXPECT_TRUE(holds(text, "NVIDIA H200, sm_90 | driver 580.159.04 | NVRTC 13.0.88 | measured 2026-01-02T03:04:05Z\n"));
  EXPECT_TRUE(holds(text, "best: 1.15x faster than the author's code")) << text;
}

TEST(Report, SaysHowItWasTimed) {
  TuningRecord record = improved_record();
  EXPECT_TRUE(holds(report(record), "timed in samples of one launch\n"));
  record.settings.restored = record.settings.cold = true;
  EXPECT_TRUE(holds(report(record),
                    "samples of one launch, the buffers restored before each, the L2 cache flushed before each\n"));
  record.settings = {};
  record.settings.launches_per_sample = 210;
  record.settings.sample_mode = SampleMode::graph;
  record.clocks = ClockWatch{100, 1980, 1980, 1980, 0, false, {}};
  EXPECT_TRUE(holds(report(record), "timed in samples of 210 launches, replayed as a CUDA graph; SM clock 1980 MHz\n"));
  record.settings.sample_mode = SampleMode::back_to_back;
  record.clocks = ClockWatch{100, 1500, 1755, 1980, 3, false, {"power cap", "heat"}};
  EXPECT_TRUE(holds(report(record),
                    "210 launches back to back; SM clock 1755 MHz (1500 to 1980); throttled: 3 rounds "
                    "dropped (power cap, heat)\n"));
  record.clocks->gave_up_dropping = true;
  EXPECT_TRUE(holds(report(record), "dropped (power cap, heat), and the later ones kept"));
}

TEST(Report, SaysThatNothingCanBeResolved) {
  TuningRecord record = improved_record();
  record.verdict->kind = Verdict::Kind::not_resolvable;
  record.verdict->best_id = record.verdict->best_in_source_id = 0;
  record.verdict->reason = "one launch takes 5 us";
  EXPECT_TRUE(
      holds(report(record), "not resolvable at this size: one launch takes 5 us. Until then, leave it as it is.\n"));
}

TEST(Report, SaysWhatBecomesOfTheWinnerWithAColdCache) {
  TuningRecord record = improved_record();
  EXPECT_FALSE(holds(report(record), "L2"));
  record.verdict->speedup_other_way = {1.06, 1.07, 1.08};
  EXPECT_TRUE(holds(report(record), "with L2 flushed before each launch: 1.070x (1.060 to 1.080)\n"));
  record.verdict->best_other_way_id = 4;
  record.verdict->speedup_of_best_other_way = {1.19, 1.2, 1.21};
  EXPECT_TRUE(holds(report(record),
                    "with L2 flushed before each launch another is best: 1.200x (1.190 to 1.210):  "
                    "__launch_bounds__(256); the one above: 1.070x\n"))
      << report(record);
  record.verdict->best_other_way_id = 0;
  record.verdict->speedup_other_way = {0.93, 0.94, 0.95};
  EXPECT_TRUE(holds(report(record), "with L2 flushed before each launch: 0.940x: slower than the author's code\n"));
  record.settings.cold = true;
  EXPECT_TRUE(holds(report(record), "with a warm L2 cache: 0.940x"));
}

TEST(Report, AddsRatesWhereTheAuthorCountsBytesOrFlops) {
  TuningRecord record = improved_record();
  EXPECT_FALSE(holds(report(record), "GB/s"));
  record.work.bytes = std::int64_t{4} << 30;
  record.work.flops = 1'000'000'000;
  std::string text = report(record);
  EXPECT_TRUE(holds(squeezed(line_with(text, "time (ms)")), "vs author's GB/s GFLOP/s budget")) << text;
  EXPECT_FALSE(holds(text, "of copy"));
  // 4 GiB in 1.291 ms.
  EXPECT_TRUE(holds(squeezed(line_with(text, "<- write this")), "1.11x 3326.9 774.6 __launch")) << text;
  record.work.peak_copy_gb_per_s = 4000;
  text = report(record);
  EXPECT_TRUE(holds(squeezed(line_with(text, "time (ms)")), "vs author's GB/s of copy GFLOP/s budget")) << text;
  EXPECT_TRUE(holds(squeezed(line_with(text, "<- write this")), "1.11x 3326.9 83.2 % 774.6 __launch")) << text;
}

}  // namespace
}  // namespace regtune
