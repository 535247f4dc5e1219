// Verdict it should earn: 1.25x by a cap of 87 on an H200. 80 registers on sm_90: a tile of 8 x 4 sums in each thread.
// C = A * B, row by row; A is m x k, B is k x n. m must be a multiple of 8, n of 4, k of 2. No shared memory: the rows
// of A are broadcast within a warp, the columns of B are read 16 bytes a thread, and both come from the caches.
/*regtune
kernel = "matmulRegisters"
sizes = { m = 2048, n = 2048, k = 2048 }
block = "32x8"
grid = "ceil_div(n // 4, block_x), ceil_div(m // 8, block_y)"
[args]
a = { buffer = "m * k // 2", init = "uniform(-1, 1)" }
b = { buffer = "k * n // 4", init = "uniform(-1, 1)" }
c = { buffer = "m * n // 4", output = true }
m = "m"
n = "n"
k = "k"
*/
__global__ void matmulRegisters(const float2* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ c,
                                int m, int n, int k) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;  // of 4 floats
  const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
  const int columns = n / 4;
  if (column >= columns || row >= m) return;
  float4 sum[8];
#pragma unroll
  for (int r = 0; r < 8; ++r) sum[r] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
  for (int i = 0; i < k; i += 2) {
    const float4 upper = b[(long)i * columns + column];
    const float4 lower = b[(long)(i + 1) * columns + column];
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      const float2 left = a[((long)(row + r) * k + i) / 2];
      sum[r].x += left.x * upper.x + left.y * lower.x;
      sum[r].y += left.x * upper.y + left.y * lower.y;
      sum[r].z += left.x * upper.z + left.y * lower.z;
      sum[r].w += left.x * upper.w + left.y * lower.w;
    }
  }
#pragma unroll
  for (int r = 0; r < 8; ++r) c[(long)(row + r) * columns + column] = sum[r];
}
