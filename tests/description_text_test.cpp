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
cluster = [2, "n // 512"]
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
image = { texture = ["n", 64], type = "uchar4", init = "uniform(0, 256)", address = ["wrap", "border"], filter = "linear", read = "normalized_float", normalized_coords = true }
row = { texture = "n", type = "int", memory = "linear" }
map = { tensor_map = ["n", 8], box = [32, 8], type = "__half", swizzle = "64B", l2_promotion = "128B", oob_fill = "nan", output = false }
view = { tensor_map = ["n", 8, 2], of = "x", base_offset = 64, strides = ["4 * n", 8192], box = [4, 4, 2], element_strides = [1, 2, 1], interleave = "16B" }
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
  ASSERT_EQ(d.arguments.size(), 10u);
  EXPECT_EQ(d.arguments[0].init, "uniform(-1, 1)");
  EXPECT_EQ(d.arguments[1].relative_tolerance, 1e-5);
  EXPECT_EQ(d.arguments[9].fields[1].offset_bytes, 8);
  EXPECT_EQ(d.globals[0].values.size(), 2u);
  ASSERT_EQ(d.cluster.size(), 2u);
  EXPECT_EQ(d.cluster[1].text, "n // 512");
  EXPECT_EQ(d.sizes[1].value.text, "n // 2");
}

TEST(DescriptionText, KeepsTexturesAndTensorMaps) {
  const LaunchDescription d = read(description_text(read(kAll), {}, {}));
  const TextureSampling& image = d.arguments[5].texture.value().sampling;
  EXPECT_EQ(image.address, (std::array{TextureAddress::wrap, TextureAddress::border}));
  EXPECT_EQ(image.filter, TextureFilter::linear);
  EXPECT_EQ(image.read, TextureRead::normalized_float);
  EXPECT_TRUE(image.normalized_coords);
  EXPECT_EQ(d.arguments[6].texture.value().extents.size(), 1u);
  EXPECT_EQ(d.arguments[6].texture.value().sampling.memory, TextureMemory::linear);
  EXPECT_EQ(d.arguments[6].texture.value().sampling.address[0], TextureAddress::clamp);
  const TensorMapDescription& map = d.arguments[7].tensor_map.value();
  EXPECT_EQ(map.mode.swizzle, TensorSwizzle::b64);
  EXPECT_EQ(map.mode.l2_promotion, TensorL2Promotion::b128);
  EXPECT_EQ(map.mode.oob_fill, TensorFill::nan);
  EXPECT_EQ(d.arguments[7].output, false);
  const TensorMapDescription& view = d.arguments[8].tensor_map.value();
  EXPECT_EQ(view.of, "x");
  EXPECT_EQ(view.base_offset.value().text, "64");
  EXPECT_EQ(view.strides.at(1).text, "8192");
  EXPECT_EQ(view.element_strides.at(1).text, "2");
  EXPECT_EQ(view.mode.interleave, TensorInterleave::b16);
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
