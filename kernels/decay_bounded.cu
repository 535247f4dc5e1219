// Verdict it should earn: 3.98x by __launch_bounds__(256) on an H200. Its own bound asks for 5 blocks: 48 registers on
// sm_90, and spills. The kernel of decay_wide.cu with a hand-set budget that has aged.
/*regtune
kernel = "decayBounded"
sizes = { n = 16777216 }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
__global__ void __launch_bounds__(256, 5) decayBounded(const float* in, float* out, unsigned long n) {
  const unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float term[24], rate[24];
#pragma unroll
  for (int k = 0; k < 24; ++k) {
    term[k] = x + 0.125f * k;
    rate[k] = 0.004f * (k + 1) * (1.0f + x);
  }
#pragma unroll 2
  for (int step = 0; step < 48; ++step) {
    float flow = 0.0f;
#pragma unroll
    for (int k = 0; k < 24; ++k) {
      const float lost = rate[k] * term[k];
      term[k] = term[k] - lost + flow;
      flow = lost;
    }
    term[0] += flow;
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 24; ++k) total += term[k];
  out[i] = total;
}
