/* A program as somebody else wrote it, for the tests of regtune run: it opens CUDA by itself, compiles a kernel by
 * NVRTC while it runs, launches it, and prints what its memory holds. Arguments: LAUNCHES [exit|_exit|code N|HOW], HOW:
 * fork: all of it in a child; between: a child comes and goes between two halves; threads: in 4 threads at once,
 * LAUNCHES each; streams: on two streams in turns, and prints how many each had; contexts: in a context of its own and
 * then again. WATCHED_ELEMENTS=N: so many numbers in its arrays. WATCHED_COUNTS=1: the kernel counts its launches in a
 * variable of its module, which is printed too. WATCHED_POINTERS=host: the kernel is given memory of the host's; table:
 * a table of addresses. WATCHED_IMAGE=FILE: the kernel is loaded from
 * that file's bytes; WATCHED_LOADS=file: by the file's name. */
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
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
static const char kSourceOfTable[] =
    "extern \"C\" __global__ void scale(const float* const* in, float* out, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) out[i] = in[0][i];\n"
    "}\n";

static const char* how = "exit";
static int is_how(const char* word) {
  return strcmp(how, word) == 0;
}
static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

/* What WATCHED_IMAGE names, in memory of the program's own. */
static char* image_file(const char* name) {
  FILE* file = fopen(name, "rb");
  char* bytes = calloc(1 << 20, 1);
  if (!file || !bytes || fread(bytes, 1, (1 << 20) - 64, file) == 0) exit(7);
  fclose(file);
  return bytes;
}

static void* library(const char* name) {
  void* found = dlopen(name, RTLD_NOW);
  if (!found) fprintf(stderr, "%s\n", dlerror()), exit(9);
  return found;
}

/* By the name that the header gives it: cuMemAlloc is cuMemAlloc_v2. */
#define SPELL(name) #name
#define EXPORTED(name) SPELL(name)
#define CALL(library, name) ((__typeof__(&name))dlsym(library, EXPORTED(name)))

typedef struct {
  void* cuda;
  CUcontext context;
  CUfunction function;
  void** parameters;
  CUstream streams[2];
  int launches;
} Launches;

static void* launch_all(void* given) {
  const Launches* all = given;
  CALL(all->cuda, cuCtxSetCurrent)(all->context);
  for (int i = 0; i < all->launches; ++i)
    if (CALL(all->cuda, cuLaunchKernel)(all->function, 4, 1, 1, 256, 1, 1, 0, all->streams[i % 2], all->parameters,
                                        NULL) != CUDA_SUCCESS)
      exit(6);
  return NULL;
}

static void launch(Launches* all) {
  void* cuda = all->cuda;
  pthread_t threads[4];
  for (int i = 0; is_how("threads") && i < 4; ++i) pthread_create(&threads[i], NULL, &launch_all, all);
  for (int i = 0; is_how("threads") && i < 4; ++i) pthread_join(threads[i], NULL);
  if (is_how("threads")) return;
  for (int i = 0; is_how("streams") && i < 2; ++i) CALL(cuda, cuStreamCreate)(&all->streams[i], 0);
  launch_all(all);
  if (is_how("between")) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, NULL, 0);
    launch_all(all);
  }
  /* The simulated driver counts. */
  int (*launches_on)(CUstream) = (int (*)(CUstream))dlsym(cuda, "fake_gpu_launches_on");
  for (int i = 0; is_how("streams") && launches_on && i < 2; ++i)
    printf("stream %d: %d launches\n", i, launches_on(all->streams[i]));
}

static CUcontext context_of_its_own(void* cuda) {
  CUresult (*create)(CUcontext*, unsigned, CUdevice) =
      (CUresult(*)(CUcontext*, unsigned, CUdevice))dlsym(cuda, "cuCtxCreate_v2");
  CUcontext context = NULL;
  if (create(&context, 0, 0) != CUDA_SUCCESS) exit(5);
  return context;
}

static void run(int launches, int has_own_context) {
  void* cuda = library("libcuda.so.1");
  void* nvrtc = library(getenv("WATCHED_NVRTC"));
  const char* image = getenv("WATCHED_IMAGE");
  const char* loads = getenv("WATCHED_LOADS");
  const char* text = "#define FACTOR 2.0f\n";
  const char* header = "factor.h";
  const char* options[] = {"-arch=sm_90", getenv("WATCHED_COUNTS") ? "-DCOUNTS=1" : "-DUNUSED=1"};
  nvrtcProgram program;
  const int has_table = strcmp(setting("WATCHED_POINTERS"), "table") == 0;
  CALL(nvrtc, nvrtcCreateProgram)(&program, has_table ? kSourceOfTable : kSource, "scale.cu", 1, &text, &header);
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
  if (has_own_context)
    context = context_of_its_own(cuda);
  else
    CALL(cuda, cuDevicePrimaryCtxRetain)(&context, 0);
  CALL(cuda, cuCtxSetCurrent)(context);
  if (image && loads)
    CALL(cuda, cuModuleLoad)(&module, image);
  else
    CALL(cuda, cuModuleLoadData)(&module, image ? image_file(image) : cubin);
  CALL(cuda, cuModuleGetFunction)(&function, module, "scale");
  CALL(cuda, cuMemAlloc)(&in, (size_t)n * 4);
  CALL(cuda, cuMemAlloc)(&out, (size_t)n * 4);
  CALL(cuda, cuMemsetD8Async)(in, 1, (size_t)n * 4, NULL);
  CALL(cuda, cuMemsetD8Async)(out, 0, (size_t)n * 4, NULL);
  if (has_table) CALL(cuda, cuMemcpyHtoD)(in, &out, sizeof out);
  CUdeviceptr given = strcmp(setting("WATCHED_POINTERS"), "host") == 0 ? (CUdeviceptr)calloc((size_t)n, 4) : in;
  void* parameters[] = {&given, &out, &n};
  launch(&(Launches){cuda, context, function, parameters, {NULL, NULL}, launches});
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
  if (argc > 2) how = argv[2];
  if (argc < 2) return puts("nothing to do") < 0;
  if (is_how("fork")) {
    const pid_t child = fork();
    if (child == 0) {
      run(atoi(argv[1]), 0);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
  }
  if (is_how("contexts")) run(atoi(argv[1]), 1);
  run(atoi(argv[1]), 0);
  if (is_how("_exit")) _exit(0);
  return is_how("code") ? atoi(argv[3]) : 0;
}
