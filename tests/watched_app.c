/* A program as somebody else wrote it, for the tests of regtune run: it opens CUDA by itself, compiles a kernel by
 * NVRTC while it runs, launches it, and prints what its memory holds. Arguments: LAUNCHES [exit|_exit|fork|code N].
 * WATCHED_ELEMENTS=N: so many numbers in its arrays. WATCHED_COUNTS=1: the kernel counts its launches in a variable of
 * its module, which is printed too. */
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of many registers, so that caps give several codes. */
static const char kSource[] =
    "#include \"factor.h\"\n"
    "#ifdef COUNTS\n"
    "__device__ unsigned counter;\n"
    "#endif\n"
    "extern \"C\" __global__ void scale(const float* in, float* out, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  float sum = 0;\n"
    "#pragma unroll\n"
    "  for (int k = 0; k < 12; ++k) sum = sum * in[(i + k * 7) % n] + in[(i * 3 + k) % n];\n"
    "#ifdef COUNTS\n"
    "  if (i == 0) atomicAdd(&counter, 1u);\n"
    "#endif\n"
    "  if (i < n) out[i] = sum * FACTOR;\n"
    "}\n";

static void* library(const char* name) {
  void* found = dlopen(name, RTLD_NOW);
  if (!found) fprintf(stderr, "%s\n", dlerror()), exit(9);
  return found;
}

/* By the name that the header gives it: cuMemAlloc is cuMemAlloc_v2. */
#define SPELL(name) #name
#define EXPORTED(name) SPELL(name)
#define CALL(library, name) ((__typeof__(&name))dlsym(library, EXPORTED(name)))

static void run(int launches) {
  void* cuda = library("libcuda.so.1");
  void* nvrtc = library(getenv("WATCHED_NVRTC"));
  const char* text = "#define FACTOR 2.0f\n";
  const char* header = "factor.h";
  const char* options[] = {"-arch=sm_90", getenv("WATCHED_COUNTS") ? "-DCOUNTS=1" : "-DUNUSED=1"};
  nvrtcProgram program;
  CALL(nvrtc, nvrtcCreateProgram)(&program, kSource, "scale.cu", 1, &text, &header);
  if (CALL(nvrtc, nvrtcCompileProgram)(program, 2, options) != NVRTC_SUCCESS) exit(8);
  size_t bytes = 0;
  CALL(nvrtc, nvrtcGetCUBINSize)(program, &bytes);
  char* cubin = malloc(bytes);
  CALL(nvrtc, nvrtcGetCUBIN)(program, cubin);
  CALL(nvrtc, nvrtcDestroyProgram)(&program);
  CUmodule module;
  CUfunction function;
  CUdeviceptr in, out;
  const char* elements = getenv("WATCHED_ELEMENTS");
  int n = elements ? atoi(elements) : 1000;
  CUcontext context;
  CALL(cuda, cuInit)(0);
  CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0);
  CALL(cuda, cuCtxSetCurrent)(context);
  CALL(cuda, cuModuleLoadData)(&module, cubin);
  CALL(cuda, cuModuleGetFunction)(&function, module, "scale");
  CALL(cuda, cuMemAlloc)(&in, (size_t)n * 4);
  CALL(cuda, cuMemAlloc)(&out, (size_t)n * 4);
  CALL(cuda, cuMemsetD8Async)(in, 1, (size_t)n * 4, NULL);
  CALL(cuda, cuMemsetD8Async)(out, 0, (size_t)n * 4, NULL);
  void* parameters[] = {&in, &out, &n};
  for (int i = 0; i < launches; ++i)
    CALL(cuda, cuLaunchKernel)(function, 4, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
  unsigned char* memory = malloc((size_t)n * 8);
  CALL(cuda, cuMemcpyDtoH)(memory, in, (size_t)n * 4);
  CALL(cuda, cuMemcpyDtoH)(memory + (size_t)n * 4, out, (size_t)n * 4);
  unsigned sum = 0;
  for (int i = 0; i < n * 8; ++i) sum = sum * 31 + memory[i];
  printf("memory %u\n", sum);
  unsigned counter = 0;
  size_t counter_bytes = 0;
  CUdeviceptr variable = 0;
  if (getenv("WATCHED_COUNTS") &&
      CALL(cuda, cuModuleGetGlobal)(&variable, &counter_bytes, module, "counter") == CUDA_SUCCESS &&
      CALL(cuda, cuMemcpyDtoH)(&counter, variable, sizeof counter) == CUDA_SUCCESS)
    printf("counter %u\n", counter);
  fflush(stdout);
}

int main(int argc, char** argv) {
  const char* how = argc > 2 ? argv[2] : "exit";
  if (argc < 2) return puts("nothing to do") < 0;
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      run(atoi(argv[1]));
      _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
  }
  run(atoi(argv[1]));
  if (strcmp(how, "_exit") == 0) _exit(0);
  return strcmp(how, "code") == 0 ? atoi(argv[3]) : 0;
}
