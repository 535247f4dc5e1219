#pragma once
// The smallest kernel worth tuning, and its launch, for tests of the built program. FACTOR is the test's to define.

namespace regtune {

inline constexpr const char* kScale = R"(extern "C" __global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * FACTOR;
}
)";

inline constexpr const char* kScaleLaunch = R"toml(sizes = { n = 1024 }
block = 128
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n" }
out = { buffer = "n", output = true }
n = "n"
)toml";

}  // namespace regtune
