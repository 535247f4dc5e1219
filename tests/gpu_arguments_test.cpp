// What a kernel finds in its arguments on a real GPU: structures with pointers, variables of the module, index buffers,
// dynamic shared memory, guesses. The kernels trap where they do not find what the description says.
#include <gtest/gtest.h>

#include "on_gpu.hpp"
#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

class ArgumentsOnGpu : public KernelOnGpu {};

constexpr const char* kStruct = R"(struct P { int n; const float* in; float* out; };
__global__ void k(P p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  if (p.in[i] < 2.0f || p.in[i] > 3.0f) __trap();
  p.out[i] += p.in[i] * 2;
}
)";

std::string struct_launch(const std::string& n) {
  return "sizes.n = 100000\nblock = 128\ngrid = \"ceil_div(2 * n, block)\"\nargs.p = { struct = [\n"
         "  { type = \"int\", value = \"" +
         n +
         "\" },\n  { type = \"const float\", buffer = \"n\", init = \"uniform(2, 3)\", name = \"in\" },\n"
         "  { type = \"float\", buffer = \"n\", name = \"out\" } ] }\n";
}

TEST_F(ArgumentsOnGpu, AStructureHoldsValuesAndTheAddressesOfFilledBuffers) {
  const Ending ending = tune(struct_launch("n"), kStruct);
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
}

TEST_F(ArgumentsOnGpu, ABufferBehindAStructureIsGuarded) {
  const Ending ending = tune(struct_launch("n + 10"), "#define __trap() (void)0\n" + std::string(kStruct));
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::bad_description)) << ending.out << ending.err;
  EXPECT_TRUE(holds(ending.err, "past the end of p.out")) << ending.err;
}

TEST_F(ArgumentsOnGpu, VariablesOfTheModuleAreFilledInEveryCode) {
  const Ending ending = tune(R"toml(sizes.n = 100000
block = 128
grid = "ceil_div(n, block)"
args = { out = { buffer = "n" }, n = "n" }
[globals]
coeff = { values = [0.25, 0.5, 4], type = "float" }
scale = { value = 3, type = "int" }
table = { buffer = "n", type = "const int", init = "iota" }
)toml",
                             R"(__constant__ float coeff[3];
__device__ int scale;
__device__ const int* table;
__global__ void k(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (coeff[0] != 0.25f || coeff[1] != 0.5f || coeff[2] != 4.0f || scale != 3 || table[i] != i) __trap();
  out[i] = coeff[i % 3] * scale;
}
)");
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
}

TEST_F(ArgumentsOnGpu, AVariableThatIsNotThereIsNamed) {
  const Ending ending = tune(
      "sizes.n = 1024\nblock = 128\ngrid = 8\nargs.out = { buffer = \"n\" }\nglobals.none = { value = 1, type = "
      "\"int\" }\n",
      "__global__ void k(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\n");
  EXPECT_NE(ending.exit_code, 0);
  EXPECT_TRUE(holds(ending.err, "no variable none")) << ending.err;
}

TEST_F(ArgumentsOnGpu, IndexBuffersHoldWhatTheirNamesSay) {
  const Ending ending =
      tune(R"toml(sizes.n = 1000003
block = 128
grid = "ceil_div(n, block)"
[args]
perm = { buffer = "n", init = "permutation(n)" }
mod = { buffer = "n", init = "mod(7)" }
sorted = { buffer = "n", init = "sorted(-5, 5)" }
seen = { buffer = "n" }
n = "n"
)toml",
           R"(__global__ void k(const int* perm, const int* mod, const float* sorted, int* seen, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (perm[i] < 0 || perm[i] >= n || mod[i] != i % 7) __trap();
  if (sorted[i] < -5 || sorted[i] > 5 || (i > 0 && sorted[i] < sorted[i - 1])) __trap();
  // The second launch finds what the first left: two of a number would make it three or four.
  if (atomicAdd(&seen[perm[i]], 1) > 1) __trap();
}
)");
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
  EXPECT_TRUE(holds(ending.out, "restored before each")) << ending.out;
}

TEST_F(ArgumentsOnGpu, ACooperativeLaunchHasAsManyBlocksAsAreResident) {
  const Ending ending = tune(R"toml(block = 256
grid = 100000
cooperative = true
[args]
sum = { buffer = 1 }
)toml",
                             R"(#include <cooperative_groups.h>
__global__ void k(unsigned* sum) {
  atomicAdd(sum, threadIdx.x == 0);
  cooperative_groups::this_grid().sync();
  if (*sum % gridDim.x != 0) __trap();
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) *sum = 0;
}
)");
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
}

TEST_F(ArgumentsOnGpu, WithoutRestoringALaunchFindsWhatTheOneBeforeLeft) {
  program_.write("k.cu",
                 "/*regtune\nsizes.n = 100000\nblock = 128\ngrid = \"ceil_div(n, block)\"\n"
                 "args = { x = { buffer = \"n\" }, n = \"n\" }\n*/\n"
                 "__global__ void k(float* x, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                 "  if (i < n) x[i] += 1;\n}\n");
  const Ending ending = program_.run({"k.cu", "--budget", "3", "--no-rename", "--no-restore"});
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
  EXPECT_TRUE(holds(ending.out, "as the launch before left them")) << ending.out;
}

TEST_F(ArgumentsOnGpu, SharedMemoryBeyond48KiBIsAskedFor) {
  const char* source = R"(__global__ void k(float* out) {
  extern __shared__ float moving[];
  __shared__ float still[5 * 1024];
  moving[40 * 256 - 1 - threadIdx.x] = still[threadIdx.x * 8] = 1;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = moving[40 * 256 - 1 - threadIdx.x] + still[threadIdx.x * 8];
}
)";
  const Ending together =
      tune("block = 128\ngrid = 64\ndynamic_shared_bytes = 40960\nargs.out = { buffer = \"64 * 128\" }\n", source);
  EXPECT_EQ(together.exit_code, 0) << together.out << together.err;
  const Ending alone =
      tune("block = 128\ngrid = 64\ndynamic_shared_bytes = 65536\nargs.out = { buffer = \"64 * 128\" }\n", source);
  EXPECT_EQ(alone.exit_code, 0) << alone.out << alone.err;
}

TEST_F(ArgumentsOnGpu, AKernelThatNobodyDescribedIsTunedAndMarked) {
  program_.write("k.cu",
                 "__global__ void saxpy(const float* x, float* y, float a, int n) {\n"
                 "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] += a * x[i];\n}\n");
  const Ending ending = program_.run({"k.cu", "--budget", "3", "--no-rename"});
  EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
  EXPECT_TRUE(holds(ending.out, "guessed, not described: sizes.n"));
  const Ending answer = program_.run({"lookup", "saxpy", "--set", "n=1<<24"});
  EXPECT_TRUE(holds(answer.out, "guessed, not described: sizes.n")) << answer.out << answer.err;
  const Ending verified = program_.run({"verify", "saxpy", "--set", "n=1<<24"});
  EXPECT_FALSE(holds(verified.err, "not the one that was tuned")) << verified.err;
}

TEST_F(ArgumentsOnGpu, AFaultUnderGuessesShowsTheLineToWrite) {
  program_.write("k.cu",
                 "__global__ void k(float* samples, int n) {\n"
                 "  const long i = blockIdx.x * blockDim.x + threadIdx.x;\n  samples[i + 2] = 1;\n}\n");
  const Ending ending = program_.run({"k.cu", "--budget", "3", "--no-rename"});
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::bad_description)) << ending.err;
  EXPECT_TRUE(holds(ending.err, "past the end of samples"));
  EXPECT_TRUE(holds(ending.err, "args.samples = { buffer = \"round_up(n, block)\"")) << ending.err;
}

}  // namespace
}  // namespace regtune
