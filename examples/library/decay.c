#include "decay.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <regtune_jit.h>
#include <stdio.h>

static regtune_jit* jit;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static regtune_jit* opened(const char* cache) {
  pthread_mutex_lock(&opening);
  if (!jit) {
    regtune_options options = REGTUNE_OPTIONS;
    options.file = cache;
    regtune_jit_open(&options, &jit);
  }
  pthread_mutex_unlock(&opening);
  return jit;
}

const char* decay(const char* source_file, const char* cache, unsigned long long in, unsigned long long out,
                  unsigned long n, int talk) {
  regtune_jit_source source = REGTUNE_JIT_SOURCE;
  source.path = source_file;
  const regtune_size size = {"n", (int64_t)n};
  regtune_key key = REGTUNE_KEY;
  key.kernel = "decayWide";
  key.sizes = &size;
  key.size_count = 1;
  regtune_jit_kernel kernel = REGTUNE_JIT_KERNEL;
  const regtune_jit_status status = regtune_jit_load(opened(cache), &source, &key, &kernel);
  if (status != REGTUNE_JIT_OK) return *regtune_jit_message() ? regtune_jit_message() : regtune_jit_status_text(status);
  if (talk) {
    static const char* const origins[] = {"", "the code that was timed", "compiled with what is stored",
                                          "compiled as it is"};
    printf("decayWide: %s", origins[kernel.origin]);
    if (kernel.looked_up == REGTUNE_OK)
      printf(" (%s%s, %.2fx, %s)", kernel.answer.best.option, kernel.answer.best.attribute, kernel.answer.best.speedup,
             regtune_match_text(kernel.answer.match));
    printf("\n");
  }

  void* driver = dlopen("libcuda.so.1", RTLD_NOW); /* is there: the function was loaded by it */
  CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**,
                     void**);
  *(void**)&launch = dlsym(driver, "cuLaunchKernel");
  const unsigned block = kernel.block[0] ? kernel.block[0] : 256;
  CUdeviceptr from = in, to = out;
  void* parameters[] = {&from, &to, &n};
  if (launch(kernel.function, (unsigned)((n + block - 1) / block), 1, 1, block, 1, 1,
             (unsigned)kernel.dynamic_shared_bytes, NULL, parameters, NULL) != CUDA_SUCCESS)
    return "decayWide: the launch failed";
  return NULL;
}
