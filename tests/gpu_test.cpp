// What only a real GPU can show: that a fault costs one candidate, and that a kernel is tuned from end to end.
// The program may be carried to a machine with a GPU: REGTUNE_SOURCE then names the source tree and
// REGTUNE_PROGRAM_PATH the built program.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "fake_bench.hpp"
#include "on_gpu.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "regtune/lookup.hpp"
#include "sqlite.hpp"

namespace regtune {
namespace {

TEST_F(OnGpu, SaysWhatItIs) {
  const GpuState state = device_->state().value();
  EXPECT_FALSE(state.id.name.empty());
  EXPECT_GT(state.id.sm_count, 0);
  EXPECT_GT(state.memory_bytes, std::int64_t{1} << 30);
  EXPECT_FALSE(state.driver_version.empty());
  // What the driver says of itself agrees with the table that is used where there is no GPU.
  const auto known = gpu_limits(state.id.compute_major, state.id.compute_minor);
  ASSERT_TRUE(known);
  EXPECT_EQ(state.limits.max_threads_per_sm, known->max_threads_per_sm);
  EXPECT_EQ(state.limits.max_blocks_per_sm, known->max_blocks_per_sm);
  EXPECT_EQ(state.limits.registers_per_sm, known->registers_per_sm);
  EXPECT_EQ(state.limits.shared_bytes_per_sm, known->shared_bytes_per_sm);
  EXPECT_EQ(state.limits.shared_bytes_per_block_optin, known->shared_bytes_per_block_optin);
  EXPECT_EQ(state.limits.reserved_shared_bytes_per_block, known->reserved_shared_bytes_per_block);
}

TEST_F(OnGpu, RefusesADeviceThatIsNotThere) {
  Device none(999);
  try {
    none.state();
    FAIL() << "there is a GPU 999";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

TEST_F(OnGpu, TimesASoundCode) {
  prepare();
  const ReferenceRun run = set_reference(sound(0));
  EXPECT_GT(run.ms, 0.001);
  EXPECT_LT(run.ms, 50);
  EXPECT_GE(run.launches_per_sample, 1);
  EXPECT_FALSE(run.restored) << "it does not read what it writes";
  expect_as_before(sound(1), run.ms);
  EXPECT_EQ(device_->restarts(), 0);
}

TEST_F(OnGpu, RestoresWhatAKernelReadsAndWrites) {
  prepare();
  const std::string in_place = source_of("  x += out[i];\n");
  const ReferenceRun run = set_reference(candidate(0, in_place));
  EXPECT_TRUE(run.restored);
  EXPECT_EQ(run.launches_per_sample, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<double>(device_->sample(candidate(1, in_place))));
    EXPECT_TRUE(std::holds_alternative<double>(device_->check(candidate(1, in_place))));
  }
}

TEST_F(OnGpu, RefusesAReferenceWhoseResultIsNeverTheSame) {
  prepare();
  try {
    set_reference(candidate(0, source_of("  x += clock64() & 1023;\n")));
    FAIL() << "the clock stood still";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_TRUE(holds(error.what(), "rtol"));
  }
}

TEST_F(OnGpu, RefusesAReferenceThatFaults) {
  prepare();
  try {
    set_reference(candidate(0, source_of("  __trap();\n")));
    FAIL() << "it ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::gpu_failed);
  }
}

// Each planted fault, what it must be recorded as, and whether it costs the process that drives the GPU.
struct Planted {
  const char* name;
  std::string source;
  Shot expected;
  bool costs_the_child;
};

std::vector<Planted> planted_faults() {
  return {
      {"IllegalAddress", source_of("  out[i + (1ll << 44)] = x;\n"), Faulted{}, true},
      {"Trap", source_of("  if (i == 1000) __trap();\n"), Faulted{}, true},
      {"Hang", source_of("  while (*(volatile const float*)in < 2.0f) {}\n"), TimedOut{}, true},
      {"WrongInOneElement", source_of("  if (i == n - 1) x += 1.0f;\n"), WrongResult{}, false},
      {"WritesNothing", source_of("  if (n > 0) return;\n"), WrongResult{}, false},
      {"BoundTooSmall",
       "#undef __global__\n#define __global__ __attribute__((global)) __attribute__((launch_bounds(64)))\n" +
           source_of(""),
       NotLaunchable{}, false},
  };
}

class FaultOnGpu : public OnGpu, public testing::WithParamInterface<int> {
 protected:
  const Planted fault_ = planted_faults().at(static_cast<std::size_t>(GetParam()));
};

TEST_P(FaultOnGpu, CostsOneCandidate) {
  prepare(2000);
  const ReferenceRun run = set_reference(sound(0));
  const Candidate other = sound(2);
  expect_as_before(other, run.ms);
  const Candidate bad = candidate(1, fault_.source);
  for (int time = 1; time <= 2; ++time) {
    const Shot shot = device_->check(bad);
    EXPECT_EQ(shot.index(), fault_.expected.index());
    EXPECT_EQ(device_->restarts(), fault_.costs_the_child ? time : 0);
    if (const auto* faulted = std::get_if<Faulted>(&shot)) {
      EXPECT_TRUE(holds(faulted->message, "CUDA_ERROR"));
    }
    if (const auto* hang = std::get_if<TimedOut>(&shot)) {
      EXPECT_GE(hang->limit_ms, 1000);
      EXPECT_LE(hang->limit_ms, 2000);
    }
    if (const auto* wrong = std::get_if<WrongResult>(&shot)) {
      EXPECT_TRUE(holds(wrong->message, "out: "));
    }
    if (const auto* refused = std::get_if<NotLaunchable>(&shot)) {
      EXPECT_TRUE(holds(refused->reason, "CUDA_ERROR"));
    }
    expect_as_before(other, run.ms);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultOnGpu, testing::Range(0, static_cast<int>(planted_faults().size())),
                         [](const auto& tested) {
                           return std::string(planted_faults().at(static_cast<std::size_t>(tested.param)).name);
                         });

TEST_F(OnGpu, RefusesMoreSharedMemoryThanABlockCanHave) {
  prepare();
  set_reference(sound(0));
  Candidate greedy = sound(1);
  greedy.shape.dynamic_shared_bytes = 1 << 20;
  EXPECT_TRUE(std::holds_alternative<NotLaunchable>(device_->check(greedy)));
  EXPECT_EQ(device_->restarts(), 0);
}

TEST_F(OnGpu, RacesFaultyCandidatesToTheEnd) {
  prepare(2000);
  // The author's code does the same work twice; the sound one among the others must win, whatever surrounds it.
  const std::string slow = source_of(
      "  volatile float again = in[i];\n  float y = again;\n"
      "  for (int k = 0; k < 2000; ++k) y = y * 0.999f + 0.001f;\n"
      "  if (y == 17.0f) x = y;\n");
  std::vector<Trial> trials = trials_of(usual_policies(static_cast<int>(planted_faults().size())));
  std::vector<Entrant> entrants = entrants_of(trials);
  entrants[0].candidate = candidate(0, slow);
  for (std::size_t i = 1; i < entrants.size(); ++i) {
    const int id = static_cast<int>(i);
    const bool faulty = i >= 2 && i < 2 + planted_faults().size();
    entrants[i].candidate = faulty ? candidate(id, planted_faults().at(i - 2).source) : sound(id);
  }
  Witness witness;
  const RaceResult result = race(*device_, entrants, 0, {}, witness);
  ASSERT_EQ(result.outcomes.size(), entrants.size());
  for (const auto& [id, outcome] : result.outcomes) trials.at(static_cast<std::size_t>(id)).outcome = outcome;
  for (std::size_t i = 0; i < planted_faults().size(); ++i) {
    const Planted fault = planted_faults().at(i);
    const Outcome& outcome = trials.at(i + 2).outcome;
    EXPECT_FALSE(std::holds_alternative<Measurement>(outcome)) << fault.name;
    EXPECT_FALSE(std::holds_alternative<Abandoned>(outcome)) << fault.name;
  }
  const Verdict verdict = decide(trials, 0, result.settings);
  EXPECT_EQ(verdict.kind, Verdict::Kind::improved);
  // Which of the identical sound ones is left to the noise.
  EXPECT_TRUE(verdict.best_id == 1 || verdict.best_id >= 2 + static_cast<int>(planted_faults().size()))
      << verdict.best_id;
  EXPECT_GT(verdict.speedup.low, 1.5);
}

TEST_F(OnGpu, RefusesBuffersThatDoNotFit) {
  const std::int64_t elements = device_->state()->memory_bytes / 4;
  const WorkloadPlan workload = plan(elements);
  const CompiledCode device_code = compile(device_code_request(workload, architecture_, compiler_));
  try {
    device_->prepare(workload, device_code, 5000, false);
    FAIL() << "they fitted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::buffer_too_large);
    EXPECT_TRUE(holds(error.what(), "--set"));
  }
}

std::vector<pid_t> children_of_this_process() {
  std::ifstream in("/proc/self/task/" + std::to_string(getpid()) + "/children");
  return {std::istream_iterator<pid_t>(in), {}};
}

TEST_F(OnGpu, AChildThatIsKilledFromOutsideCostsOneLaunch) {
  prepare();
  set_reference(sound(0));
  ASSERT_TRUE(std::holds_alternative<double>(device_->check(sound(1))));
  const int restarts = device_->restarts();
  const std::vector<pid_t> children = children_of_this_process();
  ASSERT_FALSE(children.empty());
  for (const pid_t child : children) kill(child, SIGKILL);
  const Shot killed = device_->sample(sound(1));
  ASSERT_TRUE(std::holds_alternative<Faulted>(killed));
  EXPECT_TRUE(holds(std::get<Faulted>(killed).message, "signal 9"));
  EXPECT_TRUE(std::holds_alternative<double>(device_->check(sound(2)))) << "the next one runs";
  EXPECT_EQ(device_->restarts(), restarts + 1);
}

constexpr const char* kScale = R"cuda(/*regtune
sizes = { n = 4194304 }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
extern "C" __global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
}
)cuda";

class TuneOnGpu : public ProgramOnGpu {
 protected:
  TuneOnGpu() { program_.write("scale.cu", kScale); }
};

TEST_F(TuneOnGpu, StoresWhatALookupFinds) {
  const Ending tuned = program_.run({"scale.cu", "--budget", "10"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_TRUE(holds(tuned.out, "scale(const float*, float*, int)"));
  EXPECT_TRUE(holds(tuned.out, "time (ms)"));
  EXPECT_TRUE(holds(tuned.out, "stored for "));
  EXPECT_TRUE(std::filesystem::exists(program_.cache()));

  const Ending found = program_.run({"lookup", "scale", "--set", "n=1<<22"});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_NE(found.out, "");
  const Ending json = program_.run({"lookup", "scale", "--set", "n=4194304", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const TuningRecord record = record_from_json(nlohmann::json::parse(json.out), "stdout");
  ASSERT_TRUE(record.gpu);
  ASSERT_TRUE(record.verdict);
  EXPECT_EQ(record.kernel, "scale");
  EXPECT_EQ(record.sizes, (Sizes{{"n", 4194304}}));
  EXPECT_TRUE(std::holds_alternative<Measurement>(record.trials.front().outcome));

  EXPECT_TRUE(holds(found.out, "match: exact\n"));

  // The library, asked as a program with this GPU asks it.
  CacheOptions options;
  options.file = program_.cache();
  options.system_files.emplace();
  const Cache cache(options);
  const Answer answer = cache.find({"scale", {{"n", 4194304}}}, record.gpu->id);
  ASSERT_TRUE(answer) << (cache.problems().empty() ? "" : cache.problems().front());
  EXPECT_EQ(answer.match, Match::exact);
  EXPECT_EQ(answer->best.policy, record.trials.at(static_cast<std::size_t>(record.verdict->best_id)).variant.policy);
  EXPECT_EQ(answer->gpu, record.gpu->id);
  EXPECT_GT(answer->gpu.memory_clock_mhz, 0);

  EXPECT_TRUE(holds(program_.run({"lookup", "scale", "--set", "n=1024"}).out, "match: nearest sizes, sizes 12.0"));
  EXPECT_EQ(program_.run({"lookup", "scale", "--set", "n=4194304", "--gpu", "Tesla T4"}).exit_code, 1);
  EXPECT_EQ(program_.run({"lookup", "other", "--set", "n=4194304"}).exit_code, 1);
}

// Every element is multiplied once, whatever a thread does: only where the grid follows UNROLL.
TEST_F(TuneOnGpu, LaunchesEveryInstanceOfATemplateOnItsOwnGrid) {
  program_.write("unrolled.cu", R"cuda(/*regtune
kernel = "twice<UNROLL, float>"
tune = { UNROLL = [1, 2, 4] }
sizes = { n = 4194304 }
block = 256
grid = "n // (block * UNROLL)"
[args]
x = { buffer = "n", init = "uniform(0, 1)" }
*/
template <int UNROLL, typename T>
__global__ void twice(T* x) {
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) x[(blockIdx.x * blockDim.x + threadIdx.x) * UNROLL + i] *= 2;
}
)cuda");
  const Ending ending = program_.run({"unrolled.cu", "--json", "--budget", "20"});
  ASSERT_EQ(ending.exit_code, 0) << ending.err;
  const TuningRecord record = record_from_json(nlohmann::json::parse(ending.out), "stdout");
  ASSERT_TRUE(record.verdict);
  std::map<std::string, unsigned> grid_of_timed;
  for (const Trial& trial : record.trials) {
    EXPECT_FALSE(std::holds_alternative<WrongResult>(trial.outcome) || std::holds_alternative<Faulted>(trial.outcome))
        << trial.variant.choice.instance;
    const bool timed =
        std::holds_alternative<Measurement>(trial.outcome) || std::holds_alternative<Abandoned>(trial.outcome);
    if (timed && !trial.variant.choice.renamed) grid_of_timed[trial.variant.choice.instance] = trial.shape.grid.x;
  }
  EXPECT_EQ(grid_of_timed,
            (std::map<std::string, unsigned>{{"", 16384}, {"twice<2, float>", 8192}, {"twice<4, float>", 4096}}));
  EXPECT_EQ(program_.run({"lookup", "twice<1, float>", "--set", "n=4194304"}).exit_code, 0);
  EXPECT_EQ(program_.run({"lookup", "twice", "--set", "n=4194304"}).exit_code, 0);
}

TEST_F(TuneOnGpu, RefusesBuffersThatDoNotFitAndStoresNoAnswer) {
  const std::filesystem::path kernel = source_folder() / "kernels/decay_wide.cu";
  if (!std::filesystem::exists(kernel)) GTEST_SKIP() << kernel << " is not there: REGTUNE_SOURCE";
  const Ending ending = program_.run({kernel, "--set", "n=1<<38"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::buffer_too_large)) << ending.err;
  EXPECT_EQ(ending.out, "");
  EXPECT_TRUE(holds(ending.err, "MiB"));
  EXPECT_EQ(program_.run({"lookup", "decayWide", "--set", "n=1<<38"}).exit_code, 1);
}

TEST_F(TuneOnGpu, RefusesACacheThatIsNotADatabaseBeforeAnythingIsTimed) {
  program_.write("cache.db", "these are notes, and nobody may lose them");
  const Ending ending = program_.run({"scale.cu"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::cache_unusable)) << ending.err;
  EXPECT_EQ(ending.out, "");
  EXPECT_EQ(text_of(program_.cache()), "these are notes, and nobody may lose them");
}

TEST_F(TuneOnGpu, RefusesAReadOnlyCacheAndLosesNothing) {
  ASSERT_EQ(program_.run({"scale.cu", "--budget", "5"}).exit_code, 0);
  const Ending none = program_.run_as_nobody({"--version"});
  if (none.exit_code != 0) GTEST_SKIP() << "cannot run as another user here: " << none.err;
  std::filesystem::permissions(program_.cache(), std::filesystem::perms(0444));
  const std::string before = text_of(program_.cache());
  const Ending refused = program_.run_as_nobody({"scale.cu", "--budget", "5"});
  if (refused.exit_code == 20) GTEST_SKIP() << "the GPU is not for everybody here: " << refused.err;
  EXPECT_EQ(refused.exit_code, static_cast<int>(ErrorKind::cache_read_only)) << refused.err;
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(text_of(program_.cache()), before);
  EXPECT_EQ(program_.run_as_nobody({"lookup", "scale", "--set", "n=4194304"}).exit_code, 0);
}

std::int64_t integer_of(const std::filesystem::path& cache, const char* sql) {
  Database database = Database::open(cache, Database::Mode::read_write_create);
  Statement select(database, sql);
  return select.step() ? select.integer(0) : -1;
}

TEST_F(TuneOnGpu, FiftyKillsLoseNothingAndTheNextRunTakesItUp) {
  std::filesystem::copy_file(source_folder() / "kernels/decay_wide.cu", program_.folder() / "decay_wide.cu");
  std::mt19937 random(1);
  std::int64_t samples = 0;
  std::int64_t finished = 0;
  int kills = 0;
  for (int attempt = 0; kills < 50; ++attempt) {
    ASSERT_LT(attempt, 200) << "most runs were over before they could be killed";
    const pid_t run = program_.start({"decay_wide.cu", "--no-rename", "--margin", "0.01"});
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(50, 1400)(random)));
    kill(-run, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(run, &status, 0), run);
    if (WIFEXITED(status)) {  // it was over, and has cleared away what those before it left
      ASSERT_EQ(WEXITSTATUS(status), 0) << text_of(program_.folder() / "stderr.txt");
      samples = integer_of(program_.cache(), "SELECT count(*) FROM sample");
      finished = integer_of(program_.cache(), "SELECT coalesce(max(finish_order), 0) FROM tuning_run");
      continue;
    }
    ++kills;
    if (!std::filesystem::exists(program_.cache())) continue;
    Database database = Database::open(program_.cache(), Database::Mode::read_write_create);
    Statement check(database, "PRAGMA integrity_check");
    ASSERT_TRUE(check.step());
    ASSERT_EQ(check.text(0), "ok") << attempt;
    const std::int64_t now = integer_of(program_.cache(), "SELECT count(*) FROM sample");
    // A run that was killed after its last commit has finished too.
    const std::int64_t last_finished =
        integer_of(program_.cache(), "SELECT coalesce(max(finish_order), 0) FROM tuning_run");
    if (last_finished == finished) {
      ASSERT_GE(now, samples) << attempt;
    }
    finished = last_finished;
    samples = now;
  }
  ASSERT_GT(samples, 0);
  // One that was killed before its first round left nothing to take up.
  const bool interrupted = integer_of(program_.cache(),
                                      "SELECT count(*) FROM sample JOIN tuning_run ON tuning_run.id = sample.run_id "
                                      "WHERE tuning_run.state = 'running'") > 0;
  const Ending last = program_.run({"decay_wide.cu", "--no-rename"});
  ASSERT_EQ(last.exit_code, 0) << last.err;
  EXPECT_EQ(last.err.find("taking up a run that was interrupted") != std::string::npos, interrupted) << last.err;
  EXPECT_TRUE(holds(last.out, "best: 1.1"));
  EXPECT_EQ(integer_of(program_.cache(), "SELECT count(*) FROM tuning_run WHERE state = 'running'"), 0);
}

TEST_F(TuneOnGpu, VerifiesWhatItStoredAndRefusesAChangedSource) {
  ASSERT_EQ(program_.run({"scale.cu", "--budget", "5"}).exit_code, 0);
  const Ending verified = program_.run({"verify", "scale", "--set", "n=1<<22"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_TRUE(holds(verified.out, "the stored answer holds"));
  program_.write("scale.cu", std::string(kScale) + "// edited\n");
  const Ending refused = program_.run({"verify", "scale", "--set", "n=1<<22"});
  EXPECT_EQ(refused.exit_code, static_cast<int>(ErrorKind::claim_not_held)) << refused.out << refused.err;
  EXPECT_TRUE(holds(refused.err, "has changed since"));
}

// The author's code is sound, and with the other value of the macro every code traps.
TEST_F(TuneOnGpu, CodesThatTrapAreLaunchedOnceAndThenKeptFromLaterRuns) {
  std::string text = kScale;
  text.replace(text.find("if (i < n)"), 0, "if (TRAPS && i == 0) __trap();\n  ");
  text.replace(text.find("sizes ="), 0, "tune = { TRAPS = [0, 1] }\n");
  text.replace(text.find("extern"), 0, "#define TRAPS 0\n");
  program_.write("scale.cu", text);
  const Ending first = program_.run({"scale.cu", "--budget", "5"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(holds(first.out, "faulted, dropped"));
  const Ending second = program_.run({"scale.cu", "--budget", "5"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_TRUE(holds(second.out, "in quarantine since"));
  EXPECT_FALSE(holds(second.out, "faulted, dropped"));
  const Ending retried = program_.run({"scale.cu", "--budget", "5", "--retry-quarantined"});
  EXPECT_TRUE(holds(retried.out, "faulted, dropped"));
}

}  // namespace
}  // namespace regtune
