#include "inference.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "parameter_role.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

KernelSignature signature(const Parameters& parameters) {
  KernelSignature result{"_Z1kv", "k", "k(...)", {}};
  for (const auto& [name, type] : parameters) {
    const ParameterType parsed = parse_parameter_type(type);
    const int bytes = parsed.pointer || !parsed.element ? 8 : size_bytes(*parsed.element);
    result.parameters.push_back({name, type, 0, bytes});
  }
  return result;
}

std::string guessed(const InferredLaunch& launch, const std::string& key) {
  for (const Guess& guess : launch.guesses)
    if (guess.key == key) return guess.value;
  return "nothing";
}

InferredLaunch infer(const Parameters& parameters, const InferenceFacts& facts = {}, const std::string& toml = "") {
  LaunchDescription description;
  if (!toml.empty()) description = read_description("k.cu", "/*regtune\n" + toml + "\n*/");
  return infer_launch(std::move(description), signature(parameters), facts);
}

WorkloadPlan plan(const InferredLaunch& launch, const Parameters& parameters) {
  return plan_workload(launch.description, signature(parameters));
}

const Parameters kSaxpy{{"x", "const float*"}, {"y", "float*"}, {"a", "float"}, {"n", "int"}};

TEST(Inference, GuessesEverythingOfAKernelOverOneLength) {
  const InferredLaunch launch = infer(kSaxpy);
  EXPECT_EQ(guessed(launch, "sizes.n"), "16777216");
  EXPECT_EQ(guessed(launch, "block"), "256");
  EXPECT_EQ(guessed(launch, "grid"), "\"ceil_div(n, block)\"");
  EXPECT_EQ(guessed(launch, "args.n"), "\"n\"");
  EXPECT_EQ(guessed(launch, "args.a"), "1.0");
  EXPECT_EQ(guessed(launch, "args.x"), "{ buffer = \"round_up(n, block)\", init = \"uniform(0, 1)\" }");
  const WorkloadPlan planned = plan(launch, kSaxpy);
  EXPECT_EQ(planned.shapes.front().grid.x, 65536u);
  EXPECT_FALSE(std::get<BufferPlan>(planned.parameters[0]).output) << "a pointer to const is an input";
  EXPECT_TRUE(std::get<BufferPlan>(planned.parameters[1]).output);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[1]).count, 1 << 24);
}

TEST(Inference, GuessesATextureFromTheFetchesOfTheText) {
  const Parameters parameters{{"out", "float*"},
                              {"width", "int"},
                              {"height", "int"},
                              {"image", "cudaTextureObject_t"},
                              {"row", "cudaTextureObject_t"}};
  const InferenceFacts facts = inference_facts(
      "__device__ float at(cudaTextureObject_t row, int i) { return tex1Dfetch<unsigned char>(row, i); }\n"
      "__global__ void k(float* out, int width, int height, cudaTextureObject_t image, cudaTextureObject_t row) {\n"
      "  const int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "  out[y] = tex2D<float4>(image, threadIdx.x, y).x + at(row, y);\n}\n",
      signature(parameters), 0, 0);
  const InferredLaunch launch = infer(parameters, facts);
  EXPECT_EQ(guessed(launch, "args.image"),
            "{ texture = [\"width\", \"height\"], type = \"float4\", init = \"uniform(0, 1)\" }");
  EXPECT_EQ(guessed(launch, "args.row"),
            "{ texture = [\"width * height\"], type = \"unsigned char\", init = \"uniform(0, 100)\", memory = "
            "\"linear\" }");
  const WorkloadPlan planned = plan(launch, parameters);
  const auto& image = std::get<TexturePlan>(planned.parameters[3]);
  EXPECT_EQ(image.layout.lanes, 4);
  EXPECT_EQ(image.texels.count, 4 * image.layout.width * image.layout.height);
  EXPECT_EQ(std::get<TexturePlan>(planned.parameters[4]).layout.sampling.memory, TextureMemory::linear);
}

TEST(Inference, MakesAGuessedGridAMultipleOfTheCluster) {
  KernelSignature clustered = signature(kSaxpy);
  clustered.blocks_per_cluster = {4, 1, 1};
  const InferredLaunch launch = infer_launch({}, clustered, {});
  EXPECT_EQ(guessed(launch, "grid"), "\"round_up(ceil_div(n, block), 4)\"");
  LaunchDescription odd = launch.description;
  odd.sizes.front().value.text = "1025";
  const WorkloadPlan planned = plan_workload(odd, clustered);
  EXPECT_EQ(planned.shapes.front().grid.x, 8u);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[0]).count, 8 * 256) << "as far as the last block reaches";
}

TEST(Inference, GuessesNothingOfACompleteDescription) {
  const InferredLaunch launch =
      infer(kSaxpy, {}, "sizes.n = 8\nblock = 32\ngrid = 1\nargs = {x = {buffer = 8}, y = {buffer = 8}, a = 2, n = 8}");
  EXPECT_TRUE(launch.guesses.empty());
  EXPECT_EQ(launch.description.arguments.size(), 4u);
}

TEST(Inference, KeepsWhatIsDescribed) {
  const InferredLaunch launch = infer(kSaxpy, {}, "sizes.n = 1000\nblock = 128\nargs.a = 2.5");
  EXPECT_EQ(guessed(launch, "sizes.n"), "nothing");
  EXPECT_EQ(guessed(launch, "block"), "nothing");
  EXPECT_EQ(guessed(launch, "args.a"), "nothing");
  const WorkloadPlan planned = plan(launch, kSaxpy);
  EXPECT_EQ(planned.shapes.front().grid.x, 8u);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[0]).count, 1024) << "as far as the last block reaches";
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[2]).value, "2.5");
}

TEST(Inference, GivesBuffersTheLengthThatADescribedGridImplies) {
  const InferredLaunch launch = infer(kSaxpy, {}, "sizes.n = 1000\nblock = 128\ngrid = \"ceil_div(n, 2 * block), 5\"");
  const WorkloadPlan planned = plan(launch, kSaxpy);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[0]).count, 4 * 5 * 128);
}

TEST(Inference, TakesTheBlockFromTheLaunchBound) {
  InferenceFacts facts;
  facts.launch_bound = 128;
  EXPECT_EQ(guessed(infer(kSaxpy, facts), "block"), "128");
  facts.body.block_has_y = true;
  EXPECT_EQ(guessed(infer(kSaxpy, facts), "block"), "\"32x4\"");
  facts.launch_bound = 256;
  EXPECT_EQ(guessed(infer(kSaxpy, facts), "block"), "\"16x16\"");
  facts.launch_bound = 2048;
  EXPECT_EQ(guessed(infer(kSaxpy, facts), "block"), "\"16x16\"") << "no block is that large";
}

TEST(Inference, SpreadsAnImageOverTwoAxes) {
  const Parameters image{{"out", "float*"}, {"in", "const float*"}, {"width", "int"}, {"height", "int"}};
  InferenceFacts facts;
  facts.body.block_has_y = facts.body.grid_has_y = true;
  const InferredLaunch launch = infer(image, facts);
  EXPECT_EQ(guessed(launch, "sizes.width"), "4096");
  EXPECT_EQ(guessed(launch, "grid"), "\"ceil_div(width, block_x), ceil_div(height, block_y)\"");
  const WorkloadPlan planned = plan(launch, image);
  EXPECT_EQ(planned.shapes.front().grid.y, 256u);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[0]).count, 4096 * 4096);
}

TEST(Inference, MakesTheBuffersOfAMatrixProductLongEnoughForEachMatrix) {
  const Parameters product{{"A", "const float*"}, {"B", "const float*"}, {"C", "float*"},
                           {"M", "int"},          {"N", "int"},          {"K", "int"}};
  const InferredLaunch launch = infer(product, {}, "sizes = {M = 64, N = 32, K = 512}");
  const WorkloadPlan planned = plan(launch, product);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[0]).count, 64 * 512);
  EXPECT_EQ(planned.shapes.front().grid.x, 8u) << "a thread for each of 64 x 32";
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[5]).value, "512");
}

TEST(Inference, SquaresTheOneSizeOfATwoAxesGrid) {
  InferenceFacts facts;
  facts.body.block_has_y = facts.body.grid_has_y = true;
  const Parameters matrix{{"a", "const double*"}, {"c", "double*"}, {"N", "int"}};
  const WorkloadPlan planned = plan(infer(matrix, facts), matrix);
  EXPECT_EQ(planned.sizes.at("N"), 4096);
  EXPECT_EQ(std::get<BufferPlan>(planned.parameters[1]).count, 4096 * 4096);
}

TEST(Inference, KeepsAGuessedSizeWithinTheMemory) {
  InferenceFacts facts;
  facts.memory_bytes = std::int64_t{64} << 20;
  const WorkloadPlan planned = plan(infer(kSaxpy, facts), kSaxpy);
  EXPECT_EQ(planned.sizes.at("n"), 1 << 21) << "16 bytes for each element, in 32 MiB";
}

TEST(Inference, KeepsIndicesWithinTheBuffers) {
  const Parameters gather{{"col_idx", "const int*"}, {"in", "const float*"}, {"out", "float*"}, {"num_rows", "int"}};
  const InferredLaunch launch = infer(gather, {}, "sizes.num_rows = 100");
  const BufferPlan index = std::get<BufferPlan>(plan(launch, gather).parameters[0]);
  EXPECT_EQ(index.init.kind, BufferInit::Kind::modulo);
  EXPECT_EQ(index.init.a, 100);
}

TEST(Inference, LeavesOutWhatItCannotKnow) {
  const Parameters odd{{"p", "Params"}, {"rows", "float**"}, {"n", "int"}};
  const InferredLaunch launch = infer(odd);
  EXPECT_EQ(guessed(launch, "args.p"), "nothing");
  EXPECT_EQ(guessed(launch, "args.rows"), "nothing");
  EXPECT_EQ(guessed(launch, "args.n"), "\"n\"");
}

TEST(Inference, FillsEveryScalarType) {
  const Parameters scalars{{"h", "__half"}, {"b", "__nv_bfloat16"}, {"d", "double"}, {"on", "bool"}, {"seed", "int"}};
  const WorkloadPlan planned = plan(infer(scalars), scalars);
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[0]).bytes, std::string("\x00\x3c", 2));
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[1]).bytes, std::string("\x80\x3f", 2));
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[3]).value, "true");
  EXPECT_EQ(std::get<ScalarPlan>(planned.parameters[4]).value, "1");
}

TEST(Inference, ReadsTheBodyForAxesAndSharedMemory) {
  const KernelBody body = kernel_body(
      "__device__ int f() { return threadIdx.z; }\n"
      "__global__ void k(float* x) {\n  extern __shared__ float tile[];\n  // blockIdx.z\n"
      "  if (threadIdx.y) { tile[0] = 1; }\n  x[blockIdx.y] = tile[0];\n}\n"
      "__global__ void other() { int z = blockIdx.z; }\n",
      "k");
  EXPECT_TRUE(body.block_has_y);
  EXPECT_TRUE(body.grid_has_y);
  EXPECT_FALSE(body.grid_has_z) << "in a comment and in another kernel";
  EXPECT_EQ(body.shared_element_bytes, 4);
  EXPECT_EQ(kernel_body("", "k").shared_element_bytes, 0);
}

TEST(Inference, SaysWhichLineToWriteWhereALaunchFailed) {
  const InferredLaunch launch = infer({{"out", "float*"}, {"in", "const float*"}, {"n", "int"}});
  const std::string about_out = advice_for_failure(launch.guesses, "wrote up to 4 bytes past the end of out");
  EXPECT_NE(about_out.find("args.out = { buffer = "), std::string::npos);
  EXPECT_EQ(about_out.find("args.in"), std::string::npos);
  const std::string about_none = advice_for_failure(launch.guesses, "an illegal memory access");
  EXPECT_NE(about_none.find("sizes.n = 16777216"), std::string::npos);
  EXPECT_NE(about_none.find("args.in"), std::string::npos);
  EXPECT_EQ(advice_for_failure({}, "out"), "");
}

TEST(ParameterRole, ReadsNamesAsPeopleWriteThem) {
  for (const char* name : {"size", "len", "numElements", "num_items", "vector_length", "nPoints", "count_"})
    EXPECT_EQ(parameter_role(name), ParameterRole::length) << name;
  for (const char* name : {"width", "imageWidth", "cols", "num_cols", "nx", "w"})
    EXPECT_EQ(parameter_role(name), ParameterRole::width) << name;
  for (const char* name : {"height", "nRows", "h", "ny"})
    EXPECT_EQ(parameter_role(name), ParameterRole::height) << name;
  for (const char* name : {"alpha", "num_iterations", "seed", "", "_", "numBlocks", "stepSize"})
    EXPECT_EQ(parameter_role(name), ParameterRole::other) << name;
  EXPECT_EQ(parameter_role("lda"), ParameterRole::stride);
  EXPECT_TRUE(is_index_name("colIdx"));
  EXPECT_FALSE(is_index_name("input"));
}

}  // namespace
}  // namespace regtune
