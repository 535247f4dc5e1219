#include "description_text.hpp"

#include <gtest/gtest.h>

#include "description.hpp"

namespace regtune {
namespace {

LaunchDescription read(const std::string& toml) {
  return read_description("k.cu", "/*regtune\n" + toml + "\n*/");
}

constexpr char kAll[] = R"toml(kernel = "ns::k<4, float>"
block = ["32x8", "16x16"]
grid = "ceil_div(n, block_x), 2"
dynamic_shared_bytes = "4 * block"
cooperative = true
options = ["-DNAME=\"x\\y\"", "-use_fast_math"]
include = ["../include"]
seed = 7
block_macro = ["BX", "BY"]
sizes = { n = 1024, half = "n // 2" }
tune = { UNROLL = [1, 2] }
metric = { bytes = "8 * n" }

[args]
x = { buffer = "n", init = "uniform(-1, 1)", type = "float4", output = false }
y = { buffer = "2 * n", atol = 0.5, rtol = 1e-5, ulps = 3 }
a = { value = 2.5, type = "double" }
n = "n"
flag = true
p = { struct = [{ type = "int", value = 3 }, { offset = 8, type = "const float", buffer = "n", name = "in" }] }

[globals]
coeff = { values = [0.25, 0.5], type = "float" }
data = { file = "data.bin" }
)toml";

// What is written is read as the same: writing that again gives the same text.
TEST(DescriptionText, IsReadAsWhatWasWritten) {
  const std::string once = description_text(read(kAll), {}, {});
  const std::string again = description_text(read(once), {}, {});
  EXPECT_EQ(once, again);
  const LaunchDescription d = read(once);
  EXPECT_EQ(d.options, read(kAll).options);
  EXPECT_EQ(d.blocks, read(kAll).blocks);
  EXPECT_TRUE(d.cooperative);
  ASSERT_EQ(d.arguments.size(), 6u);
  EXPECT_EQ(d.arguments[0].init, "uniform(-1, 1)");
  EXPECT_EQ(d.arguments[1].relative_tolerance, 1e-5);
  EXPECT_EQ(d.arguments[5].fields[1].offset_bytes, 8);
  EXPECT_EQ(d.globals[0].values.size(), 2u);
  EXPECT_EQ(d.sizes[1].value.text, "n // 2");
}

TEST(DescriptionText, PutsTheReasonBehindTheLine) {
  LaunchDescription d;
  d.sizes.push_back({"n", {"1024", {}}});
  const std::string text = description_text(d, {{"sizes.n", "guess: no size is described"}}, {"p = {...}"});
  EXPECT_NE(text.find("n = 1024  # guess: no size is described\n"), std::string::npos);
  EXPECT_NE(text.find("# p = {...}\n"), std::string::npos);
  EXPECT_EQ(read(text).sizes.size(), 1u);
}

}  // namespace
}  // namespace regtune
