// The translation alone. identity_test.cpp checks with the compilers that it gives the same code.
#include "link_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Options = std::vector<std::string>;

// What a translation adds to the options that every link has.
Options added(const Options& given) {
  std::string why_not;
  const auto link = link_options({"sm_90", 0, "", given, true}, why_not);
  EXPECT_TRUE(link.has_value()) << why_not;
  return link ? Options(link->begin() + 4, link->end()) : Options{"refused"};
}

void expect_refused(const Options& given, const std::string& named) {
  std::string why_not;
  EXPECT_FALSE(link_options({"sm_90", 0, "", given, true}, why_not).has_value()) << named;
  EXPECT_THAT(why_not, HasSubstr(named));
  EXPECT_THAT(why_not, HasSubstr("NVRTC"));
}

TEST(LinkOptions, HaveTheArchitectureTheCapAndTheKernel) {
  std::string why_not;
  EXPECT_THAT(*link_options({"sm_90a", 57, "_Z1kPf", {"--gpu-architecture=sm_90a"}, true}, why_not),
              ElementsAre("-arch=sm_90a", "-lto", "-Xptxas=-v", "-no-cache", "-maxrregcount=57", "-kernels-used=_Z1kPf",
                          "-variables-used=*"));
  EXPECT_THAT(*link_options({"sm_80", 0, "", {}, false}, why_not), ElementsAre("-arch=sm_80", "-lto", "-Xptxas=-v"));
  EXPECT_EQ(why_not, "");
}

TEST(LinkOptions, TakeTheAuthorsCapWhereNoneIsAsked) {
  std::string why_not;
  const Options given = {"-maxrregcount", "48"};
  EXPECT_THAT(link_options({"sm_90", 0, "", given, true}, why_not)->back(), "-maxrregcount=48");
  EXPECT_THAT(link_options({"sm_90", 64, "", given, true}, why_not)->back(), "-maxrregcount=64");
}

TEST(LinkOptions, TranslateFastMath) {
  for (const char* spelling : {"--use_fast_math", "-use_fast_math"})
    EXPECT_THAT(added({spelling}), ElementsAre("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=1"));
}

TEST(LinkOptions, OneSettingWinsOverFastMathWhereverItStands) {
  EXPECT_THAT(added({"--use_fast_math", "--prec-div=true"}),
              ElementsAre("-ftz=1", "-prec-div=1", "-prec-sqrt=0", "-fma=1"));
  EXPECT_THAT(added({"--fmad=false", "-use_fast_math"}),
              ElementsAre("-ftz=1", "-prec-div=0", "-prec-sqrt=0", "-fma=0"));
}

TEST(LinkOptions, TheLastOfSeveralWins) {
  EXPECT_THAT(added({"--ftz=true", "-ftz=false"}), ElementsAre("-ftz=0"));
  EXPECT_THAT(added({"--ftz", "false", "-ftz", "true"}), ElementsAre("-ftz=1"));
}

TEST(LinkOptions, TranslateEverySpelling) {
  EXPECT_THAT(added({"--fmad=false"}), ElementsAre("-fma=0"));
  EXPECT_THAT(added({"-fmad", "true"}), ElementsAre("-fma=1"));
  EXPECT_THAT(added({"-prec-sqrt=false"}), ElementsAre("-prec-sqrt=0"));
  EXPECT_THAT(added({"--prec-div", "false"}), ElementsAre("-prec-div=0"));
  EXPECT_THAT(added({"-lineinfo"}), ElementsAre("-lineinfo"));
  EXPECT_THAT(added({"--generate-line-info"}), ElementsAre("-lineinfo"));
  EXPECT_THAT(added({"-jtd=10"}), ElementsAre("-jump-table-density=10"));
  EXPECT_THAT(added({"--jump-table-density", "10"}), ElementsAre("-jump-table-density=10"));
}

TEST(LinkOptions, HandKnownOptionsToPtxas) {
  EXPECT_THAT(added({"--ptxas-options=-O2", "-Xptxas", "-dlcm=cg", "-Xptxas=--register-usage-level=10"}),
              ElementsAre("-Xptxas=-O2", "-Xptxas=-dlcm=cg", "-Xptxas=--register-usage-level=10"));
  EXPECT_THAT(added({"--ptxas-options=-v", "-Xptxas", "--verbose"}), ElementsAre());
  expect_refused({"-Xptxas=-maxrregcount=32"}, "-maxrregcount=32");
  expect_refused({"-Xptxas=-O1,-v"}, "-O1,-v");
  expect_refused({"-Xptxas", "-O 2"}, "-O 2");
  expect_refused({"--ptxas-options=-no-such"}, "-no-such");
  expect_refused({"-Xptxas="}, "-Xptxas=");
}

TEST(LinkOptions, LeaveTheFrontEndsOptionsOut) {
  EXPECT_THAT(added({"-DN=4",
                     "-D",
                     "M",
                     "-D=K=1",
                     "--define-macro=L=2",
                     "--define-macro",
                     "J",
                     "-UX",
                     "-Iinclude",
                     "-I",
                     "include",
                     "--include-path=/usr",
                     "-include",
                     "a.h",
                     "--std=c++20",
                     "-std",
                     "c++17",
                     "-default-device",
                     "--device-as-default-execution-space",

                     "-device-int128",
                     "-w",
                     "--diag-suppress=177",
                     "--frandom-seed=regtune",
                     "--no-cache",
                     "--pch",
                     "--dopt=on",
                     "-dopt",
                     "on",
                     "--minimal"}),
              ElementsAre());
}

TEST(LinkOptions, ReadNoOptionFromTheValueOfAnother) {
  EXPECT_THAT(added({"-D", "--use_fast_math", "-I", "-G"}), ElementsAre());
  EXPECT_THAT(added({"--pre-include", "--ftz=true"}), ElementsAre());
}

TEST(LinkOptions, RefuseWhatIsNotKnown) {
  for (const char* option : {"-G",
                             "--device-debug",
                             "--Ofast-compile=min",
                             "-Ofc=mid",
                             "--extra-device-vectorization",
                             "--device-stack-protector=true",
                             "--gen-opt-lto",
                             "-ewp",
                             "-dc",
                             "-rdc=true",
                             "--optix-ir",
                             "--no-such-option",
                             "--use-fast-math",
                             "--use_fast_math=true",
                             "--D=1",
                             "source.cu",
                             "",
                             "-",
                             "--",
                             "--Ifoo"})
    expect_refused({"-w", option}, option);
  expect_refused({"--ftz"}, "--ftz");  // its value is missing
}

}  // namespace
}  // namespace regtune
