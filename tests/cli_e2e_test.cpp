// The habits of the command line, on the built program: what goes to which stream, with which exit code.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exit_codes.hpp"
#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr const char* kFill = "extern \"C\" __global__ void fill(float* x) { x[threadIdx.x] = 1; }\n";
const std::vector<std::string> kLaunch{"--block", "64", "--grid", "1", "--arg", "x={buffer=\"64\"}"};

class CommandLine : public testing::Test {
 protected:
  static std::vector<std::string> with_launch(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), kLaunch.begin(), kLaunch.end());
    return arguments;
  }
  Program program_{true};
};

TEST_F(CommandLine, HelpAndVersionGoToStdout) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"--help"},
                                                    {"tune", "--help"},
                                                    {"help", "man"},
                                                    {"help", "options"},
                                                    {"completion", "zsh"}}) {
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, 0);
    EXPECT_EQ(ending.err, "");
    EXPECT_NE(ending.out, "");
  }
  const Ending version = program_.run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  for (const char* part : {"regtune ", "\nNVRTC ", "\nnvJitLink ", "\ndriver ", "\nSQLite 3."})
    EXPECT_TRUE(holds(version.out, std::string(part).substr(0, 8)));
}

TEST_F(CommandLine, SeveralFilesAreEachTunedAndTheWorstExitCodeCounts) {
  program_.write("a.cu", kFill);
  program_.write("bad.cu", "__global__ void k() { unheard_of(); }\n");
  program_.write("c.cu", kFill);
  const Ending ending = program_.run(with_launch({"a.cu", "bad.cu", "c.cu", "--json"}));
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::source_not_compiled)) << ending.err;
  EXPECT_TRUE(holds(ending.err, "regtune: bad.cu: "));
  const nlohmann::json documents = nlohmann::json::parse(ending.out);
  ASSERT_EQ(documents.size(), 3u);
  EXPECT_EQ(documents[0].at("kernel"), "fill");
  EXPECT_EQ(documents[1].at("source"), "bad.cu");
  EXPECT_EQ(documents[1].at("error").at("exit_code"), 4);
  EXPECT_EQ(documents[2].at("kernel"), "fill");
  const Ending text = program_.run(with_launch({"a.cu", "c.cu", "-q"}));
  EXPECT_EQ(text.exit_code, kExitNoGpu);
  EXPECT_NE(text.out.find("fill(float*)"), text.out.rfind("fill(float*)"));
}

TEST_F(CommandLine, ReadsASourceFromStandardInput) {
  program_.write("k.cu", kFill);
  const Ending ending = program_.run_on("k.cu", with_launch({"-", "--json", "-q"}));
  EXPECT_EQ(ending.exit_code, kExitNoGpu) << ending.err;
  EXPECT_EQ(nlohmann::json::parse(ending.out).at("kernel"), "fill");
  program_.write("bad.cu", "\n__global__ void k() { unheard_of(); }\n");
  EXPECT_TRUE(holds(program_.run_on("bad.cu", {"-"}).err, "stdin.cu(2): error"));
}

TEST_F(CommandLine, TheConfigFileIsReadAndTheCommandLineWins) {
  program_.write("k.cu", kFill);
  std::filesystem::create_directory(program_.folder() / "regtune");
  program_.write("regtune/config.toml", "quiet = true\n[tune]\narch = \"sm_80\"\n");
  const Ending read = program_.run(with_launch({"k.cu"}));
  EXPECT_EQ(read.exit_code, kExitNoGpu) << read.err;
  EXPECT_EQ(read.err, "");
  EXPECT_TRUE(holds(read.out, "no GPU, sm_80"));
  EXPECT_TRUE(holds(program_.run(with_launch({"k.cu", "--arch", "sm_89"})).out, "no GPU, sm_89"));
  const Ending unread = program_.run(with_launch({"k.cu", "--no-config"}));
  EXPECT_TRUE(holds(unread.out, "no GPU, sm_90"));
  EXPECT_NE(unread.err, "");
  program_.write("regtune/config.toml", "\nqiet = true\n");
  const Ending refused = program_.run(with_launch({"k.cu"}));
  EXPECT_EQ(refused.exit_code, static_cast<int>(ErrorKind::usage));
  EXPECT_TRUE(holds(refused.err, "config.toml:2: qiet is no option of any command of regtune; did you mean quiet?"));
  EXPECT_EQ(program_.run({"--help"}).exit_code, 0) << "help must not fail for it";
}

TEST_F(CommandLine, VerboseSaysHowLongEachStageTookAndWhoCompiled) {
  program_.write("k.cu", kFill);
  const Ending ending = program_.run(with_launch({"k.cu", "-v"}));
  EXPECT_TRUE(holds(ending.err, "compiling for the first time: "));
  EXPECT_TRUE(holds(ending.err, "regtune: compiled by NVRTC"));
  EXPECT_EQ(ending.out.find('\x1b'), std::string::npos);
}

TEST_F(CommandLine, ColoursAndWidthAreThoseAskedFor) {
  const std::string record = source_folder() / "tests/data/h200/decay_bounded.json";
  const Ending plain = program_.run({"replay", record});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(plain.out.find('\x1b'), std::string::npos);
  EXPECT_TRUE(holds(plain.out, "limited by"));
  EXPECT_TRUE(holds(program_.run({"replay", record, "--color", "always"}).out, "\x1b[1;32m"));
  setenv("COLUMNS", "80", 1);
  const Ending narrow = program_.run({"replay", record});
  EXPECT_EQ(narrow.out.find("limited by"), std::string::npos);
  EXPECT_TRUE(holds(narrow.out, "time (ms) over registers"));
  EXPECT_EQ(program_.run({"replay", record, "--no-plot"}).out.find("time (ms) over"), std::string::npos);
  unsetenv("COLUMNS");
}

TEST_F(CommandLine, TheDoctorSaysWhatIsMissing) {
  const Ending text = program_.run({"doctor"});
  EXPECT_EQ(text.exit_code, kExitNoGpu) << text.out;
  EXPECT_TRUE(holds(text.out, "NVRTC"));
  EXPECT_TRUE(holds(text.out, "nothing can be timed"));
  const nlohmann::json json = nlohmann::json::parse(program_.run({"doctor", "--json"}).out);
  EXPECT_EQ(json.at("exit_code"), kExitNoGpu);
  setenv("REGTUNE_NVRTC", "/nowhere/libnvrtc.so.13", 1);
  EXPECT_EQ(program_.run({"doctor"}).exit_code, static_cast<int>(ErrorKind::no_toolkit));
  unsetenv("REGTUNE_NVRTC");
  EXPECT_FALSE(std::filesystem::exists(program_.cache())) << "looking makes no cache";
}

TEST_F(CommandLine, TheDoctorFindsAGpu) {
  Program with_gpu(false);
  setenv("REGTUNE_CUDA", REGTUNE_FAKE_GPU, 1);
  const Ending ending = with_gpu.run({"doctor"});
  unsetenv("REGTUNE_CUDA");
  EXPECT_EQ(ending.exit_code, 0) << ending.out;
  EXPECT_TRUE(holds(ending.out, "NVIDIA Fake 100, sm_90"));
  EXPECT_TRUE(holds(ending.out, "tuning can work here"));
}

// The others are asserted where what leads to them is tested.
TEST_F(CommandLine, ExitCodesAreThoseThatAreDocumented) {
  const std::string codes = program_.run({"help", "exit-codes"}).out;
  for (const ExitCode& one : exit_codes()) EXPECT_TRUE(holds(codes, std::to_string(one.code) + "  "));
  EXPECT_EQ(program_.run({"lookup", "nothing"}).exit_code, kExitMiss);
  EXPECT_EQ(program_.run({"--nonsense"}).exit_code, static_cast<int>(ErrorKind::usage));
  EXPECT_EQ(program_.run({"nowhere.cu"}).exit_code, static_cast<int>(ErrorKind::file_not_found));
}

}  // namespace
}  // namespace regtune
