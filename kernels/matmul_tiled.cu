// Verdict it should earn: 1.006x at most, on an H200. Shared-memory tiles, one accumulator: few registers do.
// C = A * B, row by row; A is m x k, B is k x n. Any size: the edges of a tile are filled with zeros.
/*regtune
kernel = "matmulTiled"
sizes = { m = 1024, n = 1024, k = 1024 }
block = "16x16"
grid = "ceil_div(n, block_x), ceil_div(m, block_y)"
[args]
a = { buffer = "m * k", init = "uniform(-1, 1)" }
b = { buffer = "k * n", init = "uniform(-1, 1)" }
c = { buffer = "m * n", output = true }
m = "m"
n = "n"
k = "k"
*/
constexpr int tile = 16;  // the block must be tile x tile

__global__ void matmulTiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float a_tile[tile][tile];
  __shared__ float b_tile[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int column = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += tile) {
    const int a_column = start + threadIdx.x;
    const int b_row = start + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < m && a_column < k ? a[(long)row * k + a_column] : 0.0f;
    b_tile[threadIdx.y][threadIdx.x] = b_row < k && column < n ? b[(long)b_row * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[(long)row * n + column] = sum;
}
