// What real compilations say of clusters, textures and tensor maps. Needs NVRTC, no GPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "cubin.hpp"
#include "nvrtc_compile.hpp"
#include "signature.hpp"

namespace regtune {
namespace {

class LaunchedHandles : public NvrtcTest {
 protected:
  KernelSignature signature_of(const std::string& source) {
    const CompilerReply reply = reply_to(source, {"--gpu-architecture=sm_90"});
    EXPECT_TRUE(reply.compiled) << reply.log;
    return kernel_signature(read_cubin(reply.cubin).kernels.at(0), source);
  }
};

TEST_F(LaunchedHandles, TheCodeSaysWhatClustersItsSourceDeclares) {
  const KernelSignature fixed =
      signature_of("__global__ void __cluster_dims__(4, 2, 1) k(float* p) { p[threadIdx.x] = 1; }");
  EXPECT_EQ(fixed.blocks_per_cluster, (std::array{4, 2, 1}));
  const KernelSignature bounded =
      signature_of("__global__ void __launch_bounds__(128, 1, 4) k(float* p) { p[threadIdx.x] = 1; }");
  EXPECT_EQ(bounded.blocks_per_cluster, (std::array{0, 0, 0}));
  EXPECT_EQ(bounded.max_blocks_per_cluster, 4);
  const KernelSignature plain = signature_of("__global__ void k(float* p) { p[threadIdx.x] = 1; }");
  EXPECT_EQ(plain.blocks_per_cluster, (std::array{0, 0, 0}));
  EXPECT_EQ(plain.max_blocks_per_cluster, 0);
}

TEST_F(LaunchedHandles, ATextureObjectIsKnownByItsName) {
  const KernelSignature signature = signature_of(
      "__global__ void k(float* out, cudaTextureObject_t image) { out[threadIdx.x] = tex2D<float>(image, 1, 2); }");
  ASSERT_EQ(signature.parameters.size(), 2u);
  EXPECT_EQ(signature.parameters[1].type, "cudaTextureObject_t");
  EXPECT_EQ(signature.parameters[1].size_bytes, 8);
}

TEST_F(LaunchedHandles, ATensorMapIsKnownByItsTypeAndItsSize) {
  const KernelSignature signature = signature_of(
      "struct alignas(64) CUtensorMap { unsigned long long opaque[16]; };\n"
      "__global__ void k(float* out, const __grid_constant__ CUtensorMap map) {\n"
      "  asm volatile(\"prefetch.tensormap [%0];\" :: \"l\"(&map));\n  out[threadIdx.x] = 1;\n}");
  ASSERT_EQ(signature.parameters.size(), 2u);
  EXPECT_EQ(signature.parameters[1].type, "CUtensorMap");
  EXPECT_EQ(signature.parameters[1].name, "map");
  EXPECT_EQ(signature.parameters[1].size_bytes, 128);
  EXPECT_GE(signature.parameters[1].offset_bytes, 8) << "aligned in the constant bank, where parameters begin at 0x210";
}

}  // namespace
}  // namespace regtune
