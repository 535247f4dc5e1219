// Verdict it should earn: improved. The declared bound asks for five blocks per SM, 48 registers on sm_90, and spills.
// The kernel of decay_wide.cu with a hand-set budget that has aged: without the bound nothing spills.
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
  float term[22], rate[22];
#pragma unroll
  for (int k = 0; k < 22; ++k) {
    term[k] = x + 0.125f * k;
    rate[k] = 1.0f / (1.0f + 0.01f * (k + 1) * (1.0f + x));
  }
  float level = x;
#pragma unroll 4
  for (int step = 0; step < 48; ++step) {
    float next = 0.0f;
#pragma unroll
    for (int k = 0; k < 22; ++k) {
      term[k] = term[k] * rate[k] + level;
      next += term[k] * rate[(k + 1) % 22];
    }
    level = next * 0.005f;
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 22; ++k) total += term[k];
  out[i] = total;
}
