// The built program, as a user runs it on a machine without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "policy.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "scale_kernel.hpp"
#include "store.hpp"

namespace regtune {
namespace {

constexpr int kNoGpu = 20;
constexpr int kMiss = 1;

constexpr const char* kFactor = "options = [\"-DFACTOR=2.0f\"]\n";

class EndToEnd : public testing::Test {
 protected:
  // Ends with that exit code, says why on stderr, and leaves no file behind that was not there.
  Ending refuse(ErrorKind kind, const std::vector<std::string>& arguments) {
    const auto before = program_.files();
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, static_cast<int>(kind)) << ending.err;
    EXPECT_EQ(ending.out, "");
    EXPECT_TRUE(holds(ending.err, "regtune: "));
    EXPECT_EQ(program_.files(), before);
    return ending;
  }

  void write_scale() {
    program_.write("scale.cu", kScale);
    program_.write("scale.regtune.toml", std::string(kFactor) + kScaleLaunch);
  }

  Program program_{true};
};

TEST_F(EndToEnd, AnalysesAKernelWithoutAGpu) {
  const std::string kernel = source_folder() / "kernels/decay_wide.cu";
  const Ending ending = program_.run({kernel, "--all"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(
      holds(ending.out, "decayWide(const float*, float*, unsigned long)   n = 16777216   block 256   grid 65536"));
  EXPECT_TRUE(holds(ending.out, "no GPU, sm_90"));
  EXPECT_TRUE(holds(ending.out, "taken to give the code of those around them -> "));
  EXPECT_TRUE(holds(ending.out, "author's code"));
  EXPECT_TRUE(holds(ending.out, "--maxrregcount=24"));
  EXPECT_TRUE(holds(ending.out, "__launch_bounds__(256)"));
  EXPECT_TRUE(holds(ending.out, "nothing was timed and nothing stored"));
  EXPECT_EQ(ending.out.find("time (ms)"), std::string::npos) << "times without a GPU";
  EXPECT_TRUE(holds(ending.err, "nothing will be timed"));
  EXPECT_EQ(program_.files(), std::vector<std::string>{}) << "something was stored";
}

TEST_F(EndToEnd, ReadsASideFileAndPrintsOneDocumentThatIsARecord) {
  write_scale();
  const Ending ending = program_.run({"scale.cu", "--json", "--quiet", "--record", "run.json"});
  EXPECT_EQ(ending.exit_code, kNoGpu);
  EXPECT_EQ(ending.err, "");
  const nlohmann::json document = nlohmann::json::parse(ending.out);
  EXPECT_EQ(document, nlohmann::json::parse(text_of(program_.folder() / "run.json")));
  const TuningRecord record = record_from_json(document, "stdout");
  EXPECT_EQ(record.kernel, "scale");
  EXPECT_EQ(record.architecture, "sm_90");
  EXPECT_EQ(record.sizes, (Sizes{{"n", 1024}}));
  EXPECT_EQ(record.author_shape.grid, (Dim3{8, 1, 1}));
  EXPECT_FALSE(record.gpu);
  EXPECT_FALSE(record.verdict);
  EXPECT_EQ(record.options, std::vector<std::string>{"-DFACTOR=2.0f"});
  // Author's, none, 232 caps, (128), and (128, 1..16).
  ASSERT_GE(record.trials.size(), 251u);
  for (const Trial& trial : record.trials) {
    ASSERT_TRUE(trial.facts) << spell(trial.variant.policy);
    EXPECT_GT(trial.facts->registers_per_thread, 0);
    EXPECT_FALSE(std::holds_alternative<Measurement>(trial.outcome));
  }
}

TEST_F(EndToEnd, FlagsWinOverTheDescription) {
  write_scale();
  const Ending ending = program_.run({"scale.cu", "--json", "--arch", "sm_80", "--set", "n=1<<12", "--block", "64,256",
                                      "--", "-UFACTOR", "-DFACTOR=3.0f"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  const TuningRecord record = record_from_json(nlohmann::json::parse(ending.out), "stdout");
  EXPECT_EQ(record.architecture, "sm_80");
  EXPECT_EQ(record.sizes, (Sizes{{"n", 4096}}));
  EXPECT_EQ(record.author_shape.block, (Dim3{64, 1, 1}));
  EXPECT_EQ(record.author_shape.grid, (Dim3{64, 1, 1}));
  EXPECT_EQ(record.options.back(), "-DFACTOR=3.0f");
  const auto of_256 = std::count_if(record.trials.begin(), record.trials.end(), [](const Trial& trial) {
    return trial.variant.block == Dim3{256, 1, 1} && trial.shape.grid == Dim3{16, 1, 1};
  });
  EXPECT_GT(of_256, 232);
}

TEST_F(EndToEnd, HandsWhatIsBehindTheDashesToTheCompiler) {
  program_.write("scale.cu", kScale);
  program_.write("scale.regtune.toml", kScaleLaunch);
  EXPECT_TRUE(holds(refuse(ErrorKind::source_not_compiled, {"scale.cu"}).err, "FACTOR"));
  refuse(ErrorKind::bad_launch, {"scale.cu", "--grid", "0", "--", "-DFACTOR=2.0f"});  // it compiles
  EXPECT_TRUE(holds(refuse(ErrorKind::usage, {"scale.cu", "--", "--gpu-architecture=sm_80"}).err, "--arch"));
}

TEST_F(EndToEnd, TunesATemplateByItsArguments) {
  program_.write("fill.cu", R"(/*regtune
sizes = { n = 256 }
block = 64
grid = "n // block"
[args]
out = { buffer = "n" }
*/
template <int value, typename T>
__global__ void fill(T* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
)");
  const Ending unnamed = refuse(ErrorKind::no_kernel, {"fill.cu"});
  EXPECT_TRUE(holds(unnamed.err, "--kernel 'fill<...>'"));
  const Ending ending = program_.run({"fill.cu", "--kernel", "fill<7, float>"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(holds(ending.out, "fill<7, float>(float*)"));
}

constexpr const char* kUnrolled = R"cuda(/*regtune
kernel = "scale<UNROLL, float>"
tune = { UNROLL = [1, 2, 4] }
sizes = { n = 4096 }
block = 64
grid = "n // (block * UNROLL)"
[args]
x = { buffer = "n" }
*/
template <int UNROLL, typename T>
__global__ void scale(T* x) {
#pragma unroll
  for (int i = 0; i < UNROLL; ++i) x[(blockIdx.x * blockDim.x + threadIdx.x) * UNROLL + i] *= 2;
}
)cuda";

TEST_F(EndToEnd, GivesTheArgumentsOfATemplateTheirValuesAndTheGridFollows) {
  program_.write("scale.cu", kUnrolled);
  const Ending ending = program_.run({"scale.cu", "--json"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(holds(ending.err, "scale<1, float> is taken as yours"));
  const TuningRecord record = record_from_json(nlohmann::json::parse(ending.out), "stdout");
  EXPECT_EQ(record.signature, "scale<1, float>(float*)");
  std::map<std::string, std::pair<int, unsigned>> of_instance;  // how many trials, and their grid
  for (const Trial& trial : record.trials) {
    EXPECT_TRUE(trial.facts) << spell(trial.variant.choice) << " " << spell(trial.variant.policy);
    auto& [trials, grid] = of_instance[trial.variant.choice.instance];
    EXPECT_TRUE(trials == 0 || grid == trial.shape.grid.x);
    ++trials;
    grid = trial.shape.grid.x;
  }
  // Renamed is the author's own instance alone.
  ASSERT_EQ(of_instance.size(), 3u);
  const int each = of_instance["scale<4, float>"].first;
  EXPECT_GT(each, 232);
  EXPECT_EQ(of_instance[""], std::pair(2 * each, 64u));
  EXPECT_EQ(of_instance["scale<2, float>"], std::pair(each, 32u));
  EXPECT_EQ(of_instance["scale<4, float>"], std::pair(each, 16u));
}

TEST_F(EndToEnd, RefusesAnInstanceOfOtherArguments) {
  std::string text = kUnrolled;
  program_.write("scale.cu", text);
  EXPECT_TRUE(holds(refuse(ErrorKind::bad_launch, {"scale.cu", "--tune", "UNROLL=1,128"}).err, "UNROLL = 128"));
  const std::string tune = "tune = { UNROLL = [1, 2, 4] }";
  text.replace(text.find(tune), tune.size(), "tune = { T = [\"float\", \"double\"] }");
  program_.write("scale.cu", text);
  const Ending ending =
      refuse(ErrorKind::bad_description, {"scale.cu", "--kernel", "scale<2, T>", "--grid", "n // (2 * block)"});
  EXPECT_TRUE(holds(ending.err, "scale<2, double>(double*)"));
}

TEST_F(EndToEnd, TriesEveryMaxnregWhereTheKernelFixesItsBlock) {
  program_.write("k.cu", "__global__ void __block_size__((64, 1, 1)) k(float* x) { x[threadIdx.x] = 1; }\n");
  const Ending ending =
      program_.run({"k.cu", "--json", "--block", "64", "--grid", "1", "--arg", "x={buffer=\"64\"}", "--no-rename"});
  if (holds(ending.err, "attribute \"__global__\" does not apply here"))
    GTEST_SKIP() << "this NVRTC knows no __block_size__";
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(holds(ending.err, "__maxnreg__ is tried at every value"));
  const TuningRecord record = record_from_json(nlohmann::json::parse(ending.out), "stdout");
  ASSERT_EQ(record.trials.size(), 234u);
  for (const Trial& trial : record.trials) {
    ASSERT_TRUE(trial.facts) << spell(trial.variant.policy);
    const auto* most = std::get_if<MaxRegisters>(&trial.variant.policy);
    if (most) {
      EXPECT_EQ(trial.facts->register_ceiling, most->registers_per_thread);
    }
  }
}

TEST_F(EndToEnd, RefusesAFileThatIsNotThere) {
  EXPECT_TRUE(holds(refuse(ErrorKind::file_not_found, {"nowhere.cu"}).err, "nowhere.cu"));
}

TEST_F(EndToEnd, RefusesASourceThatDoesNotCompileWithTheAuthorsLine) {
  program_.write("bad.cu", "\n\n__global__ void k(int n) {\n  int x = unheard_of;\n}\n");
  const Ending ending = refuse(ErrorKind::source_not_compiled, {"bad.cu"});
  EXPECT_TRUE(holds(ending.err, "bad.cu(4): error"));
  EXPECT_TRUE(holds(ending.err, "unheard_of"));
}

TEST_F(EndToEnd, RefusesASourceWithoutAKernel) {
  program_.write("none.cu", "__device__ int half(int n) { return n / 2; }\n");
  refuse(ErrorKind::no_kernel, {"none.cu"});
  program_.write("empty.cu", "");
  refuse(ErrorKind::no_kernel, {"empty.cu"});
}

TEST_F(EndToEnd, ListsTheKernelsWhenNoneIsNamed) {
  program_.write("two.cu", "__global__ void first(int n) {}\n__global__ void second(float* x) {}\n");
  const Ending ending = refuse(ErrorKind::several_kernels, {"two.cu"});
  EXPECT_TRUE(holds(ending.err, "first(int)"));
  EXPECT_TRUE(holds(ending.err, "second(float*)"));
  EXPECT_TRUE(holds(ending.err, "--kernel"));
  EXPECT_TRUE(holds(refuse(ErrorKind::no_kernel, {"two.cu", "--kernel", "third"}).err, "second(float*)"));
}

TEST_F(EndToEnd, ShowsTheLineToWriteForAParameterThatCannotBeGuessed) {
  program_.write("k.cu", "struct P { float* x; int n; };\n__global__ void k(P p, int n) { p.x[0] = n; }\n");
  const Ending ending = refuse(ErrorKind::missing_argument, {"k.cu", "--block", "32", "--grid", "1"});
  EXPECT_TRUE(holds(ending.err, "p = {struct = [{offset = 0"));
  EXPECT_TRUE(holds(ending.err, "[args]"));
}

TEST_F(EndToEnd, GuessesWhatIsNotDescribedAndSaysSo) {
  program_.write("k.cu",
                 "__global__ void __launch_bounds__(128) k(float* result, float a, int count) {\n"
                 "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < count) result[i] += a;\n}\n");
  const Ending ending = program_.run({"k.cu"});
  EXPECT_EQ(ending.exit_code, kNoGpu) << ending.err;
  EXPECT_TRUE(holds(ending.err, "guessed args.result = { buffer = \"round_up(count, block)\""));
  EXPECT_TRUE(holds(ending.err, "guessed block = 128: the kernel's launch bound"));
  EXPECT_TRUE(holds(ending.out, "guessed, not described: sizes.count = 16777216; block = 128"));
  const auto json = nlohmann::json::parse(program_.run({"k.cu", "--json", "--arg", "a=2"}).out);
  EXPECT_EQ(json.at("guesses").size(), 5u) << "the size, block, grid, result and count";
}

TEST_F(EndToEnd, WritesADescriptionThatTunesAndNeverOverwritesOne) {
  program_.write("k.cu", kScale);
  const Ending init = program_.run({"init", "k.cu", "-D", "FACTOR=2.0f"});
  ASSERT_EQ(init.exit_code, 0) << init.err;
  EXPECT_TRUE(holds(init.out, "k.regtune.toml"));
  const Ending tuned = program_.run({"k.cu", "--json"});
  EXPECT_EQ(tuned.exit_code, kNoGpu) << tuned.err;
  const auto json = nlohmann::json::parse(tuned.out);
  EXPECT_FALSE(json.contains("guesses")) << "everything is described now";
  EXPECT_EQ(json.at("sizes").at("n"), 1 << 24);
  refuse(ErrorKind::usage, {"init", "k.cu", "-D", "FACTOR=2.0f"});
}

TEST_F(EndToEnd, PrintsADescriptionForTheSourceItself) {
  program_.write("k.cu", "__global__ void k(const double* in, double* out, unsigned n) { out[0] = in[n - 1]; }\n");
  const auto before = program_.files();
  const Ending init = program_.run({"init", "k.cu", "--print", "--set", "n=100"});
  ASSERT_EQ(init.exit_code, 0) << init.err;
  EXPECT_EQ(program_.files(), before);
  program_.write("described.cu", init.out + "__global__ void k(const double* in, double* out, unsigned n) {}\n");
  EXPECT_EQ(program_.run({"described.cu"}).exit_code, kNoGpu);
}

TEST_F(EndToEnd, GuessesTheLaunchOfAKernelInAFileWithHostCode) {
  program_.write("main.cu", R"(#include <cstdio>
#include <vector>
__global__ void __launch_bounds__(192) scale(const float* in, float* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i] * 3;
}
int main() {
  std::vector<float> host(100);
  scale<<<1, 192>>>(nullptr, nullptr, 100);
  std::printf("%zu\n", host.size());
}
)");
  const Ending guessed = program_.run({"main.cu"});
  EXPECT_EQ(guessed.exit_code, kNoGpu) << guessed.err;
  EXPECT_TRUE(holds(guessed.err, "guessed block = 192: the kernel's launch bound"));
  const Ending init = program_.run({"init", "main.cu"});
  ASSERT_EQ(init.exit_code, 0) << init.err;
  EXPECT_TRUE(holds(init.out, "main.regtune.toml"));
  EXPECT_EQ(program_.run({"main.cu"}).exit_code, kNoGpu);
}

TEST_F(EndToEnd, NamesFileAndLineOfAnUnknownKey) {
  program_.write("k.cu", "// a kernel\n/*regtune\nblock = 32\ngird = 1\n*/\n__global__ void k(int n) {}\n");
  const Ending ending = refuse(ErrorKind::bad_description, {"k.cu"});
  EXPECT_TRUE(holds(ending.err, "k.cu:4"));
  EXPECT_TRUE(holds(ending.err, "gird"));
  EXPECT_TRUE(holds(ending.err, "grid"));
  write_scale();
  program_.write("scale.regtune.toml", std::string("blok = 32\n") + kScaleLaunch);
  EXPECT_TRUE(holds(refuse(ErrorKind::bad_description, {"scale.cu"}).err, "scale.regtune.toml:1"));
}

TEST_F(EndToEnd, RefusesAGridOfZero) {
  write_scale();
  EXPECT_TRUE(holds(refuse(ErrorKind::bad_launch, {"scale.cu", "--grid", "0"}).err, "--grid"));
  EXPECT_TRUE(holds(refuse(ErrorKind::bad_launch, {"scale.cu", "--set", "n=0"}).err, "scale.regtune.toml:4"));
  refuse(ErrorKind::bad_launch, {"scale.cu", "--block", "2048"});
}

TEST_F(EndToEnd, RefusesAnUnknownArchitecture) {
  write_scale();
  for (const char* architecture : {"sm_42", "sm_70", "compute_90", "hopper", ""}) {
    const Ending ending = refuse(ErrorKind::unknown_architecture, {"scale.cu", "--arch", architecture});
    EXPECT_TRUE(holds(ending.err, "sm_90"));
  }
}

TEST_F(EndToEnd, RefusesACacheThatIsNotADatabase) {
  program_.write("notes.txt", "these are notes, and nobody may lose them");
  const Ending ending = refuse(ErrorKind::cache_unusable, {"lookup", "scale", "--cache", "notes.txt"});
  EXPECT_TRUE(holds(ending.err, "notes.txt"));
  EXPECT_EQ(text_of(program_.folder() / "notes.txt"), "these are notes, and nobody may lose them");
}

TEST_F(EndToEnd, LookupOfNothingIsAMissAndMakesNoFile) {
  const Ending ending = program_.run({"lookup", "decayWide", "--set", "n=16777216"});
  EXPECT_EQ(ending.exit_code, kMiss);
  EXPECT_EQ(ending.out, "");
  EXPECT_TRUE(holds(ending.err, "nothing is stored"));
  EXPECT_EQ(program_.files(), std::vector<std::string>{});
  const Ending json = program_.run({"lookup", "decayWide", "--json"});
  EXPECT_EQ(json.exit_code, kMiss);
  EXPECT_EQ(nlohmann::json::parse(json.out).at("found"), false);
}

// A file as a tuning left it, asked by the built program.
TEST_F(EndToEnd, LookupSaysItsRung) {
  std::filesystem::copy_file(source_folder() / "tests/data/caches/version_1.db", program_.cache());
  const Ending exact = program_.run({"lookup", "sgemm", "--set", "n=1024", "--set", "m=64", "--gpu", "h200"});
  EXPECT_EQ(exact.exit_code, 0) << exact.err;
  EXPECT_TRUE(holds(exact.out, "match: exact\n"));
  EXPECT_TRUE(holds(exact.out, "--maxrregcount=57"));
  const Ending near = program_.run({"lookup", "sgemm", "--set", "n=4096", "--set", "m=64", "--json"});
  EXPECT_EQ(near.exit_code, 0) << near.err;
  EXPECT_TRUE(holds(near.err, "there is no GPU here: this is the answer for NVIDIA H200"));
  const nlohmann::json document = nlohmann::json::parse(near.out);
  EXPECT_EQ(document.at("lookup").at("match"), "nearest sizes");
  EXPECT_EQ(document.at("lookup").at("size_distance"), 2);
  EXPECT_EQ(record_from_json(document, "stdout").kernel, "_Z5sgemmPf");
  EXPECT_EQ(program_.run({"lookup", "sgemm", "--set", "n=1024", "--set", "m=64", "--gpu", "Tesla T4"}).exit_code,
            kMiss);
  EXPECT_EQ(program_.run({"lookup", "sgemm", "--set", "n=1024", "--gpu", "h200"}).exit_code, kMiss) << "m is missing";
  // A GPU that is not stored: no other answers for a bare name, and the closest of its capability for one that says it.
  const std::vector<std::string> h100 = {"lookup", "sgemm", "--set", "n=1024", "--set", "m=64", "--gpu"};
  const auto on = [&](const char* gpu) {
    std::vector<std::string> arguments = h100;
    arguments.emplace_back(gpu);
    return program_.run(arguments);
  };
  const Ending unknown = on("NVIDIA H100 PCIe");
  EXPECT_EQ(unknown.exit_code, kMiss);
  EXPECT_TRUE(holds(unknown.err, "--gpu 'NVIDIA H100 PCIe, sm_XX'"));
  const Ending known = on("NVIDIA H100 PCIe, sm_90, 114 SMs");
  EXPECT_EQ(known.exit_code, 0) << known.err;
  EXPECT_TRUE(holds(known.out, "match: same compute capability"));
  EXPECT_EQ(on("NVIDIA H100 PCIe,sm_90").exit_code, 0);
  for (const char* wrong :
       {"NVIDIA H100, 90", "H100, sm_", "H100, sm_90, many", "H100, sm_90, 114 SMs, 3", ", sm_90", ""})
    EXPECT_EQ(on(wrong).exit_code, static_cast<int>(ErrorKind::usage)) << wrong;
}

TEST_F(EndToEnd, TagIsTheSourceHashOfTheRecord) {
  write_scale();
  const Ending tag = program_.run({"tag", "scale.cu"});
  EXPECT_EQ(tag.exit_code, 0) << tag.err;
  const Ending analysis = program_.run({"scale.cu", "--json"});
  EXPECT_EQ(tag.out, nlohmann::json::parse(analysis.out).at("source_hash").get<std::string>() + "\n");
  EXPECT_NE(program_.run({"tag", "scale.cu", "--", "-DMORE"}).out, tag.out);
}

TEST_F(EndToEnd, RefusesACommandLineItDoesNotUnderstand) {
  write_scale();
  refuse(ErrorKind::usage, {"--nonsense"});
  refuse(ErrorKind::usage, {"scale.cu", "--kern", "scale"});  // no guessing of abbreviations
  refuse(ErrorKind::usage, {"scale.cu", "--jobs", "0"});
  refuse(ErrorKind::usage, {"scale.cu", "--margin", "nan"});
  refuse(ErrorKind::usage, {"lookup"});
}

TEST_F(EndToEnd, ReportsAnErrorAsOneDocumentToo) {
  const Ending ending = program_.run({"nowhere.cu", "--json"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::file_not_found));
  const nlohmann::json document = nlohmann::json::parse(ending.out);
  EXPECT_EQ(document.at("error").at("exit_code"), static_cast<int>(ErrorKind::file_not_found));
  EXPECT_TRUE(holds(document.at("error").at("message"), "nowhere.cu"));
}

TEST_F(EndToEnd, ShowsHelpAndVersion) {
  for (const char* option : {"--help", "-h", "--version"}) EXPECT_EQ(program_.run({option}).exit_code, 0);
  EXPECT_TRUE(holds(program_.run({"--help"}).out, "usage: regtune"));
  EXPECT_TRUE(holds(program_.run({"lookup", "--help"}).out, "--gpu"));
  EXPECT_EQ(program_.run({"--version"}).out.substr(0, 8), "regtune ");
}

TEST_F(EndToEnd, CompilesEveryKernelThatIsShipped) {
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "kernels")) {
    const std::string text = text_of(entry.path());
    EXPECT_EQ(text.rfind("// Verdict it should earn:", 0), 0u) << entry.path() << " does not open with its verdict";
    // The grid is looked at after the author's own code is compiled, and before the sweep.
    const Ending ending = program_.run({entry.path(), "--grid", "0"});
    EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::bad_launch)) << entry.path() << ": " << ending.err;
  }
}

TEST_F(EndToEnd, DecidesARecordedRunAgainWithoutAGpu) {
  const std::string file = source_folder() / "tests/data/h200/decay_wide.json";
  const Ending as_it_was = program_.run({"replay", file});
  EXPECT_EQ(as_it_was.exit_code, 0) << as_it_was.err;
  EXPECT_TRUE(holds(as_it_was.out, "best: 1.1"));
  EXPECT_EQ(as_it_was.out.find("the run itself said"), std::string::npos) << as_it_was.out;
  const Ending wide = program_.run({"replay", file, "--margin", "15"});
  EXPECT_EQ(wide.exit_code, 0) << wide.err;
  EXPECT_TRUE(holds(wide.out, "nothing is faster by more than 15.0 %"));
  EXPECT_TRUE(holds(wide.out, "the run itself said: __launch_bounds__(256)"));
  const Ending json = program_.run({"replay", file, "--budget", "0.1", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out).at("verdict").at("kind"), "inconclusive");
  const Ending series = program_.run({"replay", source_folder() / "tests/data/landscapes/raw/rushlarsen.json"});
  EXPECT_EQ(series.exit_code, 0) << series.err;
  EXPECT_TRUE(holds(series.out, "Leave it as it is"));
  EXPECT_EQ(program_.files(), std::vector<std::string>{}) << "something was stored";
}

TEST_F(EndToEnd, RefusesToReplayWhatIsNoRecord) {
  program_.write("broken.json", "{");
  EXPECT_TRUE(holds(refuse(ErrorKind::bad_description, {"replay", "broken.json"}).err, "not JSON"));
  EXPECT_TRUE(holds(refuse(ErrorKind::file_not_found, {"replay", "none.json"}).err, "none.json"));
}

TEST_F(EndToEnd, VerifiesNothingWithoutAStoredAnswerOrAGpu) {
  const Ending miss = program_.run({"verify", "decayWide", "--set", "n=1<<24"});
  EXPECT_EQ(miss.exit_code, kMiss);
  EXPECT_EQ(miss.out, "");
  EXPECT_TRUE(holds(miss.err, "nothing is stored there yet"));
  EXPECT_EQ(program_.files(), std::vector<std::string>{});

  std::ifstream in(source_folder() / "tests/data/h200/decay_wide.json");
  const TuningRecord record = record_from_json(nlohmann::json::parse(in), "decay_wide.json");
  Store store = Store::open(program_.cache());
  store.finish(store.begin(record), record);
  const Ending no_gpu = program_.run({"verify", "decayWide", "--set", "n=1<<24"});
  EXPECT_EQ(no_gpu.exit_code, static_cast<int>(ErrorKind::gpu_failed)) << no_gpu.err;
  EXPECT_TRUE(holds(no_gpu.err, "verify measures, and there is no GPU here"));
  EXPECT_EQ(program_.run({"verify", "decayWide", "--set", "n=7"}).exit_code, kMiss);
  const Ending the_only_one = program_.run({"lookup", "decayWide"});
  EXPECT_EQ(the_only_one.exit_code, 0) << the_only_one.err;
  EXPECT_TRUE(holds(the_only_one.out, "n=16777216") || holds(the_only_one.out, "n = 16777216")) << the_only_one.out;
}

}  // namespace
}  // namespace regtune
