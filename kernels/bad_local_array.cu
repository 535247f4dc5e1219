// Verdict it should earn: no gain. Eight floats under a run-time index: a stack frame of 32 bytes, zero spills, any
// cap. A stack frame without a spill is the mark of an indexed local array. More registers cannot help, so the answer
// is to leave the budget alone and to change the source.
/*regtune
kernel = "badLocalArray"
sizes = { n = 16777216 }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
pick = { buffer = "n", init = "iota" }
out = { buffer = "n", output = true }
n = "n"
*/
__global__ void badLocalArray(const float* in, const unsigned* pick, float* out, unsigned long n) {
  const unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float bin[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) bin[k] = 0.0f;
  unsigned bits = pick[i];
  for (int item = 0; item < 10; ++item) {
    bin[bits & 7] += in[i] + item;
    bits >>= 3;
  }
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 8; ++k) total += bin[k] * (k + 1);
  out[i] = total;
}
