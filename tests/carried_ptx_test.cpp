// PTX out of an image: with a script in cuobjdump's place, and with cuobjdump itself where it is.
#include "carried_ptx.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "child_program.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFatBinary = "\x50\xed\x55\xba, and what nobody but the toolkit knows";

std::string text_for(const std::string& target, const std::string& kernel) {
  return ".version 9.0\n.target " + target + "\n.visible .entry " + kernel + "()\n{\nret;\n}\n";
}

class CarriedPtxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const before = std::getenv("REGTUNE_CUOBJDUMP");
    before_ = before ? before : "";
  }
  void TearDown() override {
    before_.empty() ? unsetenv("REGTUNE_CUOBJDUMP") : setenv("REGTUNE_CUOBJDUMP", before_.c_str(), 1);
  }
  // cuobjdump writes what it takes out into the folder in which it runs.
  void let_cuobjdump(const std::string& script) {
    const fs::path file = folder_.write("bin/cuobjdump", "#!/bin/sh\n" + script);
    fs::permissions(file, fs::perms::owner_all);
    setenv("REGTUNE_CUOBJDUMP", file.c_str(), 1);
  }
  std::string message_of(const std::string& image, ErrorKind kind) {
    try {
      carried_ptx(image, "_Z1kv", "sm_90");
    } catch (const Error& failure) {
      EXPECT_EQ(failure.kind(), kind);
      return failure.what();
    }
    ADD_FAILURE() << "it is no error";
    return "";
  }

  TemporaryFolder folder_;
  std::string before_;
};

TEST_F(CarriedPtxTest, PtxTextIsItself) {
  const std::string text = text_for("sm_80", "_Z1kv");
  const CarriedPtx ptx = carried_ptx(text, "_Z1kv", "sm_90");
  EXPECT_EQ(ptx.text, text);
  EXPECT_EQ(ptx.target, "sm_80");
  EXPECT_TRUE(ptx.is_all_there_is);
  EXPECT_EQ(carried_ptx(text + std::string(8, '\0'), "_Z1kv", "sm_90").text, text) << "what stands behind its end";
}

TEST_F(CarriedPtxTest, OfAFatBinaryIsTheBestThatCuobjdumpTakesOut) {
  folder_.write("a.ptx", text_for("sm_80", "_Z1kv"));
  folder_.write("b.ptx", text_for("sm_90", "_Z1kv"));
  folder_.write("c.ptx", text_for("sm_100", "_Z1kv"));
  let_cuobjdump("[ \"$1 $2\" = '-xptx all' ] && [ -s \"$3\" ] && cp '" + folder_.path().string() + "'/?.ptx .\n");
  const CarriedPtx ptx = carried_ptx(kFatBinary, "_Z1kv", "sm_90");
  EXPECT_EQ(ptx.text, text_for("sm_90", "_Z1kv"));
  EXPECT_EQ(ptx.target, "sm_90");
  EXPECT_FALSE(ptx.is_all_there_is);
}

TEST_F(CarriedPtxTest, AFatBinaryWithoutPtxSaysWhatToDo) {
  let_cuobjdump("exit 0\n");
  EXPECT_EQ(message_of(kFatBinary, ErrorKind::no_kernel),
            "the program carries machine code of k() and no PTX: give its source by --source FILE.cu");
}

TEST_F(CarriedPtxTest, PtxOfOtherGpusOrKernelsIsNamed) {
  folder_.write("a.ptx", text_for("sm_100", "_Z1kv"));
  folder_.write("b.ptx", text_for("sm_80", "_Z5otherv"));
  let_cuobjdump("cp '" + folder_.path().string() + "'/?.ptx .\n");
  EXPECT_EQ(message_of(kFatBinary, ErrorKind::no_kernel),
            "the program carries no PTX of k() that sm_90 can run, but for sm_100, sm_80 alone, or for other kernels: "
            "give its source by --source FILE.cu");
  EXPECT_NE(message_of(text_for("sm_120", "_Z1kv"), ErrorKind::no_kernel).find("but for sm_120 alone"),
            std::string::npos);
}

TEST_F(CarriedPtxTest, ACuobjdumpThatDoesNotOpenItIsQuoted) {
  let_cuobjdump("echo 'cuobjdump fatal   : Invalid fatbin header'; exit 1\n");
  const std::string message = message_of(kFatBinary, ErrorKind::no_toolkit);
  EXPECT_NE(message.find("it exited with code 1: cuobjdump fatal   : Invalid fatbin header; "), std::string::npos)
      << message;
}

TEST_F(CarriedPtxTest, WithoutCuobjdumpSaysWhereItWasLookedFor) {
  unsetenv("REGTUNE_CUOBJDUMP");
  if (!program_candidates(cuobjdump_program()).empty()) GTEST_SKIP() << "there is a cuobjdump here";
  EXPECT_NE(message_of(kFatBinary, ErrorKind::no_toolkit).find("name it by REGTUNE_CUOBJDUMP"), std::string::npos);
}

TEST_F(CarriedPtxTest, NvccsFatBinaryIsOpened) {
  const std::vector<fs::path> nvcc = program_candidates(nvcc_program());
  if (nvcc.empty()) GTEST_SKIP() << "there is no nvcc here, which makes the fat binary";
  if (program_candidates(cuobjdump_program()).empty()) GTEST_SKIP() << "there is no cuobjdump here";
  const fs::path source = folder_.write("k.cu", "__global__ void k() {}\n");
  const fs::path made = folder_.path() / "k.fatbin";
  const ProgramRun run =
      run_program({{nvcc.front().string(), "-fatbin", "-gencode", "arch=compute_80,code=compute_80", "-gencode",
                    "arch=compute_90,code=[compute_90,sm_90]", "-o", made.string(), source.string()}});
  ASSERT_TRUE(run.succeeded) << run.output;
  std::ifstream in(made, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(carried_ptx(image, "_Z1kv", "sm_90").target, "sm_90");
  EXPECT_EQ(carried_ptx(image, "_Z1kv", "sm_86").target, "sm_80");
}

}  // namespace
}  // namespace regtune
