// The real nvJitLink, and what NVRTC must give it.
#include "nvjitlink.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "code_equality.hpp"
#include "link_options.hpp"
#include "nvrtc_compile.hpp"

// nvJitLink 13.0 leaves 24 bytes behind in every link of ReportsEveryTime. The child processes that call it do not live
// long.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libnvJitLink\n";
}

namespace regtune {
namespace {

using testing::HasSubstr;

const std::string scale = "extern \"C\" __global__ void scale(float* p, float a) { p[threadIdx.x] *= a; }";

class NvJitLinkTest : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    static std::string why_not;
    if (!link() && why_not.empty()) link() = NvJitLink::open(why_not);
    if (!link()) GTEST_SKIP() << why_not;
    if (const auto reason = link()->facts().cannot_serve(*nvrtc())) GTEST_SKIP() << *reason;
  }

  static std::optional<NvJitLink>& link() {
    static std::optional<NvJitLink> opened;
    return opened;
  }

  static CompilerReply lto_ir(const std::string& source, const std::string& architecture) {
    return nvrtc()->compile(
        {source, "test.cu", {"--gpu-architecture=" + architecture, "-dlto"}, {}, NvrtcOutput::lto_ir});
  }
};

TEST_F(NvJitLinkTest, LinksLtoIrUnderACap) {
  const CompilerReply ir = lto_ir(scale, "sm_90");
  ASSERT_TRUE(ir.compiled) << ir.log;
  EXPECT_TRUE(ir.cubin.empty());
  const LinkReply reply = link()->link({ir.lto_ir, {"-arch=sm_90", "-lto", "-maxrregcount=32", "-Xptxas=-v"}});
  ASSERT_TRUE(reply.linked) << reply.log;
  const Cubin cubin = read_cubin(reply.cubin);
  ASSERT_EQ(cubin.kernels.size(), 1u);
  EXPECT_EQ(cubin.kernels[0].name, "scale");
  EXPECT_EQ(cubin.kernels[0].register_ceiling, 32);
}

// A link that is answered from a cache has no report.
TEST_F(NvJitLinkTest, ReportsEveryTime) {
  const CompilerReply ir = lto_ir(scale, "sm_90");
  std::string why_not;
  const auto options = link_options({"sm_90", 40, "scale", {}, link()->accepts_option("-no-cache")}, why_not);
  for (int i = 0; i < 3; ++i) {
    const PtxasReport report = read_ptxas_report(link()->link({ir.lto_ir, *options}).log);
    EXPECT_NE(report.find("scale"), nullptr);
  }
}

TEST_F(NvJitLinkTest, KeepsTheLetterOfAnArchitecture) {
  const std::string source =
      "extern \"C\" __global__ void k(int* p) {\n  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 64;\");\n  *p = "
      "1;\n}";
  const CompilerReply ir = lto_ir(source, "sm_90a");
  ASSERT_TRUE(ir.compiled) << ir.log;
  EXPECT_TRUE(link()->link({ir.lto_ir, {"-arch=sm_90a", "-lto"}}).linked);
  const LinkReply without = link()->link({ir.lto_ir, {"-arch=sm_90", "-lto"}});
  EXPECT_FALSE(without.linked);
  EXPECT_NE(without.log, "");
}

TEST_F(NvJitLinkTest, RepliesToWhatItRefuses) {
  const CompilerReply ir = lto_ir(scale, "sm_90");
  EXPECT_THAT(link()->link({ir.lto_ir, {"-arch=sm_90", "-no-such-option"}}).log, HasSubstr("-no-such-option"));
  EXPECT_THAT(link()->link({ir.lto_ir, {"-lto"}}).log, HasSubstr("architecture"));
  EXPECT_THAT(link()->link({ir.lto_ir, {"-arch=sm_90", "-lto", "-Xptxas=-no-such"}}).log, HasSubstr("no-such"));
  for (const std::string& bytes :
       {std::string(), std::string("not LTO-IR"), ir.lto_ir.substr(0, ir.lto_ir.size() / 2)}) {
    const LinkReply reply = link()->link({bytes, {"-arch=sm_90", "-lto"}});
    EXPECT_FALSE(reply.linked);
    EXPECT_TRUE(reply.cubin.empty());
    EXPECT_NE(reply.log, "");
  }
}

TEST_F(NvJitLinkTest, TellsWhichOptionsItAccepts) {
  EXPECT_TRUE(link()->accepts_option("-maxrregcount=32"));
  EXPECT_FALSE(link()->accepts_option("-no-such-option"));
}

TEST_F(NvJitLinkTest, NvrtcSaysWhenItIsNotAskedForLtoIr) {
  const CompilerReply reply =
      nvrtc()->compile({scale, "test.cu", {"--gpu-architecture=sm_90"}, {}, NvrtcOutput::lto_ir});
  EXPECT_FALSE(reply.compiled);
  EXPECT_THAT(reply.log, HasSubstr("-dlto"));
}

// Sections of sm_100 and later view the bytes of others: those of cooperative_groups.h are most of the file.
TEST_F(NvJitLinkTest, FilesWithMirroredSectionsCanBeRead) {
  if (!supports(100)) GTEST_SKIP() << "this NVRTC does not know sm_100";
  const std::string source =
      "#include <cooperative_groups.h>\nextern \"C\" __global__ void k(int* p) { *p = "
      "cooperative_groups::this_grid().thread_rank(); }";
  EXPECT_EQ(compile(source, 100).cubin.kernels.size(), 1u);
}

TEST(NvJitLinkVersions, MustBeOfTheSameMajorVersionAndAsNew) {
  EXPECT_EQ(NvJitLink::mismatch(13, 0, 13, 0), std::nullopt);
  EXPECT_EQ(NvJitLink::mismatch(12, 9, 12, 4), std::nullopt);
  EXPECT_THAT(*NvJitLink::mismatch(12, 4, 12, 9), HasSubstr("nvJitLink 12.4 is older than NVRTC 12.9"));
  EXPECT_THAT(*NvJitLink::mismatch(12, 9, 13, 0), HasSubstr("older"));
  EXPECT_THAT(*NvJitLink::mismatch(13, 0, 12, 9), HasSubstr("another CUDA"));
  EXPECT_THAT(*NvJitLink::mismatch(12, 4, 13, 0, "nvcc"), HasSubstr("older than nvcc 13.0"));
}

TEST(NvJitLinkVersions, SayWhyTheLibraryIsNotThere) {
  const char* before = std::getenv("REGTUNE_NVJITLINK");
  const std::string kept = before != nullptr ? before : "";
  for (const char* file : {"/nowhere/libnvJitLink.so", "/lib/x86_64-linux-gnu/libm.so.6"}) {
    setenv("REGTUNE_NVJITLINK", file, 1);
    std::string why_not;
    EXPECT_FALSE(NvJitLink::open(why_not).has_value());
    EXPECT_THAT(why_not, HasSubstr(file));
  }
  if (before != nullptr) {
    setenv("REGTUNE_NVJITLINK", kept.c_str(), 1);
  } else {
    unsetenv("REGTUNE_NVJITLINK");
  }
}

}  // namespace
}  // namespace regtune
