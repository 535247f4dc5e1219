// Kernels that read textures, copy tiles by tensor maps and run in clusters, on a real GPU. Each traps where it does
// not find what the description says, so that its author's code runs only where all of it is right.
#include <gtest/gtest.h>

#include "on_gpu.hpp"
#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

class HandlesOnGpu : public KernelOnGpu {
 protected:
  void expect_tuned(const std::string& description, const std::string& source) {
    const Ending ending = tune(description, source);
    EXPECT_EQ(ending.exit_code, 0) << ending.out << ending.err;
  }

  void skip_before_sm_90() {
    Device device(0);
    if (device.state()->id.compute_major < 9) GTEST_SKIP() << "tensor maps and clusters came with sm_90";
  }
};

// Texel (x, y) of 64 x 64 holds 64 y + x: half way between two of them a linear filter gives their mean.
constexpr const char* kFiltered = R"(__global__ void k(cudaTextureObject_t image, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  const float across = tex2D<float>(image, x + 1.0f, y + 0.5f);
  const float down = tex2D<float>(image, x + 0.5f, y + 1.0f);
  const float here = 64 * y + x;
  if (fabsf(across - (x < 63 ? here + 0.5f : here)) > 0.01f) __trap();
  if (fabsf(down - (y < 63 ? here + 32 : here)) > 0.01f) __trap();
  out[64 * y + x] = across + down;
}
)";

TEST_F(HandlesOnGpu, ALinearFilterGivesTheMeanOfTwoTexels) {
  expect_tuned(R"toml(block = 32
grid = [2, 64]
args.image = { texture = [64, 64], type = "float", init = "iota", filter = "linear" }
args.out = { buffer = 4096 }
)toml",
               kFiltered);
  expect_tuned(R"toml(block = 32
grid = [2, 64]
args.image = { texture = [64, 64], type = "float", init = "iota", filter = "linear", memory = "linear" }
args.out = { buffer = 4096 }
)toml",
               kFiltered);
}

TEST_F(HandlesOnGpu, AddressModesAreThoseOfEachAxis) {
  expect_tuned(R"toml(block = 32
grid = 2
args.image = { texture = [64, 64], type = "float", init = "iota", address = ["wrap", "mirror"], normalized_coords = true }
args.framed = { texture = [64, 64], type = "int", init = "ones", address = "border" }
args.out = { buffer = 64 }
)toml",
               R"(__global__ void k(cudaTextureObject_t image, cudaTextureObject_t framed, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const float u = (x + 0.5f) / 64, v = 3.5f / 64;
  if (tex2D<float>(image, u + 1, v) != 64 * 3 + x) __trap();
  if (tex2D<float>(image, u, -v) != 64 * 3 + x) __trap();
  if (tex2D<int>(framed, x, -5) != 0 || tex2D<int>(framed, x, 5) != 1) __trap();
  out[x] = x;
}
)");
}

TEST_F(HandlesOnGpu, BytesAreReadAsSharesOfTheLargest) {
  expect_tuned(R"toml(block = 32
grid = 2
args.image = { texture = [64, 1], type = "uchar4", init = "ones", read = "normalized_float", filter = "linear" }
args.row = { texture = 64, type = "short2", init = "iota" }
args.out = { buffer = 64 }
)toml",
               R"(__global__ void k(cudaTextureObject_t image, cudaTextureObject_t row, float* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 share = tex2D<float4>(image, x + 0.5f, 0.5f);
  if (fabsf(share.x * 255 - 1) > 1e-4f || fabsf(share.w * 255 - 1) > 1e-4f) __trap();
  const short2 pair = tex1D<short2>(row, x);
  if (pair.x != 2 * x || pair.y != 2 * x + 1) __trap();
  out[x] = share.y;
}
)");
}

TEST_F(HandlesOnGpu, LinearMemoryIsFetchedByIndexAndByRows) {
  expect_tuned(R"toml(block = 100
grid = 7
args.row = { texture = 700, type = "int", init = "iota", memory = "linear" }
args.rows = { texture = [100, 7], type = "unsigned int", init = "iota", memory = "linear" }
args.out = { buffer = 700 }
)toml",
               R"(__global__ void k(cudaTextureObject_t row, cudaTextureObject_t rows, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (tex1Dfetch<int>(row, i) != i) __trap();
  if (tex2D<unsigned>(rows, threadIdx.x, blockIdx.x) != i) __trap();
  out[i] = i;
}
)");
}

constexpr const char* kTensorMap = "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n";

// Tiles of 32 x 8 floats out of rows of 64, each through the one barrier of its block.
constexpr const char* kLoadTile = R"(
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void load_tile(const CUtensorMap& map, float* tile, unsigned long long* barrier) {
  const unsigned place = shared_address(barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(place) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(place) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        :: "r"(shared_address(tile)), "l"(&map), "r"(blockIdx.x * 32), "r"(blockIdx.y * 8), "r"(place) : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(place) : "memory");
}
)";

constexpr const char* kReadsTile = R"(
__global__ void k(const __grid_constant__ CUtensorMap map, const float* in, float* out) {
  __shared__ alignas(128) float tile[8 * 32];
  __shared__ alignas(8) unsigned long long barrier;
  load_tile(map, tile, &barrier);
  for (int row = 0; row < 8; ++row) {
    const int at = (blockIdx.y * 8 + row) * 64 + blockIdx.x * 32 + threadIdx.x;
    if (tile[row * 32 + threadIdx.x] != (float)at || in[at] != (float)at) __trap();
    out[at] = 2 * tile[row * 32 + threadIdx.x];
  }
}
)";

TEST_F(HandlesOnGpu, ATensorMapLoadsTheTileOfItsOwnBuffer) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  expect_tuned(R"toml(block = 32
grid = [2, 4]
args.map = { tensor_map = [64, 32], box = [32, 8], type = "float", init = "iota", output = false }
args.in = { buffer = "64 * 32", init = "iota" }
args.out = { buffer = "64 * 32" }
)toml",
               kTensorMap + std::string(kLoadTile) + kReadsTile);
}

TEST_F(HandlesOnGpu, ATensorMapViewsABufferThatTheKernelHasToo) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  expect_tuned(R"toml(block = 32
grid = [2, 4]
args.map = { tensor_map = [64, 32], of = "in", box = [32, 8], l2_promotion = "128B", oob_fill = "nan" }
args.in = { buffer = "64 * 32", init = "iota" }
args.out = { buffer = "64 * 32" }
)toml",
               kTensorMap + std::string(kLoadTile) + kReadsTile);
}

// What is stored through a map is compared like any output.
TEST_F(HandlesOnGpu, StoresThroughATensorMapAreCompared) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  const std::string source = kTensorMap + std::string(R"(
__global__ void k(const __grid_constant__ CUtensorMap map, float* other) {
  __shared__ alignas(128) float tile[32];
  tile[threadIdx.x] = VALUE;
  other[blockIdx.x * 32 + threadIdx.x] = 1;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];"
                 :: "l"(&map), "r"(blockIdx.x * 32), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
)");
  const std::string description =
      "block = 32\ngrid = 64\nargs.map = { tensor_map = 2048, box = 32, type = \"float\" }\nargs.other = { buffer = "
      "2048 "
      "}\n";
  expect_tuned(description, "#define VALUE (float)(blockIdx.x * 32 + threadIdx.x)\n" + source);
  const Ending ending = tune(description, "#define VALUE (float)(clock64() & 0xffff)\n" + source);
  EXPECT_EQ(ending.exit_code, static_cast<int>(ErrorKind::bad_description)) << ending.out << ending.err;
  EXPECT_TRUE(holds(ending.err, "another result each time (map")) << ending.err;
}

// Each block reads what the others of its cluster put into their shared memory.
std::string clustered(int blocks, const std::string& declaration) {
  return "#include <cooperative_groups.h>\n__global__ void " + declaration +
         " k(int* out) {\n"
         "  __shared__ int mine;\n"
         "  auto cluster = cooperative_groups::this_cluster();\n"
         "  if (cluster.num_blocks() != " +
         std::to_string(blocks) +
         ") __trap();\n"
         "  if (threadIdx.x == 0) mine = blockIdx.x;\n"
         "  cluster.sync();\n"
         "  const int next = (cluster.block_rank() + 1) % cluster.num_blocks();\n"
         "  const int other = *cluster.map_shared_rank(&mine, next);\n"
         "  if (other != (int)(blockIdx.x / cluster.num_blocks() * cluster.num_blocks()) + next) __trap();\n"
         "  cluster.sync();\n"
         "  out[blockIdx.x * blockDim.x + threadIdx.x] = other;\n}\n";
}

TEST_F(HandlesOnGpu, BlocksOfAClusterReadEachOthersSharedMemory) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  const std::string launch = "block = 128\ngrid = 480\nargs.out = { buffer = \"480 * 128\" }\n";
  expect_tuned(launch + "cluster = [2, 1, 1]\n", clustered(2, ""));
  expect_tuned(launch + "cluster = 4\n", clustered(4, "__launch_bounds__(128, 1, 4)"));
}

TEST_F(HandlesOnGpu, AClusterThatTheCodeDeclaresNeedsNoDescription) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  const std::string launch = "block = 128\ngrid = 480\nargs.out = { buffer = \"480 * 128\" }\n";
  expect_tuned(launch, clustered(2, "__cluster_dims__(2, 1, 1)"));
  expect_tuned(launch + "cluster = 2\n", clustered(2, "__cluster_dims__(2, 1, 1)"));
  const Ending other = tune(launch + "cluster = 4\n", clustered(4, "__cluster_dims__(2, 1, 1)"));
  EXPECT_EQ(other.exit_code, static_cast<int>(ErrorKind::bad_launch)) << other.err;
  EXPECT_TRUE(holds(other.err, "is compiled for 2 x 1 x 1")) << other.err;
}

TEST_F(HandlesOnGpu, ClustersBeyondEightBlocksAreAskedFor) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  expect_tuned("block = 128\ngrid = 480\nargs.out = { buffer = \"480 * 128\" }\ncluster = 16\n", clustered(16, ""));
}

// 200 KiB a block leave room for one block on a multiprocessor, and 16 of them on no part of the GPU only where some of
// its multiprocessors are switched off: then the refusal says why, else it is tuned.
TEST_F(HandlesOnGpu, ACodeWithoutRoomForAClusterSaysSo) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  const Ending ending = tune(
      "block = 128\ngrid = 480\ndynamic_shared_bytes = 204800\nargs.out = { buffer = \"480 * 128\" }\ncluster = 16\n",
      clustered(16, ""));
  EXPECT_TRUE(ending.exit_code == 0 || holds(ending.err, "no room for one cluster of 16 x 1 x 1 blocks"))
      << ending.out << ending.err;
}

TEST_F(HandlesOnGpu, VerifyLaunchesTheSameHandlesAgain) {
  skip_before_sm_90();
  if (IsSkipped()) return;
  expect_tuned(R"toml(kernel = "k"
block = 32
grid = [2, 64]
cluster = [2, 1]
args.image = { texture = [64, 64], type = "float", init = "iota", filter = "linear" }
args.out = { buffer = 4096 }
)toml",
               kFiltered);
  const Ending verified = program_.run({"verify", "k"});
  EXPECT_FALSE(holds(verified.err, "not the one that was tuned")) << verified.err;
  EXPECT_FALSE(holds(verified.err, "image")) << verified.err;
}

}  // namespace
}  // namespace regtune
