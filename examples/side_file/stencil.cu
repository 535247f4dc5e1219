// A smoothing step on a grid of cells: each cell moves towards the mean of the 24 others of its 5 x 5 neighbourhood.
// Nothing here knows of regtune: how the kernel is launched stands in stencil.regtune.toml beside this file.
__device__ float weight(int dx, int dy) { return 1.0f / static_cast<float>(dx * dx + dy * dy); }

__global__ void smooth(const float* __restrict__ in, float* __restrict__ out, int width, int height, float rate) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  float weights = 0.0f;
#pragma unroll
  for (int dy = -2; dy <= 2; ++dy) {
#pragma unroll
    for (int dx = -2; dx <= 2; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const int column = min(max(x + dx, 0), width - 1);
      const int row = min(max(y + dy, 0), height - 1);
      sum += weight(dx, dy) * in[static_cast<long>(row) * width + column];
      weights += weight(dx, dy);
    }
  }
  const float here = in[static_cast<long>(y) * width + x];
  out[static_cast<long>(y) * width + x] = here + rate * (sum / weights - here);
}
