// Verdict it should earn: 1.16x by __maxnreg__(54) on an H200. It has more registers under a cap than without. Gravity
// between all pairs of n bodies: x, y, z and the mass in w. Each block passes over all bodies in shared-memory tiles of
// its own size; the sum runs in the order of the bodies, so that it is the same in every launch.
/*regtune
kernel = "nbody"
sizes = { n = 65536 }
block = 256
grid = "ceil_div(n, block)"
[args]
body = { buffer = "n", init = "uniform(0, 1)" }
acceleration = { buffer = "n", output = true }
softening = 0.0001
n = "n"
*/
constexpr int largest_block = 1024;

__global__ void nbody(const float4* body, float4* acceleration, float softening, int n) {
  __shared__ float4 tile[largest_block];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = body[min(i, n - 1)];
  float3 sum = {0.0f, 0.0f, 0.0f};
  for (int start = 0; start < n; start += blockDim.x) {
    const int next = start + threadIdx.x;
    tile[threadIdx.x] = next < n ? body[next] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);  // no mass, no pull
    __syncthreads();
#pragma unroll 32
    for (int j = 0; j < blockDim.x; ++j) {
      const float4 other = tile[j];
      const float x = other.x - own.x, y = other.y - own.y, z = other.z - own.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + softening);
      const float pull = other.w * inverse * inverse * inverse;
      sum.x += pull * x;
      sum.y += pull * y;
      sum.z += pull * z;
    }
    __syncthreads();
  }
  if (i < n) acceleration[i] = make_float4(sum.x, sum.y, sum.z, 0.0f);
}
