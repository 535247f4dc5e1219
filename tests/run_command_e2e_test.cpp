// `regtune run` over somebody else's program, from beginning to end: with NVRTC itself, and a GPU that computes
// nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "regtune/error.hpp"
#include "store.hpp"
#include "toolkit.hpp"
#include "watched_app.hpp"

namespace regtune {
namespace {

class WatchedApp : public WithWatchedApp {
 protected:
  nlohmann::json watch_json(std::vector<std::string> options, const std::vector<std::string>& arguments) const {
    options.insert(options.end(), {"--json", "-o", "run.json", "--quiet"});
    const Ending ending = watch(options, arguments);
    EXPECT_EQ(ending.exit_code, 0) << ending.err;
    return nlohmann::json::parse(text_of(program_.folder() / "run.json"));
  }
};

const std::vector<std::string> kShortTuning{"-k", "scale", "--budget", "1", "--no-rename", "--quiet"};

std::vector<std::string> short_tuning(const std::vector<std::string>& more) {
  std::vector<std::string> options = kShortTuning;
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

TEST_F(WatchedApp, ListsWhatTheProgramLaunched) {
  const nlohmann::json json = watch_json({}, {"10"});
  ASSERT_EQ(json.at("kernels").size(), 1u) << json;
  const nlohmann::json& kernel = json.at("kernels").at(0);
  EXPECT_EQ(kernel.at("kernel"), "scale");
  EXPECT_EQ(kernel.at("launches"), 10);
  EXPECT_EQ(kernel.at("in_graphs"), 0);
  EXPECT_EQ(kernel.at("compiled_by_the_program"), true);
  EXPECT_EQ(kernel.at("registers_per_thread"), 32) << "as the driver says";
  ASSERT_EQ(kernel.at("shapes").size(), 1u);
  EXPECT_EQ(kernel.at("shapes").at(0).at("grid"), nlohmann::json({4, 1, 1}));
  EXPECT_EQ(kernel.at("shapes").at(0).at("block"), nlohmann::json({256, 1, 1}));
  EXPECT_FALSE(std::filesystem::exists(program_.cache())) << "a listing stores nothing";
}

TEST_F(WatchedApp, ShowsTheListingBesideTheProgramsOutput) {
  const Ending ending = watch({}, {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_TRUE(holds(ending.err, "1 kernel, 10 launches"));
  EXPECT_TRUE(holds(ending.err, "regtune run -k 'scale' -- ..."));
  EXPECT_EQ(ending.out, unwatched("10").text) << "standard output is the program's, bit for bit";
}

TEST_F(WatchedApp, CountsUntilTheProgramsLastMoment) {
  for (const char* how : {"exit", "_exit", "fork"}) {
    SCOPED_TRACE(how);
    const nlohmann::json json = watch_json({}, {"10", how});
    ASSERT_EQ(json.at("kernels").size(), 1u) << json;
    EXPECT_EQ(json.at("kernels").at(0).at("launches"), 10);
  }
}

TEST_F(WatchedApp, EndsWithTheProgramsExitCode) {
  for (const std::string code : {"3", "77"}) {
    const Ending ending = watch({"--quiet"}, {"2", "code", code});
    EXPECT_EQ(std::to_string(ending.exit_code), code) << ending.err;
    EXPECT_EQ(ending.out, unwatched("2").text);
  }
}

TEST_F(WatchedApp, TunesWhatTheProgramCompilesItself) {
  const std::string plain = unwatched("10").text;
  const Ending ending = watch(short_tuning({}), {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, plain);
  EXPECT_TRUE(holds(ending.err, "NVIDIA Fake 100"));
  EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
  const std::vector<StoredRun> runs = Store::open(program_.cache()).list("scale");
  ASSERT_EQ(runs.size(), 1u);
  const auto record = Store::open(program_.cache()).load(runs[0].id);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->sizes, (Sizes{{"grid_x", 4}, {"block_x", 256}, {"n", 1000}}));
  EXPECT_TRUE(record->verdict);
  EXPECT_TRUE(holds(record->description, "outputs_compared = true"));
  EXPECT_TRUE(holds(program_.run({"db", "list"}).out, "scale"));
  EXPECT_TRUE(holds(program_.run({"verify", "scale"}).err, "was tuned inside " REGTUNE_WATCHED_APP));
}

TEST_F(WatchedApp, WhatIsStoredNamesTheSourceAsTheProgramDoes) {
  const auto stored = [&] {
    const std::vector<StoredRun> runs = Store::open(program_.cache()).list("scale");
    return Store::open(program_.cache()).load(runs.at(0).id).value();
  };
  ASSERT_EQ(watch(short_tuning({"--record", "run.json"}), {"3"}).exit_code, 0);
  const TuningRecord first = stored();
  EXPECT_EQ(first.source_path, "scale.cu, compiled by the program");
  EXPECT_EQ(first.options, std::vector<std::string>{"-DUNUSED=1"});
  ASSERT_EQ(watch(short_tuning({}), {"3"}).exit_code, 0);
  EXPECT_EQ(stored().source_hash, first.source_hash) << "a second tuning is of the same kernel";
  const std::string scratch = (std::filesystem::temp_directory_path() / "regtune-").string();
  for (const char* file : {"cache.db", "run.json"})
    EXPECT_FALSE(holds(text_of(program_.folder() / file), scratch)) << file;
}

TEST_F(WatchedApp, TunesAtTheLaunchThatIsNamed) {
  const Ending ending = watch(short_tuning({"--launch", "3", "--record", "run.json"}), {"10"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(holds(text_of(program_.folder() / "run.json"), "launch = 3"));
}

TEST_F(WatchedApp, TunesInTheProgramsOwnContext) {
  const Ending ending = watch(short_tuning({"--in-process"}), {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, unwatched("10").text) << "memory is put back";
  EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
  EXPECT_EQ(Store::open(program_.cache()).list("scale").size(), 1u) << ending.err;
}

TEST_F(WatchedApp, AVariableThatTheKernelWritesIsPutBackBetweenLaunches) {
  set("WATCHED_COUNTS", "1");
  set("FAKE_GPU_COUNTER", "counter");
  const std::string plain = unwatched("10").text;
  ASSERT_TRUE(holds(plain, "counter 10")) << plain;
  for (const char* where : {"--no-config", "--in-process"}) {
    SCOPED_TRACE(where);
    const Ending ending = watch(short_tuning({where, "--launch", "4"}), {"10"});
    EXPECT_EQ(ending.exit_code, 0);
    EXPECT_EQ(ending.out, plain) << "the program's own is as if nothing had happened";
    EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
    // The launch that was caught found 3 there: four times as long as the first.
    const std::vector<StoredRun> runs = Store::open(program_.cache()).list("scale");
    ASSERT_EQ(runs.size(), 1u) << ending.err;
    const TuningRecord stored = Store::open(program_.cache()).load(runs.back().id).value();
    EXPECT_TRUE(stored.settings.restored);
    for (const Trial& trial : stored.trials)
      if (const auto* measured = std::get_if<Measurement>(&trial.outcome)) {
        for (const Sample& sample : measured->confirmation) {
          EXPECT_GT(sample.ms, 4);
          EXPECT_LT(sample.ms, 8.1);
        }
      }
    std::filesystem::remove(program_.cache());
  }
}

TEST_F(WatchedApp, TunesWithASourceThatIsGiven) {
  program_.write("scale.cu",
                 "extern \"C\" __global__ void scale(const float* in, float* out, int n) {\n"
                 "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "  if (i < n) out[i] = in[i] * FACTOR;\n"
                 "}\n");
  const Ending ending =
      watch({"--source", "scale.cu", "-D", "FACTOR=2.0f", "--budget", "1", "--no-rename", "--quiet"}, {"3"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
  EXPECT_EQ(Store::open(program_.cache()).list("scale").size(), 1u) << ending.err;
}

TEST_F(WatchedApp, ASourceOfAnotherKernelIsRefusedAndTheProgramGoesOn) {
  program_.write("scale.cu", "extern \"C\" __global__ void scale(float* out) { *out = 1; }\n");
  const Ending ending = watch({"--source", "scale.cu", "--budget", "1", "--quiet"}, {"3"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, unwatched("3").text);
  EXPECT_TRUE(holds(ending.err, "scale was not tuned: "));
  EXPECT_TRUE(holds(ending.err, "is this the source that the program was built from"));
}

TEST_F(WatchedApp, SaysThatTheKernelWasNeverLaunched) {
  const Ending other = watch({"-k", "scal", "--quiet"}, {"3"});
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_EQ(other.out, unwatched("3").text);
  EXPECT_TRUE(holds(other.err, "scal was never launched; did you mean scale?"));
  const Ending late = watch({"-k", "scale", "--launch", "5", "--quiet"}, {"3"});
  EXPECT_EQ(late.exit_code, 0);
  EXPECT_TRUE(holds(late.err, "scale was not tuned: it was launched 3 times, and --launch names the 5th"));
}

TEST_F(WatchedApp, OfAProgramWithoutCudaSaysSo) {
  const Ending ending = program_.run({"run", "--", "sh", "-c", "echo out; echo err >&2; exit 5"});
  EXPECT_EQ(ending.exit_code, 5);
  EXPECT_EQ(ending.out, "out\n");
  EXPECT_TRUE(ending.err.starts_with("err\n")) << ending.err;
  EXPECT_TRUE(holds(ending.err, "no launch of a kernel was seen"));
}

TEST_F(WatchedApp, WhatTheUserPreloadsFindsWhatItWouldFind) {
  const std::string command = "LD_PRELOAD='" REGTUNE_PRELOADED "' ";
  const Said unwatched = run(command + REGTUNE_WATCHED_APP);
  ASSERT_EQ(unwatched.text, "preloaded: nothing to do\n");
  const Ending ending =
      program_.run({"run", "--", "/bin/sh", "-c",
                    "LD_PRELOAD=\"$LD_PRELOAD:" REGTUNE_PRELOADED "\" exec '" REGTUNE_WATCHED_APP "'"});
  EXPECT_EQ(ending.out, unwatched.text) << ending.err;
  EXPECT_EQ(ending.exit_code, 0);
}

TEST_F(WatchedApp, AProgramThatASignalEndedIsToldAsAShellDoes) {
  EXPECT_EQ(program_.run({"run", "--quiet", "--", "sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST_F(WatchedApp, AProgramThatDoesNotExistIsAnError) {
  const Ending ending = program_.run({"run", "--", "./nowhere"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::file_not_found));
  EXPECT_TRUE(holds(ending.err, "./nowhere cannot be started: No such file or directory"));
  EXPECT_EQ(program_.run({"run"}).exit_code, static_cast<int>(ErrorKind::usage));
}

TEST_F(WatchedApp, ASourceThatIsNotThereEndsTheRunBeforeTheProgramStarts) {
  const Ending ending = program_.run({"run", "--source", "nowhere.cu", "--", "touch", "started"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::file_not_found));
  EXPECT_FALSE(std::filesystem::exists(program_.folder() / "started"));
}

TEST_F(WatchedApp, AppliesWhatWasTunedToTheLaunchesItServes) {
  const Ending tuned = watch(short_tuning({}), {"10"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  if (tuned.err.find("best: ") == std::string::npos) GTEST_SKIP() << "this NVRTC's own code is the best of all";
  const Ending applied = watch({"--apply", "--quiet"}, {"10"});
  EXPECT_EQ(applied.exit_code, 0);
  EXPECT_EQ(applied.out, unwatched("10").text);
  EXPECT_TRUE(holds(applied.err, "scale: 10 launches with tuned code ("));
  const nlohmann::json json = watch_json({"--apply"}, {"10"});
  EXPECT_EQ(json.at("kernels").at(0).at("replaced"), 10) << json;
  EXPECT_EQ(json.at("applied").at(0).at("launches"), 10) << json;
}

TEST_F(WatchedApp, ACacheThatCannotBeUsedEndsTheRunBeforeTheProgramStarts) {
  program_.write("cache.db", std::string(8192, 'x'));
  const Ending ending = watch({"--apply"}, {"3"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::cache_unusable)) << ending.err;
  EXPECT_EQ(ending.out, "") << "the program has not run";
}

TEST_F(WatchedApp, AListingNeedsNoCache) {
  const Ending ending = program_.run({"run", "--", "/bin/sh", "-c",
                                      "env -u HOME -u XDG_CACHE_HOME -u REGTUNE_CACHE '" + program_path().string() +
                                          "' run --no-config -- " + REGTUNE_WATCHED_APP});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, "nothing to do\n");
}

TEST_F(WatchedApp, AppliesNothingWhereNothingIsStored) {
  const Ending ending = watch({"--apply", "--quiet"}, {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(holds(ending.err, "no launch was made with tuned code"));
}

// A program that carries its kernel as PTX, in a text or in a fat binary, as nvcc makes them.
class CarriedPtx : public WatchedApp {
 protected:
  void SetUp() override {
    WatchedApp::SetUp();
    if (IsSkipped()) return;
    if (program_candidates(nvcc_program()).empty()) GTEST_SKIP() << "there is no nvcc here, which makes PTX";
    if (program_candidates(ptxas_program()).empty()) GTEST_SKIP() << "there is no ptxas here";
    program_.write("scale.cu",
                   "extern \"C\" __global__ void scale(const float* in, float* out, int n) {\n"
                   "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  float sum = 0;\n"
                   "#pragma unroll\n"
                   "  for (int k = 0; k < 32; ++k) sum = sum * in[(i + k * 7) % n] + in[(i * 3 + k) % n];\n"
                   "  if (i < n) out[i] = sum;\n"
                   "}\n");
  }
  // Made by nvcc with these options, and what the program loads its kernel from.
  void carry(const std::string& options, const std::string& name) {
    const std::string file = (program_.folder() / name).string();
    const Said made = run(program_candidates(nvcc_program()).front().string() + " " + options + " -o " + file + " " +
                          (program_.folder() / "scale.cu").string());
    ASSERT_EQ(made.exit_code, 0) << made.text;
    set("WATCHED_IMAGE", file);
  }
  TuningRecord stored() const {
    const std::vector<StoredRun> runs = Store::open(program_.cache()).list("scale");
    EXPECT_EQ(runs.size(), 1u);
    return runs.empty() ? TuningRecord() : Store::open(program_.cache()).load(runs[0].id).value();
  }
};

constexpr const char* kConfirm = "from PTX: confirm with a build";

TEST_F(CarriedPtx, TextIsTunedUnderCaps) {
  carry("-ptx -arch=compute_80", "scale.ptx");
  const std::string plain = unwatched("10").text;
  const Ending ending = watch(short_tuning({"--record", "run.json"}), {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, plain);
  EXPECT_EQ(ending.err.find("was not tuned"), std::string::npos) << ending.err;
  const TuningRecord record = stored();
  EXPECT_TRUE(record.compiler.starts_with("ptxas ")) << record.compiler;
  EXPECT_EQ(record.sizes, (Sizes{{"grid_x", 4}, {"block_x", 256}, {"arg2", 1000}})) << "a word counts as an integer";
  EXPECT_EQ(record.source_path, "watched_app.carried.ptx");
  EXPECT_TRUE(holds(record.description, "outputs_compared = true"));
  EXPECT_EQ(record.trials.size(), 234u);
  EXPECT_FALSE(record.nvcc);
  EXPECT_TRUE(holds(text_of(program_.folder() / "run.json"), "\"from_ptx\": true"));
  if (record.verdict && record.verdict->kind == Verdict::Kind::improved) {
    EXPECT_TRUE(holds(ending.err, kConfirm)) << ending.err;
    EXPECT_TRUE(holds(program_.run({"db", "list"}).out, kConfirm));
    EXPECT_TRUE(holds(program_.run({"export", "-o", "budgets.cmake"}).err, kConfirm));
    EXPECT_TRUE(holds(text_of(program_.folder() / "budgets.cmake"), kConfirm));
  }
}

TEST_F(CarriedPtx, TextInAFileThatTheDriverReadsIsTuned) {
  carry("-ptx -arch=compute_90", "scale.ptx");
  set("WATCHED_LOADS", "file");
  const Ending ending = watch(short_tuning({}), {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(stored().compiler.starts_with("ptxas ")) << ending.err;
}

TEST_F(CarriedPtx, TextIsTunedInTheProgramsOwnContext) {
  carry("-ptx -arch=compute_90", "scale.ptx");
  const Ending ending = watch(short_tuning({"--in-process"}), {"10"});
  EXPECT_EQ(ending.out, unwatched("10").text) << "memory is put back";
  EXPECT_TRUE(holds(stored().description, "outputs_compared = true")) << ending.err;
}

TEST_F(CarriedPtx, WhatWasTunedIsApplied) {
  carry("-ptx -arch=compute_90", "scale.ptx");
  const Ending tuned = watch(short_tuning({}), {"10"});
  if (!holds(tuned.err, "best: ")) GTEST_SKIP() << "this ptxas's own code is the best of all";
  const Ending applied = watch({"--apply", "--quiet"}, {"10"});
  EXPECT_EQ(applied.out, unwatched("10").text);
  EXPECT_TRUE(holds(applied.err, "scale: 10 launches with tuned code (")) << applied.err;
  EXPECT_TRUE(holds(applied.err, "x as it was measured, from PTX)")) << applied.err;
  EXPECT_EQ(watch_json({"--apply"}, {"10"}).at("applied").at(0).at("from_ptx"), true);
}

TEST_F(CarriedPtx, InAFatBinaryIsTakenOut) {
  carry("-ptx -arch=compute_80", "taken_out.ptx");
  // In the place of cuobjdump, which not every toolkit has.
  program_.write("cuobjdump", "#!/bin/sh\ncp '" + (program_.folder() / "taken_out.ptx").string() + "' image.1.ptx\n");
  std::filesystem::permissions(program_.folder() / "cuobjdump", std::filesystem::perms::owner_all);
  set("REGTUNE_CUOBJDUMP", (program_.folder() / "cuobjdump").string());
  carry("-fatbin -gencode arch=compute_80,code=[compute_80,sm_90]", "scale.fatbin");
  const Ending ending = watch(short_tuning({}), {"10"});
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(stored().compiler.starts_with("ptxas ")) << ending.err;
  // The driver says 32 registers, whatever it loads.
  const bool is_other = stored().trials.front().facts->registers_per_thread != 32;
  EXPECT_EQ(holds(ending.err, "it runs machine code of its own (a cubin in the fat binary"), is_other) << ending.err;
}

TEST_F(CarriedPtx, InARealFatBinaryIsTakenOutByCuobjdump) {
  if (program_candidates(cuobjdump_program()).empty()) GTEST_SKIP() << "there is no cuobjdump here";
  carry("-fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=[compute_90,sm_90]",
        "scale.fatbin");
  const Ending ending = watch({"-k", "scale", "--budget", "1", "--no-rename"}, {"10"});
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(holds(ending.err, "scale is tuned by the PTX for sm_90 that ")) << ending.err;
  EXPECT_TRUE(stored().compiler.starts_with("ptxas ")) << ending.err;
}

TEST_F(CarriedPtx, MachineCodeAloneIsToldAndTheProgramGoesOn) {
  carry("-cubin -arch=sm_90", "scale.cubin");
  const Ending ending = watch(short_tuning({}), {"10"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(holds(ending.err, "scale: the program loads machine code of it alone (a cubin)")) << ending.err;
  EXPECT_FALSE(std::filesystem::exists(program_.cache()));
}

TEST_F(CarriedPtx, OfANewerCudaIsToldAndTheProgramGoesOn) {
  carry("-ptx -arch=compute_90", "scale.ptx");
  std::string text = text_of(program_.folder() / "scale.ptx");
  const std::size_t version = text.find(".version ") + 9;
  text.replace(version, text.find('\n', version) - version, "99.0");
  program_.write("scale.ptx", text);
  const Ending ending = watch(short_tuning({}), {"10"});
  EXPECT_EQ(ending.out, unwatched("10").text);
  EXPECT_TRUE(holds(ending.err, "PTX of a newer CUDA needs its ptxas")) << ending.err;
}

}  // namespace
}  // namespace regtune
