// nvcc as a program, with a script in its place: what it is asked, what becomes of its answers, and of its files.
#include "nvcc.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "temporary_folder.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

class NvccTest : public ::testing::Test {
 protected:
  std::string program(const std::string& script) {
    const fs::path file = folder_.write("bin/nvcc", "#!/bin/sh\n" + script);
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }

  // Writes what it was asked into its output.
  NvccRequest request(const std::string& script) {
    NvccRequest request;
    request.program = program(script);
    request.file = folder_.write("k.cu", "the author's\n").string();
    request.options = {"-arch=sm_90", "-DX=a b"};
    fs::create_directories(folder_.path() / "scratch");
    request.scratch_folder = (folder_.path() / "scratch").string();
    return request;
  }

  bool nothing_is_left() const { return fs::is_empty(folder_.path() / "scratch"); }

  TemporaryFolder folder_;
};

// The file that stands behind -o gets all words, a line each.
constexpr const char* kEcho = R"sh(all=$(printf '%s\n' "$@")
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; last=$1; shift; done
{ echo "$all"; echo "TMPDIR=$TMPDIR"; echo "text: $(cat "$last")";
} >"$out"
echo "ptxas info" >&2
)sh";

TEST_F(NvccTest, IsAskedForMachineCodeOfTheFileItself) {
  const NvccRequest wanted = request(kEcho);
  const CompilerReply reply = compile_by_nvcc(wanted);
  ASSERT_TRUE(reply.compiled) << reply.log;
  EXPECT_TRUE(reply.cubin.starts_with("-arch=sm_90\n-DX=a b\n-cubin\n-x\ncu\n-o\n")) << reply.cubin;
  EXPECT_NE(reply.cubin.find("\n" + wanted.file + "\n"), std::string::npos) << reply.cubin;
  EXPECT_NE(reply.cubin.find("text: the author's"), std::string::npos) << reply.cubin;
  EXPECT_NE(reply.cubin.find("TMPDIR=" + wanted.scratch_folder + "/"), std::string::npos) << reply.cubin;
  EXPECT_EQ(reply.log, "ptxas info\n");
  EXPECT_TRUE(reply.lto_ir.empty());
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(NvccTest, ATextIsCompiledUnderTheFilesNameAndTheFileStaysAsItIs) {
  NvccRequest wanted = request(kEcho);
  wanted.text = "another text\n";
  wanted.lto_ir = true;
  const CompilerReply reply = compile_by_nvcc(wanted);
  ASSERT_TRUE(reply.compiled) << reply.log;
  EXPECT_NE(reply.lto_ir.find("-dlto\n-ltoir\n"), std::string::npos) << reply.lto_ir;
  EXPECT_NE(reply.lto_ir.find("/k.cu\n"), std::string::npos) << reply.lto_ir;
  EXPECT_EQ(reply.lto_ir.find(wanted.file), std::string::npos) << reply.lto_ir;
  EXPECT_NE(reply.lto_ir.find("text: another text"), std::string::npos) << reply.lto_ir;
  std::ifstream file(wanted.file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "the author's\n");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(NvccTest, WhatDoesNotCompileIsAReplyWithTheMessages) {
  const CompilerReply reply = compile_by_nvcc(request("echo 'k.cu(3): error: no' >&2; exit 2\n"));
  EXPECT_FALSE(reply.compiled);
  EXPECT_EQ(reply.log, "k.cu(3): error: no\nnvcc exited with code 2");
  const CompilerReply silent = compile_by_nvcc(request("exit 0\n"));
  EXPECT_FALSE(silent.compiled) << "there is no code";
}

TEST_F(NvccTest, TakesNoLongerThanItMayAndLeavesNothingBehind) {
  NvccRequest wanted = request("echo part >\"$TMPDIR/part\"; sleep 60\n");
  wanted.limit_s = 0.5;
  const CompilerReply reply = compile_by_nvcc(wanted);
  EXPECT_FALSE(reply.compiled);
  EXPECT_EQ(reply.log, "nvcc took longer than 0.5 s and was stopped");
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(NvccTest, TellsItsVersionAndTheHostsCompiler) {
  std::string why_not;
  const std::optional<Nvcc> nvcc = Nvcc::open(program(R"(case "$1" in
--version) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
--dryrun) echo '#$ cicc --c++17 --gnu_version=120200 --orig' >&2 ;;
--list-gpu-arch) printf 'compute_90\ncompute_75\ncompute_120\n' ;;
esac
)"),
                                              why_not);
  ASSERT_TRUE(nvcc) << why_not;
  EXPECT_EQ(nvcc->version(), "13.0.88 with GCC 12.2.0");
  EXPECT_EQ(nvcc->major(), 13);
  EXPECT_EQ(nvcc->minor(), 0);
  EXPECT_EQ(nvcc->architectures(), (std::vector<int>{75, 90, 120}));
}

TEST_F(NvccTest, AFileThatIsNoNvccIsToldAsSuch) {
  std::string why_not;
  EXPECT_FALSE(Nvcc::open("/nowhere/nvcc", why_not));
  EXPECT_NE(why_not.find("/nowhere/nvcc"), std::string::npos) << why_not;
  EXPECT_FALSE(Nvcc::open(program("echo hello\n"), why_not));
  EXPECT_NE(why_not.find("tells no version"), std::string::npos) << why_not;
}

TEST_F(NvccTest, TheVariableThatNamesAFileIsTheLastWord) {
  const char* before = std::getenv("REGTUNE_NVCC");
  const std::string kept = before ? before : "";
  setenv("REGTUNE_NVCC", "/my/nvcc", 1);
  EXPECT_EQ(program_candidates(nvcc_program()), std::vector<fs::path>{"/my/nvcc"});
  if (before)
    setenv("REGTUNE_NVCC", kept.c_str(), 1);
  else
    unsetenv("REGTUNE_NVCC");
}

TEST_F(NvccTest, PathComesFirst) {
  if (std::getenv("REGTUNE_NVCC")) GTEST_SKIP() << "REGTUNE_NVCC is set";
  const std::string file = program("exit 0\n");
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/nowhere:" + (folder_.path() / "bin").string() + ":" + before).c_str(), 1);
  const std::vector<fs::path> found = program_candidates(nvcc_program());
  setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), file);
}

TEST(NvccText, ReadsVersionsFromWhatNvccSays) {
  EXPECT_EQ(nvcc_release("Cuda compilation tools, release 12.4, V12.4.131\n"), "12.4.131");
  EXPECT_EQ(nvcc_release("something else"), "");
  EXPECT_EQ(host_compiler("cicc --gnu_version=90300 x"), "GCC 9.3.0");
  EXPECT_EQ(host_compiler("cicc --clang --clang_version=160006 x"), "Clang 16.0.6");
  EXPECT_EQ(host_compiler("cicc"), "");
}

TEST(NvccText, NamesOfInstancesAreReadFromTheVariablesThatHoldThem) {
  const std::string text = instances_text({"sg<128, float>", "q::sh<64>"});
  EXPECT_NE(text.find("regtune_instance<1, decltype(&q::sh<64>), &q::sh<64>>;"), std::string::npos) << text;
  EXPECT_EQ(instances_text({}), "");
  const std::string first = "_Z16regtune_instanceILi0EPFvPfiEXadL_Z2sgILi128EfEvPT0_iEEE";
  const std::string second = "_Z16regtune_instanceILi1EPFvPdiEXadL_ZN1q2shILi128EdEEvPT0_iEEE";
  const std::string cubin = std::string("\0x\0", 3) + second + '\0' + first + '\0';
  EXPECT_EQ(instance_names(cubin, 2), (std::vector<std::string>{"_Z2sgILi128EfEvPT0_i", "_ZN1q2shILi128EdEEvPT0_i"}));
  EXPECT_TRUE(instance_names(cubin, 3).empty()) << "one is missing";
  EXPECT_TRUE(instance_names(cubin, 0).empty());
}

TEST(NvccText, NamesInAnAnonymousNamespaceAreTheSameForEveryPath) {
  std::string one = "_ZN32_GLOBAL__N__6c0541e5_4_k_cu_main2anEPim";
  std::string other = "_ZN32_GLOBAL__N__1e7860c0_4_k_cu_main2anEPim";
  fix_anonymous_names(one);
  fix_anonymous_names(other);
  EXPECT_EQ(one, other);
  EXPECT_EQ(one, "_ZN32_GLOBAL__N__00000000_4_k_cu_main2anEPim");
  for (std::string left : {"_GLOBAL__N__", "_GLOBAL__N__1e7860", "_GLOBAL__N__nothexno_", "_GLOBAL__N_1"}) {
    const std::string before = left;
    fix_anonymous_names(left);
    EXPECT_EQ(left, before);
  }
}

}  // namespace
}  // namespace regtune
