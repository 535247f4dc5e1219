#include "compile_commands.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

using Words = std::vector<std::string>;

class CompileCommands : public ::testing::Test {
 protected:
  CompilerArguments read(const std::string& entries, const std::string& source = "src/k.cu") {
    folder_.write("src/k.cu", "");
    folder_.write("src/other.cu", "");
    return from_compile_commands(folder_.write("build/compile_commands.json", entries), at(source));
  }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  ErrorKind refusal(const std::string& entries, const std::string& source = "src/k.cu") {
    try {
      read(entries, source);
    } catch (const Error& refused) {
      message_ = refused.what();
      return refused.kind();
    }
    ADD_FAILURE() << "nothing was refused";
    return ErrorKind::internal;
  }

  TemporaryFolder folder_;
  std::string message_;
};

TEST_F(CompileCommands, TakesACommandOfNvccApartAsAShellDoes) {
  const CompilerArguments found = read(R"([
    {"directory": ".", "file": "../src/other.cu", "command": "nvcc -DOTHER ../src/other.cu"},
    {"directory": ".", "file": "../src/k.cu", "command":
     "/usr/local/cuda/bin/nvcc -ccbin g++ -I../inc -DNAME=\\\"a\\ b\\\" '-DF(x)=x' -std=c++17 -O3 -arch=sm_80 -x cu -c ../src/k.cu -o k.o"}])");
  EXPECT_EQ(found.kept, (Words{"--include-path=" + at("inc"), "--define-macro=NAME=\"a b\"", "--define-macro=F(x)=x",
                               "--std=c++17"}));
  EXPECT_EQ(found.left_out, (Words{"-ccbin g++", "-O3", "-arch=sm_80", "-x cu", "-c", "-o k.o"}));
  EXPECT_EQ(found.of_nvcc, Words{"-ccbin=g++"});
}

TEST_F(CompileCommands, TakesArgumentsAsTheyAre) {
  const CompilerArguments found = read(R"([{"directory": ".", "file": "../src/k.cu", "arguments":
    ["ccache", "nvcc", "-D", "A=\"x y\"", "-isystem", "/sys", "--expt-relaxed-constexpr", "../src/k.cu"]}])");
  EXPECT_EQ(found.kept, (Words{"--define-macro=A=\"x y\"", "--include-path=/sys"}));
  EXPECT_EQ(found.of_nvcc, Words{"--expt-relaxed-constexpr"});
}

TEST_F(CompileCommands, ReadsTheFilesThatCMakeKeepsLongListsIn) {
  folder_.write("build/includes.rsp", "-I../inc \"-I../with blank\"\n");
  const CompilerArguments found = read(R"([{"directory": ".", "file": "../src/k.cu",
    "command": "nvcc --options-file includes.rsp -DX -c ../src/k.cu"}])");
  EXPECT_EQ(found.kept,
            (Words{"--include-path=" + at("inc"), "--include-path=" + at("with blank"), "--define-macro=X"}));
}

TEST_F(CompileCommands, OfClangTakesWhatBothMean) {
  folder_.write("build/pre.h", "");
  const CompilerArguments found = read(R"([{"directory": ".", "file": "../src/k.cu", "command":
    "clang++ -x cuda --cuda-gpu-arch=sm_80 -iquote ../inc -DA -D B=2 -include pre.h -include cuda_pre.h -std=gnu++20 -ffast-math -c ../src/k.cu"}])");
  EXPECT_EQ(found.kept, (Words{"--include-path=" + at("inc"), "--define-macro=A", "--define-macro=B=2",
                               "--pre-include=" + at("build/pre.h"), "--pre-include=cuda_pre.h", "--std=c++20"}));
  EXPECT_EQ(found.left_out, (Words{"-x", "--cuda-gpu-arch=sm_80", "-ffast-math", "-c"}));
}

TEST_F(CompileCommands, SaysThatAFileIsNotInIt) {
  EXPECT_EQ(refusal(R"([{"directory": ".", "file": "../src/other.cu", "command": "nvcc ../src/other.cu"}])"),
            ErrorKind::file_not_found);
  EXPECT_NE(message_.find("does not say how"), std::string::npos) << message_;
}

TEST_F(CompileCommands, RefusesWhatIsNoDatabase) {
  EXPECT_EQ(refusal("{}"), ErrorKind::usage);
  EXPECT_EQ(refusal("[{}]"), ErrorKind::usage);
  EXPECT_EQ(refusal("not JSON"), ErrorKind::usage);
  EXPECT_EQ(refusal(R"([{"file": 3}])"), ErrorKind::usage);
  EXPECT_EQ(refusal(R"([{"directory": ".", "file": "../src/k.cu"}])"), ErrorKind::usage);
  EXPECT_THROW(from_compile_commands("/nowhere/compile_commands.json", "k.cu"), Error);
}

TEST_F(CompileCommands, AFileOfOptionsThatNamesItselfEnds) {
  folder_.write("build/loop.rsp", "-DX @loop.rsp");
  const CompilerArguments found =
      read(R"([{"directory": ".", "file": "../src/k.cu", "command": "nvcc @loop.rsp ../src/k.cu"}])");
  EXPECT_FALSE(found.kept.empty());
}

TEST(ShellWords, KnowQuotesAndBackslashes) {
  EXPECT_EQ(shell_words(R"( a  'b c' "d \"e\"" f\ g "" '')"), (Words{"a", "b c", "d \"e\"", "f g", "", ""}));
  EXPECT_EQ(shell_words("'open"), Words{"open"});
  EXPECT_EQ(shell_words("a\\"), Words{"a\\"});
  EXPECT_TRUE(shell_words(" \n\t ").empty());
}

}  // namespace
}  // namespace regtune
