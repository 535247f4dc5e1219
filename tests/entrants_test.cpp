// The budgets that join when the race has settled, with real codes.
#include "entrants.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile_order.hpp"
#include "cubin.hpp"
#include "decide.hpp"
#include "fake_bench.hpp"
#include "kept_codes.hpp"
#include "nvrtc_compile.hpp"
#include "policy.hpp"
#include "progress.hpp"
#include "regtune/error.hpp"
#include "search_space.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

class EntrantsTest : public NvrtcTest {
 protected:
  // The trials that has_more adds when the codes of that block are still racing.
  std::vector<std::string> more(const std::string& text, const std::vector<Variant>& variants, Dim3 racing) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", text}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const GpuLimits limits = gpu_limits(9, 0).value();
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    std::vector<Build> builds;
    TuningRecord record;
    for (const Variant& variant : variants) {
      const LaunchShape shape{{1, 1, 1}, variant.block, 0};
      const Build build{variant.policy, variant.choice};
      if (std::find(builds.begin(), builds.end(), build) == builds.end()) builds.push_back(build);
      record.trials.push_back({variant, shape, {}, NotTimed{}});
    }
    sweep.begin(kernel, "k", limits, builds);
    Progress progress(true);
    RunLog log(record, nullptr, progress);
    const PastRuns past;
    CompiledEntrants entrants(sweep, record, limits, past, log);
    std::vector<int> still_racing;
    for (std::optional<Entrant> entrant = entrants.reference(); entrant; entrant = entrants.next())
      if (entrant->candidate.shape.block == racing) still_racing.push_back(entrant->candidate.id);
    EXPECT_FALSE(still_racing.empty());
    entrants.has_more(still_racing);
    entrants.finish({});
    std::vector<std::string> added;
    for (std::size_t i = variants.size(); i < record.trials.size(); ++i) {
      const Trial& trial = record.trials[i];
      EXPECT_TRUE(trial.facts) << spell(trial.variant.policy);
      added.push_back(std::to_string(trial.variant.block.x) + " " + spell(trial.variant.choice) + " " +
                      spell(trial.variant.policy));
    }
    return added;
  }
};

const std::string kBlockOfMacro = R"(#define BLOCK 64
__global__ void k(float* p) {
  __shared__ float s[BLOCK];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
}
)";

TEST_F(EntrantsTest, NeighboursAreOfTheChoiceThatRacesAndOfItsBlockAlone) {
  const SourceChoice of_128{false, -1, {{"BLOCK", "128"}}};
  const std::vector<std::string> added = more(kBlockOfMacro,
                                              {{0, AuthorsOwn{}, {64, 1, 1}},
                                               {1, RegisterCap{24}, {64, 1, 1}},
                                               {2, AuthorsOwn{}, {128, 1, 1}, of_128},
                                               {3, RegisterCap{24}, {128, 1, 1}, of_128}},
                                              {128, 1, 1});
  EXPECT_EQ(added, (std::vector<std::string>{"128 BLOCK=128 __maxnreg__(24)", "128 BLOCK=128 __maxnreg__(25)",
                                             "128 BLOCK=128 __maxnreg__(26)", "128 BLOCK=128 __maxnreg__(27)",
                                             "128 BLOCK=128 __maxnreg__(28)"}));
}

TEST_F(EntrantsTest, WhereEveryMaxnregRacesAlreadyNothingJoins) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " knows no __block_size__";
  const std::string text = "__global__ void __block_size__((64, 1, 1)) k(float* p) { p[threadIdx.x] = 1; }\n";
  EXPECT_TRUE(more(text, {{0, AuthorsOwn{}, {64, 1, 1}}, {1, MaxRegisters{24}, {64, 1, 1}}}, {64, 1, 1}).empty());
}

// A cache that holds what became of the author's code, and the same kernel tuned again.
class EntrantsAfterwards : public EntrantsTest {
 protected:
  TuningRecord record_of(const std::string& kernel) const {
    TuningRecord record;
    record.kernel = kernel;
    record.author_shape = {{1, 1, 1}, {64, 1, 1}, 0};
    int id = 0;
    for (const RegisterPolicy& policy : {RegisterPolicy(AuthorsOwn{}), RegisterPolicy(RegisterCap{24})})
      record.trials.push_back({{id++, policy, record.author_shape.block}, record.author_shape, {}, NotTimed{}});
    return record;
  }

  // Runs until the author's code is given, and tells `outcome` of it.
  std::optional<Entrant> reference_given(const Outcome& outcome, bool retry) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", kBlockOfMacro}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    TuningRecord record = record_of(kernel);
    sweep.begin(kernel, "k", gpu_limits(9, 0).value(), {{AuthorsOwn{}}, {RegisterCap{24}}});
    const PastRuns past(store_, record, retry);
    Progress progress(true);
    RunLog log(record, &store_, progress);
    CompiledEntrants entrants(sweep, record, gpu_limits(9, 0).value(), past, log);
    std::optional<Entrant> entrant = entrants.reference();
    log.on_outcome(entrant->candidate.id, outcome);
    return entrant;
  }

  TemporaryFolder folder_;
  Store store_ = Store::open(folder_.path() / "cache.db");
};

TEST_F(EntrantsAfterwards, AReferenceInQuarantineIsNeverPassedOverInSilence) {
  EXPECT_TRUE(reference_given(Faulted{"an illegal address"}, false));
  try {
    reference_given(NotTimed{}, false);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
    const std::string said = error.what();
    EXPECT_NE(said.find("author's code, is in quarantine since 2"), std::string::npos) << said;
    EXPECT_NE(said.find("an illegal address"), std::string::npos) << said;
    EXPECT_NE(said.find("--retry-quarantined"), std::string::npos) << said;
  }
  EXPECT_TRUE(reference_given(Measurement{}, true));
  EXPECT_TRUE(reference_given(NotTimed{}, false)) << "measured: it left the quarantine";
}

TEST_F(EntrantsAfterwards, AnEntrantCarriesTheIdentityOfItsCode) {
  const std::optional<Entrant> first = reference_given(NotTimed{}, false);
  EXPECT_NE(first->code, "");
  EXPECT_EQ(reference_given(NotTimed{}, false)->code, first->code);
}

// A kernel that a cap of 24 to 60 or so binds.
const std::string kWide = R"(__global__ void k(const float* in, float* out) {
  float x[48];
#pragma unroll
  for (int i = 0; i < 48; ++i) x[i] = in[threadIdx.x + i * 128];
#pragma unroll
  for (int s = 0; s < 4; ++s)
#pragma unroll
    for (int i = 0; i < 48; ++i) x[i] = x[i] * x[(i + 1) % 48] + x[(i + 7) % 48];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 48; ++i) sum += x[i];
  out[threadIdx.x] = sum;
}
)";

class Silent final : public RaceObserver {
 public:
  void on_round(RacePhase, int, std::span<const std::pair<int, double>>) override {}
  void on_outcome(int, const Outcome&) override {}
  void on_progress(RacePhase, int, int) override {}
};

// Passes everything on, and lets the time run away once a number of waves have come: what is begun then is finished.
class EndsAfterWaves final : public EntrantSource {
 public:
  EndsAfterWaves(EntrantSource& source, int waves, double& tick_s) : source_(source), left_(waves), tick_s_(tick_s) {}
  std::optional<Entrant> next() override {
    std::optional<Entrant> entrant = source_.next();
    if (!entrant && left_ == 0) tick_s_ = 1e6;
    return entrant;
  }
  bool has_more(const std::vector<int>& still_racing) override {
    const bool more = source_.has_more(still_racing);
    left_ -= more ? 1 : 0;
    waves += more ? 1 : 0;
    return more;
  }
  void leads(const std::vector<Lead>& leads) override { source_.leads(leads); }
  bool in_source(int id) const override { return source_.in_source(id); }
  bool own_name(int id) const override { return source_.own_name(id); }

  int waves = 0;

 private:
  EntrantSource& source_;
  int left_;
  double& tick_s_;
};

class WavesTest : public EntrantsTest {
 protected:
  // Real codes on a GPU of numbers: `ms_of` a cap or a ceiling; everything else takes `other_ms`.
  TuningRecord race_with_budget(int waves, double (*ms_of)(int), double other_ms) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", kWide}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    double clock_s = 0;
    double tick_s = 0;
    Sweep sweep(pool, unit, kept, CompileBudget(100, [&clock_s, &tick_s] {
                  clock_s += tick_s;
                  return CompileBudget::Time(std::chrono::duration_cast<CompileBudget::Time::duration>(
                      std::chrono::duration<double>(clock_s)));
                }));
    const GpuLimits limits = gpu_limits(9, 0).value();
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    const std::vector<LaunchShape> shapes{{{1, 1, 1}, {256, 1, 1}, 0}};
    const std::vector<Variant> variants = search_space({limits, {{{256, 1, 1}}}});
    TuningRecord record;
    std::map<int, FakeCode> codes;
    for (const Variant& variant : variants) {
      record.trials.push_back({variant, shapes.front(), {}, NotTimed{}});
      const auto* cap = std::get_if<RegisterCap>(&variant.policy);
      const auto* bounds = std::get_if<LaunchBounds>(&variant.policy);
      // A bound and the cap of its ceiling may be one code.
      codes[variant.id].ms = cap      ? ms_of(cap->registers_per_thread)
                             : bounds ? ms_of(register_ceiling(limits, *bounds))
                                      : other_ms;
    }
    for (int id = static_cast<int>(variants.size()); id < 600; ++id) codes[id].ms = other_ms;
    const CompileOrder order = compile_order(record.trials, 0, limits);
    sweep.begin(kernel, "k", limits, order.first);
    Progress progress(true);
    RunLog log(record, nullptr, progress);
    const PastRuns past;
    CompiledEntrants entrants(sweep, record, limits, past, log, order.rest);
    likely_.clear();
    entrants.on_likely_winners([this](const std::vector<Build>& builds, bool is_rough) {
      EXPECT_EQ(is_rough, likely_.empty()) << "before the first round, and never after";
      likely_.push_back(builds);
    });
    const Entrant reference = entrants.reference().value();
    EndsAfterWaves source(entrants, waves, tick_s);
    if (waves == 0) tick_s = 1e6;
    FakeBench bench(codes, {}, 1);
    Silent silent;
    const RaceResult result = race(bench, reference, source, record.settings, silent);
    entrants.finish(result.outcomes);
    record.verdict = decide(record.trials, 0, record.settings);
    waves_ = source.waves;
    return record;
  }

  static const Trial& trial_of(const TuningRecord& record, int cap) {
    for (const Trial& trial : record.trials)
      if (trial.variant.policy == RegisterPolicy(RegisterCap{cap})) return trial;
    throw std::out_of_range("no such cap");
  }
  static bool compiled(const TuningRecord& record, int cap) {
    return !std::holds_alternative<NotCompiled>(trial_of(record, cap).outcome);
  }
  // The id under which a code was timed.
  static int code_of_cap(const TuningRecord& record, int cap) {
    return timed_trial(record.trials, trial_of(record, cap).variant.id).variant.id;
  }
  static int code_of_best(const TuningRecord& record) {
    return timed_trial(record.trials, record.verdict->best_id).variant.id;
  }

  int waves_ = 0;
  std::vector<std::vector<Build>> likely_;  // as they were told
};

TEST_F(WavesTest, TheNeighboursOfTheBestComeBeforeTheRest) {
  // Of the occupancy steps 48 is the best, and beside it lies a better one.
  const TuningRecord record = race_with_budget(
      1, [](int cap) { return cap == 46 ? 0.5 : 1 + std::abs(cap - 48) * 0.02; }, 2);
  EXPECT_LE(waves_, 2) << "of the second no more than what was begun before the clock was looked at";
  for (const int cap : {44, 45, 46, 47, 48, 49, 50, 51, 52}) EXPECT_TRUE(compiled(record, cap)) << cap;
  for (const int cap : {25, 30, 100, 200}) EXPECT_FALSE(compiled(record, cap)) << cap;
  ASSERT_EQ(record.verdict->kind, Verdict::Kind::improved);
  EXPECT_EQ(code_of_best(record), code_of_cap(record, 46));
  EXPECT_NE(record.verdict->reason.find("budgets were not"), std::string::npos) << record.verdict->reason;
}

TEST_F(WavesTest, ABudgetThatEndsWithTheFirstWaveStillGivesAVerdict) {
  const TuningRecord record = race_with_budget(
      0, [](int) { return 1.0; }, 1);
  EXPECT_EQ(waves_, 0);
  EXPECT_EQ(record.verdict->kind, Verdict::Kind::no_gain) << record.verdict->reason;
  EXPECT_TRUE(std::holds_alternative<Measurement>(timed_trial(record.trials, 0).outcome));
  for (const Trial& trial : record.trials)
    EXPECT_FALSE(std::holds_alternative<NotTimed>(trial.outcome)) << spell(trial.variant.policy) << " vanished";
}

TEST_F(WavesTest, WithTimeEnoughEverythingIsCompiledAndMoreIsAskedForUntilThereIsNone) {
  const TuningRecord record = race_with_budget(
      100, [](int cap) { return cap == 41 ? 0.5 : 1 + std::abs(cap - 60) * 0.02; }, 2);
  EXPECT_GE(waves_, 3) << "neighbours, __maxnreg__ and the rest";
  for (int cap = 24; cap <= 255; ++cap) EXPECT_TRUE(compiled(record, cap)) << cap;
  EXPECT_EQ(code_of_best(record), code_of_cap(record, 41)) << "far from every step";
  const Variant& best = record.trials.at(static_cast<std::size_t>(record.verdict->best_id)).variant;
  const Build named{best.policy, best.choice};
  ASSERT_GE(likely_.size(), 3u) << "each time that the race settled";
  EXPECT_EQ(std::count(likely_.back().begin(), likely_.back().end(), named), 1) << "known before it was confirmed";
  EXPECT_EQ(std::count(likely_.front().begin(), likely_.front().end(), named), 0) << "not compiled by then";
  int near_the_best = 0;
  for (const Trial& trial : record.trials)
    if (const auto* max = std::get_if<MaxRegisters>(&trial.variant.policy))
      near_the_best += std::abs(max->registers_per_thread - 41) <= kNeighbourhood ? 1 : 0;
  EXPECT_EQ(near_the_best, 9) << "__maxnreg__ is tried around what the rest brought";
}

}  // namespace
}  // namespace regtune
