// Verdict it should earn: improved. The compiler's own choice (56 registers on sm_90, no spill) is not the fastest
// code. Twenty-two decaying terms and their rates stay live through the loop; every level feeds all of them. Caps from
// 58 up give other codes of 56 to 63 registers without a spill, caps under 56 spill, and cap 24 spills heavily.
/*regtune
kernel = "decayWide"
sizes = { n = 16777216 }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
__global__ void decayWide(const float* in, float* out, unsigned long n) {
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
