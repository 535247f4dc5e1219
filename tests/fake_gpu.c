/* A GPU for machines without one, as far as a tuning needs it: REGTUNE_CUDA names this library. Memory is the host's,
 * a kernel computes nothing, so that every output is the reference's, and how long it takes follows from its machine
 * code: between 1 and 2 ms of a clock that only launches move. FAKE_GPU_SLEEP_US=N: each of them really takes that
 * long. FAKE_GPU_FREE_MIB=N: so much memory is free. Kernels that do something, by their names: regtune's own that look
 * at memory, and fake_add and its like, which stand for an author's code and for wrong ones. FAKE_GPU_PARAMETERS=8,8,4:
 * how large the parameters are that a program's kernels take. FAKE_GPU_COUNTER=NAME: each module has a variable of that
 * name, of 4 bytes, in which the program's kernels count their launches; one that finds 3 there takes 3 times as long
 * more. */
#define _GNU_SOURCE
#include <cuda.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FAKE __attribute__((visibility("default")))

typedef struct {
  double ms; /* of a launch */
  CUcontext context;
  unsigned char variable[16]; /* fake_variable, of 8 bytes, or the counter, of 4, or fake_table, of all */
} Module;

typedef struct {
  double ms;
  CUmodule module;
  char name[96];
} Function;

static int kept = 0; /* allocations, modules and events that nobody has freed */
FAKE int fake_gpu_kept(void) {
  return kept;
}

static double clock_ms = 0;
static unsigned launches = 0;

typedef struct {
  int launches;
} Stream;
FAKE int fake_gpu_launches_on(CUstream stream) {
  return ((Stream*)stream)->launches;
}

/* What belongs to one context is of no use in another, as on a GPU. The device's own is there without being asked for.
 */
static const CUcontext kPrimary = (CUcontext)1;
static __thread CUcontext current = (CUcontext)1;

FAKE CUresult cuInit(unsigned flags) {
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  (void)flags;
  return visible && !*visible ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
FAKE CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
/* NVRTC asks for a table of the driver's own functions where it finds a driver. Its first word is its size: empty. */
FAKE CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  static const size_t empty[] = {sizeof(size_t)};
  (void)id;
  *table = empty;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE CUresult cuDeviceGetName(char* name, int capacity, CUdevice device) {
  (void)device;
  snprintf(name, (size_t)capacity, "NVIDIA Fake 100");
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  (void)device;
  *bytes = (size_t)1 << 30;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGetPCIBusId(char* id, int capacity, CUdevice device) {
  (void)device;
  snprintf(id, (size_t)capacity, "0000:01:00.0");
  return CUDA_SUCCESS;
}
FAKE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  static const struct {
    CUdevice_attribute which;
    int value;
  } known[] = {{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
               {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
               {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 1 << 20},
               {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
               {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
               {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
               {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
               {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
               {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
               {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
               {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
               {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024}};
  (void)device;
  *value = 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].which == which) *value = known[i].value;
  return CUDA_SUCCESS;
}
FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  (void)device;
  *context = kPrimary;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  static uintptr_t last = 1;
  (void)flags, (void)device;
  *context = current = (CUcontext)++last;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxSynchronize(void) {
  return CUDA_SUCCESS;
}

FAKE CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  *id = (uintptr_t)context;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

FAKE CUresult cuMemGetInfo(size_t* free_bytes, size_t* total) {
  const char* free_mib = getenv("FAKE_GPU_FREE_MIB");
  *total = (size_t)1 << 30;
  *free_bytes = free_mib ? (size_t)atoi(free_mib) << 20 : *total;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  void* memory = bytes <= (size_t)1 << 30 ? calloc(bytes, 1) : NULL;
  *address = (CUdeviceptr)memory;
  kept += memory != NULL;
  return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
FAKE CUresult cuMemFree(CUdeviceptr address) {
  free((void*)address);
  --kept;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* kind,
                                            CUmemAllocationGranularity_flags flags) {
  (void)kind, (void)flags;
  *bytes = (size_t)2 << 20;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                  unsigned long long flags) {
  void* got = mmap((void*)wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  (void)alignment, (void)flags;
  if (got == MAP_FAILED) got = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *address = (CUdeviceptr)got;
  return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
FAKE CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return munmap((void*)address, bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuMemCreate(CUmemGenericAllocationHandle* memory, size_t bytes, const CUmemAllocationProp* kind,
                          unsigned long long flags) {
  (void)kind, (void)flags;
  *memory = bytes;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle memory,
                       unsigned long long flags) {
  (void)address, (void)offset, (void)flags;
  return memory == bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  (void)access, (void)count;
  return mprotect((void*)address, bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuMemRelease(CUmemGenericAllocationHandle memory) {
  (void)memory;
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemcpyHtoD(CUdeviceptr target, const void* source, size_t bytes) {
  memcpy((void*)target, source, bytes);
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemcpyDtoH(void* target, CUdeviceptr source, size_t bytes) {
  memcpy(target, (void*)source, bytes);
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  (void)stream;
  memmove((void*)target, (void*)source, bytes);
  return CUDA_SUCCESS;
}
FAKE CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream) {
  (void)stream;
  memset((void*)target, value, bytes);
  return CUDA_SUCCESS;
}

FAKE CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const Elf64_Ehdr* header = image;
  const int is_elf = memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
  const int is_fat_binary = memcmp(image, "\x50\xed\x55\xba", 4) == 0; /* the driver takes its own pick of it */
  const size_t bytes = is_elf ? header->e_shoff : is_fat_binary ? 16 : strlen(image);
  uint64_t hash = 1469598103934665603ull;
  Module* made = calloc(1, sizeof *made);
  if (!made || (!is_elf && !is_fat_binary && !strstr(image, ".version"))) return CUDA_ERROR_INVALID_IMAGE;
  for (const unsigned char* byte = image; byte < (const unsigned char*)image + bytes; ++byte)
    hash = (hash ^ *byte) * 1099511628211ull;
  made->context = current;
  made->ms = 1 + (double)(hash >> 40) / (1 << 24);
  *module = (CUmodule)made;
  ++kept;
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleLoad(CUmodule* module, const char* name) {
  char* image = calloc(1 << 20, 1);
  FILE* file = fopen(name, "rb");
  CUresult code = CUDA_ERROR_FILE_NOT_FOUND;
  if (file && image && fread(image, 1, (1 << 20) - 1, file) > 0) code = cuModuleLoadData(module, image);
  if (file) fclose(file);
  free(image);
  return code;
}
FAKE CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  Function* found = malloc(sizeof *found);
  found->ms = strstr(name, "regtune_") ? 0 : ((Module*)module)->ms;
  found->module = module;
  snprintf(found->name, sizeof found->name, "%s", name);
  *function = (CUfunction)found;
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleUnload(CUmodule module) {
  free((void*)module);
  --kept;
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  const char* counter = getenv("FAKE_GPU_COUNTER");
  *address = (CUdeviceptr)((Module*)module)->variable;
  *bytes = strcmp(name, "fake_variable") == 0 ? 8 : strcmp(name, "fake_table") == 0 ? 16 : 4;
  return *bytes > 4 || (counter && strcmp(name, counter) == 0) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
FAKE CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = ((Function*)function)->name;
  return CUDA_SUCCESS;
}
FAKE CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
  *module = ((Function*)function)->module;
  return CUDA_SUCCESS;
}
FAKE CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  (void)name, (void)kernel;
  return CUDA_ERROR_INVALID_HANDLE;
}
FAKE CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  (void)function;
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
  return CUDA_SUCCESS;
}
FAKE CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  const char* sizes = getenv("FAKE_GPU_PARAMETERS");
  size_t end = 0;
  (void)function;
  for (size_t i = 0; sizes && *sizes; ++i) {
    char* behind = NULL;
    const size_t size = strtoul(sizes, &behind, 10);
    *bytes = size;
    *offset = (end + size - 1) / size * size;
    end = *offset + size;
    if (i == index) return CUDA_SUCCESS;
    sizes = *behind == ',' ? behind + 1 : behind;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  (void)flags;
  *stream = (CUstream)calloc(1, sizeof(Stream));
  return CUDA_SUCCESS;
}
FAKE CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  (void)stream;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  (void)value, (void)attribute, (void)address;
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuEventQuery(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
FAKE CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  (void)function;
  (void)attribute;
  (void)value;
  return CUDA_SUCCESS;
}
/* The parameters as device_code.cu has them. */
static void sum_up(void** parameters) {
  const unsigned long long* chunks = *(unsigned long long**)parameters[0];
  unsigned long long* sums = *(unsigned long long**)parameters[2];
  for (unsigned long long i = 0; i < *(unsigned long long*)parameters[1]; ++i) {
    const unsigned char* bytes = (const unsigned char*)chunks[2 * i];
    uint64_t hash = 1469598103934665603ull;
    for (unsigned long long k = 0; k < chunks[2 * i + 1]; ++k) hash = (hash ^ bytes[k]) * 1099511628211ull;
    sums[i] += hash;
  }
}
typedef struct {
  unsigned long long differing, first;
  double value, reference;
} Difference;
static double element(const void* elements, unsigned long long i, int floats) {
  return floats ? (double)((const float*)elements)[i] : (double)((const unsigned char*)elements)[i];
}
static void compare(void** parameters, int floats) {
  const void* values = *(void**)parameters[0];
  const void* references = *(void**)parameters[1];
  const unsigned long long count = *(unsigned long long*)parameters[2];
  Difference* found = *(Difference**)parameters[6];
  if (memcmp(values, references, count * (floats ? sizeof(float) : 1)) == 0) return;
  for (unsigned long long i = 0; i < count; ++i) {
    const double value = element(values, i, floats);
    const double reference = element(references, i, floats);
    const double apart = value > reference ? value - reference : reference - value;
    const double size = reference < 0 ? -reference : reference;
    if (apart <= *(double*)parameters[3] + *(double*)parameters[4] * size) continue;
    if (found->differing++ == 0) found->first = i, found->value = value, found->reference = reference;
  }
}
/* (float** table, unsigned long long place) */
static CUresult compute(const char* name, void** parameters) {
  float* data = **(float***)parameters[0];
  const unsigned long long place = *(unsigned long long*)parameters[1];
  if (strstr(name, "fault")) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (strstr(name, "set"))
    data[place] = 7;
  else
    data[place] += strstr(name, "two") ? 2 : strstr(name, "nearly") ? 1.001f : 1;
  if (strstr(name, "beside")) data[place + (1 << 18)] = -1;
  return CUDA_SUCCESS;
}
/* Counts in its module's variable; puts that variable's own address there; or puts what was nowhere before. */
static void write_variable(const char* name, void* variable) {
  static uint64_t last = 0;
  if (strstr(name, "point")) *(uint64_t*)variable = (uint64_t)variable + (strstr(name, "behind") ? 8 : 0);
  if (strstr(name, "count")) *(uint32_t*)variable += strstr(name, "two") ? 2 : 1;
  if (strstr(name, "vary")) *(uint64_t*)variable = ++last;
}
FAKE CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  double ms = ((Function*)function)->ms;
  Module* const module = (Module*)((Function*)function)->module;
  const char* const counter = getenv("FAKE_GPU_COUNTER");
  const char* name = ((Function*)function)->name;
  const char* sleep_us = getenv("FAKE_GPU_SLEEP_US");
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
  if (module->context != current) return CUDA_ERROR_INVALID_HANDLE;
  if (stream > CU_STREAM_PER_THREAD) __atomic_add_fetch(&((Stream*)stream)->launches, 1, __ATOMIC_RELAXED);
  if (strcmp(name, "regtune_checksum") == 0) sum_up(parameters);
  if (strstr(name, "regtune_compareIf")) compare(parameters, 1);
  if (strstr(name, "regtune_compareIh")) compare(parameters, 0);
  if (strncmp(name, "fake_on_variable_", 17) == 0)
    write_variable(name, module->variable);
  else if (strncmp(name, "fake_", 5) == 0 && compute(name, parameters) != CUDA_SUCCESS)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (counter && ms > 0) ms *= 1 + __atomic_fetch_add((uint32_t*)module->variable, 1, __ATOMIC_RELAXED);
  if (ms == 0) return CUDA_SUCCESS;
  clock_ms += ms * (1 + 0.0005 * (double)(launches++ % 7)); /* no two samples are quite the same */
  if (sleep_us) usleep((unsigned)atoi(sleep_us));
  return CUDA_SUCCESS;
}

FAKE CUresult cuEventCreate(CUevent* event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof(double));
  ++kept;
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventDestroy(CUevent event) {
  free(event);
  --kept;
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventRecord(CUevent event, CUstream stream) {
  (void)stream;
  memcpy(event, &clock_ms, sizeof clock_ms);
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventSynchronize(CUevent event) {
  (void)event;
  return CUDA_SUCCESS;
}
FAKE CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  double from = 0;
  double to = 0;
  memcpy(&from, begin, sizeof from);
  memcpy(&to, end, sizeof to);
  *ms = (float)(to - from);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = "CUDA_ERROR_OF_THE_FAKE";
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorString(CUresult code, const char** text) {
  *text = "the fake GPU refuses it";
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

__attribute__((used)) static CUresult not_needed(void) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
#define NOT_NEEDED(name) __asm__(".globl " #name "\n.set " #name ", not_needed");
NOT_NEEDED(cuGraphAddKernelNode)
NOT_NEEDED(cuGraphAddKernelNode_v2)
NOT_NEEDED(cuGraphCreate)
NOT_NEEDED(cuGraphDestroy)
NOT_NEEDED(cuGraphExecDestroy)
NOT_NEEDED(cuGraphInstantiate)
NOT_NEEDED(cuGraphInstantiateWithFlags)
NOT_NEEDED(cuGraphLaunch)
NOT_NEEDED(cuLaunchCooperativeKernel)
NOT_NEEDED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
