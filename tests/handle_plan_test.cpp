// Textures, tensor maps and clusters of a launch, as numbers, and what is refused of them.
#include <gtest/gtest.h>

#include "description.hpp"
#include "regtune/error.hpp"
#include "workload.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

KernelSignature signature() {
  KernelSignature result{"_Z1kv", "k", "k(...)", {}};
  result.parameters = {
      {"image", "cudaTextureObject_t", 0, 8}, {"map", "CUtensorMap", 64, 128}, {"in", "float*", 192, 8}};
  return result;
}

constexpr char kImage[] = "args.image = { texture = [8, 4], type = \"float\" }\n";
constexpr char kMap[] = "args.map = { tensor_map = [8, 4], box = [4, 4], type = \"float\" }\n";
constexpr char kIn[] = "args.in = { buffer = 1024 }\n";

WorkloadPlan plan_of(const std::string& toml, const KernelSignature& of = signature()) {
  return plan_workload(read_description("k.cu", "/*regtune\nsizes.n = 64\nblock = 32\ngrid = 8\n" + toml + "*/"), of);
}

std::string rest() {
  return std::string(kImage) + kMap + kIn;
}

WorkloadPlan with_image(const std::string& image) {
  return plan_of("args.image = { " + image + " }\n" + kMap + kIn);
}

WorkloadPlan with_map(const std::string& map) {
  return plan_of("args.map = { " + map + " }\n" + kImage + kIn);
}

// What is said of the plan, after the place; the place of every line is checked to be in the source.
std::string refusal(const auto& plan) {
  try {
    plan();
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("k.cu:")) << error.what();
    return error.what();
  }
  return "nothing was refused";
}
std::string refused_image(const std::string& image) {
  return refusal([&] { with_image(image); });
}
std::string refused_map(const std::string& map) {
  return refusal([&] { with_map(map); });
}
bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const TexturePlan& image_of(const WorkloadPlan& plan) {
  return std::get<TexturePlan>(plan.parameters.at(0));
}
const TensorMapPlan& map_of(const WorkloadPlan& plan) {
  return std::get<TensorMapPlan>(plan.parameters.at(1));
}

TEST(TexturePlan, HasTexelsLikeABufferThatIsOnlyRead) {
  const WorkloadPlan plan = with_image(
      "texture = [\"n\", \"n // 2\"], type = \"uchar4\", init = \"uniform(0, 256)\", address = [\"wrap\", \"clamp\"], "
      "filter = \"linear\", read = \"normalized_float\"");
  const TexturePlan& image = image_of(plan);
  EXPECT_EQ(image.layout.width, 64);
  EXPECT_EQ(image.layout.height, 32);
  EXPECT_EQ(image.layout.lanes, 4);
  EXPECT_EQ(image.layout.type, ElementType::u8);
  EXPECT_EQ(image.layout.sampling.address[0], TextureAddress::wrap);
  EXPECT_EQ(image.layout.sampling.address[1], TextureAddress::clamp);
  EXPECT_EQ(image.texels.count, 64 * 32 * 4);
  EXPECT_FALSE(image.texels.writable);
  EXPECT_FALSE(image.texels.output);
  EXPECT_EQ(buffers_of(plan).size(), 3u);
  EXPECT_EQ(describe_arguments(plan, signature()).front(),
            "image  cudaTextureObject_t  64 x 32 texels of unsigned char x 4, uniform(0, 256), wrap and clamp, linear, "
            "normalized_float");
}

TEST(TexturePlan, OfOneDimensionMayBeMemory) {
  const WorkloadPlan plan = with_image("texture = 200000, type = \"int\", memory = \"linear\"");
  EXPECT_EQ(image_of(plan).layout.height, 0);
  EXPECT_EQ(value_text(plan.parameters[0]), "200000 texels of int, zeros, clamp, point, linear memory");
  EXPECT_TRUE(holds(refused_image("texture = 200000, type = \"int\""), "choose 1 to 131072, and 2^28 with memory"));
  EXPECT_TRUE(holds(refused_image("texture = 300000000, type = \"int\", memory = \"linear\""), "268435456"));
}

TEST(TexturePlan, IsTakenForAnIntegerTheAuthorCallsOtherwise) {
  KernelSignature renamed = signature();
  renamed.parameters[0].type = "unsigned long long";
  EXPECT_EQ(std::get<TexturePlan>(plan_of(std::string(kImage) + kMap + kIn, renamed).parameters[0]).layout.width, 8);
  renamed.parameters[0].type = "const float*";
  EXPECT_TRUE(
      holds(refusal([&] { plan_of(std::string(kImage) + kMap + kIn, renamed); }), "is no texture object but const"));
}

TEST(TexturePlan, RefusesWhatCudaHasNot) {
  EXPECT_TRUE(holds(refused_image("texture = 4"), "args.image: a texture needs the C type of a texel"));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"Pixel\""), "\"Pixel\""));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"double\""), "no texture of double"));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"long long\""), "no texture of long"));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"float3\""), "1, 2 or 4 components"));
  EXPECT_TRUE(
      holds(refused_image("texture = 0, type = \"float\""), "args.image.texture: a texture of 0 texels along x"));
  EXPECT_TRUE(holds(refused_image("texture = [4, 0], type = \"float\""), "0 rows"));
  EXPECT_TRUE(holds(refused_image("texture = [4, 70000], type = \"float\""), "70000 texels along y"));
  EXPECT_TRUE(holds(refused_image("texture = [4, 65001], type = \"float\", memory = \"linear\""), "65000"));
  EXPECT_TRUE(holds(refused_image("texture = [\"n / 128\"], type = \"float\""), "args.image.texture"));
  EXPECT_TRUE(holds(refused_image("texture = 9223372036854775807, type = \"float\""), "along x"));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"float\", read = \"normalized_float\""), "8 and 16 bits"));
  EXPECT_TRUE(
      holds(refused_image("texture = 4, type = \"uchar4\", filter = \"linear\""), "add read = \"normalized_float\""));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"int\", filter = \"linear\""), "read as floats"));
  EXPECT_TRUE(
      holds(refused_image("texture = 4, type = \"float\", filter = \"linear\", memory = \"linear\""), "tex1Dfetch"));
  EXPECT_TRUE(holds(refused_image("texture = 4, type = \"float\", init = \"uniform(0, nan)\""), "is not understood"));
}

TEST(TensorMapPlan, HasABufferOfItsOwn) {
  const WorkloadPlan plan =
      with_map("tensor_map = [\"n\", 32], box = [16, 8], type = \"__half\", swizzle = \"32B\", init = \"ones\"");
  const TensorMapPlan& map = map_of(plan);
  EXPECT_EQ(map.layout.strides, std::vector<std::int64_t>{128});
  EXPECT_EQ(map.layout.element_strides, (std::vector<std::int64_t>{1, 1}));
  ASSERT_TRUE(map.data);
  EXPECT_EQ(map.data->count, 64 * 32);
  EXPECT_TRUE(map.data->output) << "nothing tells that the kernel does not store through it";
  EXPECT_EQ(value_text(plan.parameters[1]),
            "tensor map of 64 x 32 x __half, strides 128 bytes, box 16 x 8, swizzle 32B: 2048 x __half, ones, output");
  EXPECT_FALSE(map_of(with_map("tensor_map = 64, box = 16, type = \"float\", output = false")).data->output);
  EXPECT_EQ(map_of(with_map("tensor_map = [8, 4], strides = [64], base_offset = 32, box = [4, 4], type = \"float\""))
                .data->count,
            8 + 3 * 16 + 8);
}

TEST(TensorMapPlan, ViewsAnotherBuffer) {
  const WorkloadPlan plan =
      with_map("tensor_map = [16, 32], of = \"in\", base_offset = 64, strides = [128], box = [4, 4]");
  const TensorMapPlan& map = map_of(plan);
  EXPECT_FALSE(map.data);
  EXPECT_EQ(map.of, "in");
  EXPECT_EQ(map.layout.type, ElementType::f32) << "as the buffer's";
  EXPECT_EQ(buffers_of(plan).size(), 2u);
  EXPECT_TRUE(holds(value_text(plan.parameters[1]), ": of in from byte 64"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [16, 32], of = \"inn\", box = [4, 4]"), "did you mean \"in\"?"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [32, 64], of = \"in\", box = [4, 4]"),
                    "reaches to byte 8192 of in, which has 4096"));
}

TEST(TensorMapPlan, TellsTheBrokenRuleAtItsLine) {
  EXPECT_TRUE(holds(refused_map("tensor_map = [8, 4], box = [4, 4]"), "args.map: a tensor map needs the C type"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [8, 4], box = [4, 4], type = \"float4\""), "one element"));
  EXPECT_TRUE(
      holds(refused_map("tensor_map = [8, 4], box = [512, 4], type = \"float\""), "args.map.box: box[0] is 512"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [9, 4], box = [4, 4], type = \"float\""), "a stride of 36 bytes"));
  EXPECT_TRUE(
      holds(refused_map("tensor_map = [8, 4], strides = [36], box = [4, 4], type = \"float\""), "args.map.strides: "));
  EXPECT_TRUE(holds(refused_map("tensor_map = [8, 4], box = [4, 4], base_offset = 4, type = \"float\""),
                    "args.map.base_offset: "));
  EXPECT_TRUE(holds(refused_map("tensor_map = [1, 2, 3, 4, 5, 6], box = 4, type = \"float\""),
                    "args.map.tensor_map: 6 dimensions"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [4294967296, 4294967296, 4294967296], box = [4, 4, 4], type = \"float\""),
                    "64 bits"));
  EXPECT_TRUE(holds(refused_map("tensor_map = [8, 4], box = [\"block\", \"x\"], type = \"float\""), "args.map.box"));
}

TEST(TensorMapPlan, IsForParametersOfItsSize) {
  KernelSignature other = signature();
  other.parameters[1].size_bytes = 64;
  EXPECT_TRUE(holds(refusal([&] { plan_of(std::string(kImage) + kMap + kIn, other); }), "is no tensor map by value"));
}

TEST(HandlePlan, ComesOutOfAFlagAsWell) {
  DescriptionFlags flags;
  flags.arguments = {"image={texture=[\"n\", 8], type=\"uchar2\", address=\"mirror\"}",
                     "map={tensor_map=[64, 8], box=[16, 8], type=\"int\", swizzle=\"64B\"}"};
  const LaunchDescription description =
      with_flags(read_description("k.cu", "/*regtune\nsizes.n = 64\nblock = 32\ngrid = 8\nargs.in = 0*/"), flags);
  const WorkloadPlan plan = plan_workload(description, signature());
  EXPECT_EQ(image_of(plan).layout.sampling.address[1], TextureAddress::mirror);
  EXPECT_EQ(map_of(plan).layout.mode.swizzle, TensorSwizzle::b64);
  flags.arguments = {"image={texture=[4, 8], type=\"int\", filter=\"soft\"}"};
  try {
    with_flags({}, flags);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("--arg image")) << error.what();
    EXPECT_TRUE(holds(error.what(), "filter: \"soft\" is not known; write one of: point, linear")) << error.what();
  }
}

TEST(HandlePlan, GoesToTheProcessOfTheGpuAsItIs) {
  const WorkloadPlan plan = plan_of(
      "cluster = [2, 1]\nargs.image = { texture = [8, 4], type = \"ushort2\", filter = \"linear\", read = "
      "\"normalized_float\", address = [\"border\", \"wrap\"], normalized_coords = true, memory = \"linear\" "
      "}\nargs.map "
      "= { tensor_map = [16, 8], of = \"in\", strides = [128], base_offset = 16, box = [4, 4], element_strides = [1, "
      "2], "
      "swizzle = \"128B\", l2_promotion = \"64B\", oob_fill = \"nan\" }\n" +
      std::string(kIn));
  const Message message = workload_message(plan);
  const Message& image = message.at("parameters").at(0);
  const TextureLayout layout = texture_of(image.at("texture"));
  EXPECT_EQ(layout.sampling, image_of(plan).layout.sampling);
  EXPECT_EQ(layout.width, 8);
  EXPECT_EQ(layout.height, 4);
  EXPECT_EQ(layout.lanes, 2);
  EXPECT_EQ(layout.type, ElementType::u16);
  EXPECT_EQ(image.at("buffer").at("count"), 64);
  const Message& map = message.at("parameters").at(1);
  const TensorMapLayout view = tensor_map_of(map.at("tensor_map"));
  EXPECT_EQ(view.dims, (std::vector<std::int64_t>{16, 8}));
  EXPECT_EQ(view.strides, std::vector<std::int64_t>{128});
  EXPECT_EQ(view.element_strides, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(view.mode.swizzle, TensorSwizzle::b128);
  EXPECT_EQ(view.mode.l2_promotion, TensorL2Promotion::b64);
  EXPECT_EQ(view.mode.oob_fill, TensorFill::nan);
  EXPECT_EQ(map.at("of"), "in");
  EXPECT_EQ(map.at("base_offset"), 16);
  EXPECT_EQ(cluster_of(message).value().blocks, (Dim3{2, 1, 1}));
  EXPECT_FALSE(cluster_of(workload_message(plan_of(rest()))));
}

std::string refused_cluster(const std::string& toml, const KernelSignature& of = signature()) {
  try {
    plan_of(toml + rest(), of);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_launch) << error.what();
    return error.what();
  }
  return "nothing was refused";
}

TEST(ClusterPlan, IsWhatTheLaunchSays) {
  const WorkloadPlan plan = plan_of("cluster = [\"n // 16\", 1]\n" + rest());
  EXPECT_EQ(plan.cluster.value().blocks, (Dim3{4, 1, 1}));
  EXPECT_FALSE(plan.cluster->declared);
  EXPECT_EQ(describe_arguments(plan, signature()).back(), "clusters of 4 x 1 x 1 blocks");
  EXPECT_FALSE(plan_of(rest()).cluster);
}

TEST(ClusterPlan, IsWhatTheCodeDeclares) {
  KernelSignature declaring = signature();
  declaring.blocks_per_cluster = {2, 1, 1};
  EXPECT_EQ(plan_of(rest(), declaring).cluster.value().blocks, (Dim3{2, 1, 1}));
  EXPECT_TRUE(plan_of("cluster = 2\n" + rest(), declaring).cluster->declared);
  EXPECT_TRUE(holds(refused_cluster("cluster = 4\n", declaring),
                    "k.cu:5: cluster: clusters of 4 x 1 x 1, and the kernel "
                    "is compiled for 2 x 1 x 1"));
  declaring.blocks_per_cluster = {3, 1, 1};
  EXPECT_TRUE(holds(refused_cluster("", declaring),
                    "the kernel k, which declares its clusters: clusters of 3 x 1 x 1 do "
                    "not divide the grid of 8 x 1 x 1"));
}

TEST(ClusterPlan, KeepsWithinTheThirdLaunchBound) {
  KernelSignature bounded = signature();
  bounded.max_blocks_per_cluster = 2;
  EXPECT_EQ(plan_of("cluster = 2\n" + rest(), bounded).cluster.value().blocks.x, 2u);
  EXPECT_TRUE(
      holds(refused_cluster("cluster = 4\n", bounded), "clusters of 4 blocks, and the third launch bound allows 2"));
}

TEST(ClusterPlan, RefusesWhatCannotBeLaunched) {
  EXPECT_TRUE(holds(refused_cluster("cluster = 0\n"), "a cluster of 0 blocks in x"));
  EXPECT_TRUE(holds(refused_cluster("cluster = [1, -2]\n"), "a cluster of -2 blocks in y"));
  EXPECT_TRUE(holds(refused_cluster("cluster = 9223372036854775807\n"), "choose 1 to 16"));
  EXPECT_TRUE(holds(refused_cluster("cluster = [8, 4]\n"), "a cluster of 32 blocks"));
  EXPECT_TRUE(holds(refused_cluster("cluster = [1, 2]\n"), "do not divide the grid of 8 x 1 x 1 for a block of 32"));
  EXPECT_TRUE(holds(refused_cluster("cluster = 2\ncooperative = true\n"), "choose one of the two"));
}

}  // namespace
}  // namespace regtune
