// Verdict it should earn: no gain. Two loads, one fma, one store: memory bound, and far below any register limit.
/*regtune
kernel = "saxpy"
sizes = { n = 16777216 }
block = 256
grid = "ceil_div(n, block)"
[args]
n = "n"
a = 2.5
x = { buffer = "n", init = "uniform(0, 1)" }
y = { buffer = "n", init = "uniform(0, 1)", output = true }
*/
extern "C" __global__ void saxpy(unsigned long n, float a, const float* __restrict__ x, float* __restrict__ y) {
  const unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
