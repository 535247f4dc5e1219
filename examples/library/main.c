/* Runs the library's kernel on N numbers: main KERNELS/decay_wide.cu N [CACHE]. Ends with 20 where there is no GPU. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "decay.h"

enum { NO_GPU = 20 };

static void* driver;

static CUresult call(const char* name, void* function) {
  *(void**)function = dlsym(driver, name);
  return *(void**)function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

int main(int argc, char** argv) {
  const unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
  if (n == 0) return fprintf(stderr, "usage: main KERNELS/decay_wide.cu N [CACHE]\n"), 2;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  CUresult (*init)(unsigned);
  CUresult (*retain)(CUcontext*, CUdevice);
  CUresult (*make_current)(CUcontext);
  CUresult (*allocate)(CUdeviceptr*, size_t);
  CUresult (*to_device)(CUdeviceptr, const void*, size_t);
  CUresult (*to_host)(void*, CUdeviceptr, size_t);
  CUcontext context;
  if (!driver || call("cuInit", &init) || call("cuDevicePrimaryCtxRetain", &retain) ||
      call("cuCtxSetCurrent", &make_current) || call("cuMemAlloc_v2", &allocate) ||
      call("cuMemcpyHtoD_v2", &to_device) || call("cuMemcpyDtoH_v2", &to_host) || init(0) || retain(&context, 0) ||
      make_current(context))
    return fprintf(stderr, "decay: there is no GPU on this machine\n"), NO_GPU;

  float* values = malloc(n * sizeof *values);
  CUdeviceptr in = 0, out = 0;
  if (!values || allocate(&in, n * sizeof *values) || allocate(&out, n * sizeof *values))
    return fprintf(stderr, "decay: not enough memory for %lu numbers\n", n), 1;
  for (unsigned long i = 0; i < n; ++i) values[i] = (float)(i % 1000) / 1000.0f;
  to_device(in, values, n * sizeof *values);
  for (int run = 0; run < 2; ++run) { /* the second time nothing is looked up, compiled or loaded */
    const char* failure = decay(argv[1], argc > 3 ? argv[3] : NULL, in, out, n, run == 0);
    if (failure) return fprintf(stderr, "%s\n", failure), 1;
  }
  if (to_host(values, out, n * sizeof *values)) return fprintf(stderr, "decay: the kernel failed\n"), 1;
  double sum = 0;
  for (unsigned long i = 0; i < n; ++i) sum += values[i];
  printf("mean of %lu results: %.6f\n", n, sum / (double)n);
  free(values);
  return 0;
}
