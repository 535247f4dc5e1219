// Verdict it should earn: no gain. A stack frame of 128 bytes or more in every variant: the source has to change.
// The kernel of decay_wide.cu with one more array, leak, whose index is known only at run time: registers cannot be
// indexed, so the array lives in local memory whatever the cap.
/*regtune
kernel = "decayIndexed"
sizes = { n = 16777216 }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
__global__ void decayIndexed(const float* in, float* out, unsigned long n) {
  const unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float term[24], rate[24];
#pragma unroll
  for (int k = 0; k < 24; ++k) {
    term[k] = x + 0.125f * k;
    rate[k] = 0.004f * (k + 1) * (1.0f + x);
  }
  float leak[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) leak[k] = 1.0f - 0.01f * k * x;
#pragma unroll 2
  for (int step = 0; step < 48; ++step) {
    float flow = 0.0f;
#pragma unroll
    for (int k = 0; k < 24; ++k) {
      const float lost = rate[k] * term[k];
      term[k] = term[k] - lost + flow;
      flow = lost;
    }
    const int now = (i + step) & 31;
    term[0] += flow * leak[now];
    leak[now] *= 0.99f;
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 24; ++k) total += term[k];
  out[i] = total;
}
