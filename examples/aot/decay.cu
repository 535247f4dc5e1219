// A program that nvcc builds, with the bound that regtune measured for the GPU at hand: build.sh makes the header.
#include <cstdio>

#define REGTUNE_ELSE_decayBounded __launch_bounds__(256, 5)  // on all other GPUs, as it was written by hand
#include "tuned_bounds.h"

__global__ void REGTUNE_BOUNDS_decayBounded decayBounded(const float* in, float* out, size_t n) {
  const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float state[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) state[k] = in[i] + k;
  for (int step = 0; step < 100; ++step) {
#pragma unroll
    for (int k = 0; k < 32; ++k) state[k] = state[k] * 0.99f + state[(k + 1) % 32] * 0.01f;
  }
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += state[k];
  out[i] = sum;
}

int main() {
  const size_t n = 1 << 20;
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, n * sizeof(float)) != cudaSuccess || cudaMalloc(&out, n * sizeof(float)) != cudaSuccess) return 1;
  cudaMemset(in, 0, n * sizeof(float));
  decayBounded<<<(n + 255) / 256, 256>>>(in, out, n);
  cudaFuncAttributes attributes;
  cudaFuncGetAttributes(&attributes, decayBounded);
  std::printf("%d registers, blocks of at most %d threads: %s\n", attributes.numRegs, attributes.maxThreadsPerBlock,
              cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
