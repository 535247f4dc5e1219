// Which kernels a --kernel means, as far as no compiler is needed, and what a description says of each.
#include "file_tuning.hpp"

#include <gtest/gtest.h>

#include "description.hpp"
#include "description_text.hpp"
#include "source.hpp"

namespace regtune {
namespace {

TEST(FileTuning, SeveralAreMeantByAPatternOrAList) {
  for (const char* several : {"all", "decay*", "k?", "a,b", "a, f<int, 4>", "f<int>,g<int, float>"})
    EXPECT_TRUE(means_several_kernels(several)) << several;
  for (const char* one : {"scale", "ns::scale", "sgemm<128, float>", "f<int*>", "f(int, float)", "f<g<1, 2>, 3>"})
    EXPECT_FALSE(means_several_kernels(one)) << one;
}

TEST(FileTuning, AListNeedsNoCompiler) {
  TuneRequest request;
  request.source = "no such file.cu";
  request.flags.kernel = "a, f<int, 4>,a,ns::g";
  Progress progress(true);
  EXPECT_EQ(kernels_meant(request, progress), (std::vector<std::string>{"a", "f<int, 4>", "ns::g"})) << "each once";
  for (const char* wrong : {"a,", ",a", "a,,b"}) {
    request.flags.kernel = wrong;
    EXPECT_THROW(kernels_meant(request, progress), Error) << wrong;
  }
}

LaunchDescription of_kernel(const std::string& toml, const std::string& kernel, bool one_of_several = true) {
  DescriptionFlags flags;
  flags.kernel = kernel;
  flags.one_of_several = one_of_several;
  return launch_description({"k.cu", "/*regtune\n" + toml + "*/\n"}, flags);
}

const std::string kOfTwo = R"(sizes = { n = 1024 }
block = 128
options = ["-DX=1"]
[args]
out = { buffer = "n" }
[kernels.scale]
grid = "n // 128"
weight = 3
[kernels."ns::sum<4, float>"]
block = 256
sizes = { m = 64 }
[kernels."ns::sum<4, float>".args]
a = 2.5
)";

TEST(FileTuning, AKernelsOwnTableTakesThePlaceOfWhatIsSaidOfAll) {
  const LaunchDescription scale = of_kernel(kOfTwo, "scale");
  EXPECT_EQ(scale.kernel, "scale");
  EXPECT_EQ(scale.weight, 3);
  EXPECT_EQ(scale.grid->text, "n // 128");
  EXPECT_EQ(scale.blocks, (std::vector<Dim3>{{128, 1, 1}}));
  EXPECT_EQ(scale.arguments.size(), 1u);
  EXPECT_EQ(scale.options, (std::vector<std::string>{"-DX=1"}));
  const LaunchDescription sum = of_kernel(kOfTwo, "ns::sum<4,float>");
  EXPECT_EQ(sum.weight, 1);
  EXPECT_EQ(sum.blocks, (std::vector<Dim3>{{256, 1, 1}}));
  ASSERT_EQ(sum.sizes.size(), 1u) << "key by key, each as a whole";
  EXPECT_EQ(sum.sizes.front().name, "m");
  EXPECT_EQ(sum.arguments.front().parameter, "a");
  EXPECT_FALSE(sum.grid);
  EXPECT_EQ(of_kernel(kOfTwo, "sum<8, float>").blocks.front().x, 256u) << "another instance of the same kernel";
  const LaunchDescription other = of_kernel(kOfTwo, "other");
  EXPECT_EQ(other.blocks.front().x, 128u) << "what is said of all";
  EXPECT_TRUE(other.kernels.empty());
}

TEST(FileTuning, WhatIsSaidOfAnotherKernelAloneIsNotSaidOfThisOne) {
  const std::string toml =
      "kernel = \"scale\"\nblock = 128\noptions = [\"-DX=1\"]\n[args]\nout = { buffer = \"64\" }\n";
  const LaunchDescription sum = of_kernel(toml, "sum");
  EXPECT_TRUE(sum.blocks.empty());
  EXPECT_TRUE(sum.arguments.empty());
  EXPECT_EQ(sum.options, (std::vector<std::string>{"-DX=1"})) << "how the file is compiled";
  EXPECT_EQ(of_kernel(toml, "scale").blocks.size(), 1u);
  EXPECT_EQ(of_kernel(toml, "sum", false).blocks.size(), 1u) << "--kernel with one name corrects the description";
}

TEST(FileTuning, TheDescriptionOfARunHoldsTheWeight) {
  const std::string text = description_text(of_kernel(kOfTwo, "scale"), {}, {});
  EXPECT_NE(text.find("weight = 3\n"), std::string::npos) << text;
  EXPECT_EQ(description_text(of_kernel(kOfTwo, "other"), {}, {}).find("weight"), std::string::npos);
}

TEST(FileTuning, AWrongTableIsRefusedWithItsLine) {
  for (const char* wrong : {"weight = 0", "weight = -1", "weight = \"3\"", "weight = nan", "kernels = 3",
                            "kernels.k = 3", "kernels.k.options = [\"-DX\"]", "kernels.k.kernels.l.block = 1",
                            "kernels.k.kernel = \"l\"", "kernels.k.nonsense = 1"}) {
    try {
      of_kernel(std::string(wrong) + "\n", "k");
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_description) << wrong;
      EXPECT_NE(std::string(error.what()).find("k.cu:2"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace regtune
