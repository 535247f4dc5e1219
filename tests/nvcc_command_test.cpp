#include "nvcc_command.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

using Words = std::vector<std::string>;

TEST(NvccCommand, KnowsNvccByItsName) {
  EXPECT_TRUE(is_nvcc("nvcc"));
  EXPECT_TRUE(is_nvcc("/usr/local/cuda/bin/nvcc"));
  EXPECT_FALSE(is_nvcc("-nvcc"));
  EXPECT_FALSE(is_nvcc("my_nvcc"));
}

TEST(NvccCommand, KeepsWhatTheDevicesCodeDependsOnInAnySpelling) {
  const CompilerArguments translated =
      from_nvcc({"-Iinc", "-I", "more", "-isystem", "sys", "-DN=4", "-D", "M", "-std=gnu++17", "--use_fast_math",
                 "-include", "pre.h", "-maxrregcount", "64", "-fmad=false", "-Xptxas", "-dlcm=ca"});
  EXPECT_EQ(translated.kept,
            (Words{"--include-path=inc", "--include-path=more", "--include-path=sys", "--define-macro=N=4",
                   "--define-macro=M", "--std=c++17", "--use_fast_math", "--pre-include=pre.h", "--maxrregcount=64",
                   "--fmad=false", "--ptxas-options=-dlcm=ca"}));
  EXPECT_TRUE(translated.left_out.empty());
}

TEST(NvccCommand, LeavesOutWhatIsTheHostsAndSaysWhich) {
  const CompilerArguments translated = from_nvcc(
      {"-arch=sm_80", "-gencode", "arch=compute_70,code=sm_70", "-O3", "-Xcompiler", "-fPIC,-Wall", "-c", "k.cu", "-o",
       "k.o", "-lcublas", "-Llib", "-rdc=true", "-Xptxas", "-v", "other.o", "-Wno-deprecated-gpu-targets"});
  EXPECT_TRUE(translated.kept.empty());
  EXPECT_EQ(translated.left_out, (Words{"-arch=sm_80", "-gencode arch=compute_70,code=sm_70", "-O3",
                                        "-Xcompiler -fPIC,-Wall", "-c", "-o k.o", "-lcublas", "-Llib", "-rdc=true",
                                        "-Xptxas -v", "other.o", "-Wno-deprecated-gpu-targets"}));
}

TEST(NvccCommand, KeepsBesideItWhatNvccItselfNeeds) {
  const CompilerArguments translated =
      from_nvcc({"-Xcompiler", "-fopenmp", "-ccbin=g++-12", "--expt-relaxed-constexpr", "-O3", "--extended-lambda"});
  EXPECT_TRUE(translated.kept.empty());
  EXPECT_EQ(translated.of_nvcc,
            (Words{"-Xcompiler=-fopenmp", "-ccbin=g++-12", "--expt-relaxed-constexpr", "--extended-lambda"}));
}

TEST(NvccCommand, AnOptionNobodyKnowsIsTheCompilersToRefuse) {
  EXPECT_EQ(from_nvcc({"--brand-new"}).kept, Words{"--brand-new"});
  EXPECT_EQ(from_nvcc({"-I"}).kept, Words{"-I"});
}

}  // namespace
}  // namespace regtune
