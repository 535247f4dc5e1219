// `regtune analyze` and `regtune check` as a user runs them, without a GPU.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "program.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr int kBreach = static_cast<int>(ErrorKind::check_failed);

// No launch description at all; the second kernel's block is in its bounds.
constexpr const char* kTwo = R"(__global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void __launch_bounds__(96) thrice(float* x) { x[threadIdx.x] *= 3.0f; }
)";

class StudyEndToEnd : public testing::Test {
 protected:
  std::string kernel(const std::string& name) const { return source_folder() / "kernels" / name; }

  nlohmann::json document_of(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.end(), {"--json", "--quiet"});
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, exit_code) << ending.err << ending.out;
    return nlohmann::json::parse(ending.out, nullptr, false);
  }

  void refuse(ErrorKind kind, const std::vector<std::string>& arguments, const std::string& part) {
    const auto before = program_.files();
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, static_cast<int>(kind)) << ending.err;
    EXPECT_EQ(ending.out, "");
    EXPECT_TRUE(holds(ending.err, part));
    EXPECT_EQ(program_.files(), before);
  }

  Program program_{true};
};

TEST_F(StudyEndToEnd, AnalyzesSeveralArchitecturesAndCompilesNothingTwice) {
  const std::vector<std::string> arguments{"analyze", kernel("decay_bounded.cu"), "--arch", "sm_75,sm_90,sm_120"};
  const nlohmann::json first = document_of(arguments);
  ASSERT_EQ(first["studies"].size(), 3u);
  for (const nlohmann::json& study : first["studies"]) {
    EXPECT_GT(study["compiled"].get<int>() + study["inferred"].get<int>(), 232) << study["architecture"];
    EXPECT_EQ(study["kept"], 0);
    EXPECT_GT(study["distinct_codes"], 5);
  }
  const nlohmann::json& hopper = first["studies"][1];
  EXPECT_EQ(hopper["architecture"], "sm_90");
  EXPECT_TRUE(holds(hopper["diagnosis"][0], "48 registers were not enough; more registers cure it: --maxrregcount="));
  EXPECT_TRUE(holds(hopper["diagnosis"][0], "__launch_bounds__(256, 4) the tightest bound"));
  const nlohmann::json five{{"max_threads_per_block", 256}, {"min_blocks_per_sm", 5}, {"register_ceiling", 48}};
  EXPECT_NE(std::find(hopper["ceilings"].begin(), hopper["ceilings"].end(), five), hopper["ceilings"].end());
  EXPECT_EQ(record_from_json(hopper["record"], "record").architecture, "sm_90");

  const nlohmann::json second = document_of(arguments);
  ASSERT_EQ(second["studies"].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(second["studies"][i]["compiled"], 0);
    EXPECT_EQ(second["studies"][i]["kept"], first["studies"][i]["compiled"]);
    EXPECT_EQ(second["studies"][i]["record"]["trials"], first["studies"][i]["record"]["trials"]);
  }
}

TEST_F(StudyEndToEnd, SaysWhatTheAuthorsBoundDoes) {
  const nlohmann::json found =
      document_of({"analyze", kernel("decay_bounded.cu"), "--arch", "sm_90", "--compile-budget", "0"});
  EXPECT_EQ(found["studies"][0]["record"]["author_bounds"], "256, 5");
  EXPECT_TRUE(holds(found["studies"][0]["diagnosis"].dump(),
                    "bound: the author's __launch_bounds__(256, 5): the ceiling is 48 registers; the kernel uses 48"));
}

TEST_F(StudyEndToEnd, TakesTheOptionsOfTheProjectsOwnBuild) {
  program_.write("src/k.cu",
                 "#include \"mine.h\"\n"
                 "__global__ void k(float* x) { x[threadIdx.x] *= FACTOR + MINE; }\n");
  program_.write("inc/mine.h", "#define MINE 2\n");
  program_.write(
      "build/compile_commands.json",
      R"([{"directory": ".", "file": "../src/k.cu", "command": "nvcc -I../inc -DFACTOR=3 -O3 -c ../src/k.cu"}])");
  const nlohmann::json found =
      document_of({"check", "src/k.cu", "--arch", "sm_90", "--compile-commands", "build/compile_commands.json"});
  EXPECT_EQ(found["passed"], true);
  refuse(ErrorKind::file_not_found,
         {"check", kernel("saxpy.cu"), "--arch", "sm_90", "--compile-commands", "build/compile_commands.json"},
         "does not say how");
}

TEST_F(StudyEndToEnd, IncludesAFileInFrontOfTheSource) {
  program_.write("k.cu", "__global__ void k(float* x) { x[threadIdx.x] *= FACTOR; }\n");
  program_.write("front.h", "#define FACTOR 3\n");
  EXPECT_EQ(document_of({"check", "k.cu", "--arch", "sm_90", "--include", "front.h"})["passed"], true);
}

TEST_F(StudyEndToEnd, TellsAnAddressableArrayFromSpills) {
  const Ending ending = program_.run({"analyze", kernel("decay_indexed.cu"), "--arch", "sm_75,sm_90,sm_120"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  for (const char* architecture : {"sm_75", "sm_90", "sm_120"})
    EXPECT_TRUE(holds(ending.out, std::string(architecture) + ": decayIndexed(const float*, float*, unsigned long)"));
  EXPECT_TRUE(holds(ending.out, "stack frame: 128 bytes also where nothing spills"));
  EXPECT_TRUE(holds(ending.out, "make the index a compile-time constant"));
  EXPECT_TRUE(holds(ending.out, "ceiling: __launch_bounds__(256)"));
}

TEST_F(StudyEndToEnd, NeedsNoDescriptionAndTakesTheBlockFromTheBounds) {
  program_.write("two.cu", kTwo);
  const nlohmann::json study =
      document_of({"analyze", "two.cu", "--arch", "sm_90", "--kernel", "thrice"})["studies"][0];
  EXPECT_EQ(study["record"]["author_shape"]["block"], nlohmann::json(Dim3{96, 1, 1}));
  EXPECT_EQ(study["ceilings"][0]["max_threads_per_block"], 96);
  const Ending none = program_.run({"analyze", "two.cu", "--kernel", "nothing*"});
  EXPECT_EQ(none.exit_code, static_cast<int>(ErrorKind::no_kernel)) << none.err;
  EXPECT_TRUE(holds(none.err, "twice(float*)"));
}

TEST_F(StudyEndToEnd, StudiesEveryKernelThatIsMeant) {
  program_.write("two.cu", kTwo);
  const nlohmann::json both = document_of({"analyze", "two.cu", "--arch", "sm_90", "--kernel", "all"});
  ASSERT_EQ(both["studies"].size(), 2u);
  // In order of the mangled name: _Z5twicePf, _Z6thricePf.
  EXPECT_EQ(both["studies"][0]["record"]["author_shape"]["block"], nlohmann::json(Dim3{256, 1, 1}));
  EXPECT_EQ(both["studies"][1]["record"]["author_shape"]["block"], nlohmann::json(Dim3{96, 1, 1}));
  EXPECT_EQ(document_of({"analyze", "two.cu", "--kernel", "thr*"})["studies"].size(), 1u);
}

TEST_F(StudyEndToEnd, GoesOnWithoutTheDefaultCacheOnly) {
  program_.write("two.cu", kTwo);
  program_.write("cache.db", std::string(2000, 'x'));
  const Ending ending = program_.run({"analyze", "two.cu", "--kernel", "twice"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(holds(ending.err, "no compilation is kept"));
  refuse(ErrorKind::cache_unusable, {"analyze", "two.cu", "--kernel", "twice", "--cache", "cache.db"}, "cache.db");
}

// 160,000 operations without a branch: the front end takes seconds, and each link one or two.
std::string slow_kernel() {
  const auto chain = [](const char* distance) {
    return std::string("#pragma unroll\n  for (int s = 0; s < 400; ++s)\n#pragma unroll\n") +
           "    for (int i = 0; i < 200; ++i) x[i] = x[i] * x[(i + 1) % 200] + x[(i + " + distance + ") % 200];\n";
  };
  return "__global__ void slow(const float* in, float* out) {\n  float x[200];\n#pragma unroll\n"
         "  for (int i = 0; i < 200; ++i) x[i] = in[threadIdx.x + i * 64];\n" +
         chain("7") + chain("3") +
         "  float sum = 0;\n#pragma unroll\n  for (int i = 0; i < 200; ++i) sum += x[i];\n"
         "  out[threadIdx.x] = sum;\n}\n";
}

TEST_F(StudyEndToEnd, SpendsACompileBudgetWhereItCanMatterAndSaysWhatItLeftOut) {
  program_.write("slow.cu", slow_kernel());
  const std::vector<std::string> arguments{"analyze", "slow.cu", "--arch", "sm_90", "--jobs", "2"};
  std::vector<std::string> limited = arguments;
  limited.insert(limited.end(), {"--compile-budget", "4", "--explain"});
  const Ending ending = program_.run(limited);
  ASSERT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(holds(ending.err, "regtune: about 243 compilations of "));
  EXPECT_TRUE(holds(ending.err, "--compile-budget 4 goes to the author's code, launch bounds, "));
  EXPECT_TRUE(holds(ending.out, "author's code"));
  EXPECT_TRUE(holds(ending.out, "budgets, of which nothing is known: "));
  EXPECT_TRUE(holds(ending.out, "the compile budget of 4 s was spent before its turn; see --compile-budget"));
  EXPECT_TRUE(holds(ending.out, "way to the machine code: LTO-IR once, then nvJitLink"));
  EXPECT_TRUE(holds(ending.out, " --maxrregcount=25: not compiled: the compile budget of 4 s was spent"));

  // The next run has what that one compiled.
  std::vector<std::string> again = arguments;
  again.insert(again.end(), {"--compile-budget", "0"});
  const nlohmann::json study = document_of(again)["studies"][0];
  EXPECT_EQ(study["compiled"], 0);
  EXPECT_GE(study["kept"], 1) << "the author's code; more where the machine is not too busy";
  EXPECT_EQ(study["kept"].get<int>() + study["skipped"].get<int>(), 243);
  EXPECT_EQ(study["record"]["trials"].size(), 243u) << "no variant vanishes";
  EXPECT_EQ(study["record"]["trials"].back()["outcome"]["kind"], "not compiled");
  EXPECT_EQ(study["record"]["trials"].front()["outcome"]["kind"], "not timed");
}

TEST_F(StudyEndToEnd, ChecksEveryKernelOfTheFile) {
  program_.write("two.cu", kTwo);
  const Ending passed = program_.run({"check", "two.cu", "--arch", "sm_75,sm_90"});
  EXPECT_EQ(passed.exit_code, 0) << passed.err;
  EXPECT_EQ(passed.out, "");
  EXPECT_TRUE(holds(passed.err, "4 codes checked, no breach"));
  const nlohmann::json failed =
      document_of({"check", "two.cu", "--arch", "sm_75,sm_90", "--max-registers", "2"}, kBreach);
  EXPECT_EQ(failed["passed"], false);
  EXPECT_EQ(failed["breaches"].size(), 4u);
  EXPECT_EQ(document_of({"check", "two.cu", "--kernel", "twice"})["kernels"].size(), 1u);
}

TEST_F(StudyEndToEnd, FailsACheckWithOneLineForEachBreach) {
  const Ending spills =
      program_.run({"check", kernel("decay_bounded.cu"), "--arch", "sm_90", "--min-occupancy", "0.9"});
  EXPECT_EQ(spills.exit_code, kBreach) << spills.err;
  EXPECT_EQ(std::count(spills.out.begin(), spills.out.end(), '\n'), 2);
  EXPECT_TRUE(holds(spills.out, "decayBounded(const float*, float*, unsigned long), sm_90: spills "));
  EXPECT_TRUE(holds(spills.out, "has an occupancy of 0.625"));
  EXPECT_EQ(program_.run({"check", kernel("decay_bounded.cu"), "--max-spill-bytes", "1000"}).exit_code, 0);
}

TEST_F(StudyEndToEnd, HoldsACheckAgainstACommittedBaseline) {
  const std::string source = kernel("decay_bounded.cu");
  EXPECT_EQ(program_.run({"check", source, "--arch", "sm_90", "--write-baseline", "b.json"}).exit_code, 0);
  EXPECT_EQ(program_.run({"check", source, "--arch", "sm_90", "--baseline", "b.json"}).exit_code, 0);

  nlohmann::json baseline = nlohmann::json::parse(text_of(program_.folder() / "b.json"));
  const int registers = baseline["kernels"][0]["registers_per_thread"];
  baseline["kernels"][0]["registers_per_thread"] = registers - 1;
  program_.write("lower.json", baseline.dump());
  const Ending worse =
      program_.run({"check", source, "--arch", "sm_90", "--baseline", "lower.json", "--write-baseline", "lower.json"});
  EXPECT_EQ(worse.exit_code, kBreach);
  EXPECT_TRUE(holds(worse.out, ": registers: " + std::to_string(registers) + ", and "));
  EXPECT_EQ(text_of(program_.folder() / "lower.json"), baseline.dump()) << "a breached baseline was replaced";

  baseline["kernels"][0]["registers_per_thread"] = registers + 1;
  program_.write("higher.json", baseline.dump());
  const Ending better = program_.run({"check", source, "--arch", "sm_90", "--baseline", "higher.json"});
  EXPECT_EQ(better.exit_code, 0);
  EXPECT_TRUE(holds(better.err, "improved, refresh it with --write-baseline"));
}

TEST_F(StudyEndToEnd, RefusesBadInput) {
  program_.write("two.cu", kTwo);
  program_.write("broken.json", "{");
  for (const char* command : {"analyze", "check"}) {
    refuse(ErrorKind::unknown_architecture, {command, "two.cu", "--arch", "sm_90,sm_42"}, "sm_42");
    refuse(ErrorKind::usage, {command, "two.cu", "--arch", "sm_90,"}, "--arch");
    refuse(ErrorKind::file_not_found, {command, "nowhere.cu"}, "nowhere.cu");
    refuse(ErrorKind::usage, {command}, "KERNEL.cu is missing");
  }
  refuse(ErrorKind::bad_description, {"check", "two.cu", "--baseline", "broken.json"}, "not a baseline");
  refuse(ErrorKind::file_not_found, {"check", "two.cu", "--baseline", "none.json"}, "--write-baseline writes one");
  refuse(ErrorKind::usage, {"check", "two.cu", "--min-occupancy", "1.5"}, "between 0 and 1");
  refuse(ErrorKind::usage, {"check", "two.cu", "--max-registers", "-1"}, "must not be negative");
  program_.write("wrong.cu", "__global__ void f() { nonsense; }\n");
  refuse(ErrorKind::source_not_compiled, {"check", "wrong.cu"}, "nonsense");
}

TEST_F(StudyEndToEnd, AnalyzesEveryInstanceAndSaysTheCureOfTheAuthorsAlone) {
  program_.write("k.cu", R"(template <int N>
__global__ void __launch_bounds__(256, 8) k(const float* in, float* out) {
  float v[N];
#pragma unroll
  for (int i = 0; i < N; ++i) v[i] = in[i * 256 + threadIdx.x];
#pragma unroll
  for (int i = 0; i < N; ++i) out[i * 256 + threadIdx.x] = v[i] * v[(i * 7 + 3) % N] + v[N - 1 - i];
}
)");
  const std::vector<std::string> arguments{"analyze",  "k.cu", "--arch", "sm_90",
                                           "--kernel", "k<N>", "--tune", "N=48,2,4"};
  const nlohmann::json first = document_of(arguments);
  ASSERT_EQ(first["studies"].size(), 1u);
  const nlohmann::json& study = first["studies"][0];
  EXPECT_EQ(study["signature"], "k<48>(const float*, float*)");
  EXPECT_EQ(study["kept"], 0);
  const TuningRecord record = record_from_json(study["record"], "record");
  std::map<std::string, int> trials_of;
  for (const Trial& trial : record.trials) ++trials_of[trial.variant.choice.instance];
  EXPECT_EQ(trials_of, (std::map<std::string, int>{{"", 243}, {"k<2>", 243}, {"k<4>", 243}}));
  EXPECT_FALSE(holds(study["diagnosis"][0], "--maxrregcount=24 is the smallest cap")) << "that is the others' cap";
  const nlohmann::json second = document_of(arguments);
  EXPECT_EQ(second["studies"][0]["compiled"], 0);
}

}  // namespace
}  // namespace regtune
