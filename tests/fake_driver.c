/* A driver for machines without one: what libregtune_jit and driver.cpp call, and no GPU behind it. Named by
 * REGTUNE_CUDA. FAKE_CUDA_LOG names a file: a line for each module that is loaded, with its size and the function taken
 * from it. FAKE_CUDA_REFUSE=N: that many modules are refused first. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread uintptr_t current_context;
void fake_set_context(uintptr_t context) {
  current_context = context;
}

#define FAKE __attribute__((visibility("default")))
FAKE CUresult cuInit(unsigned flags) {
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
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
  snprintf(name, (size_t)capacity, "NVIDIA H200");
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    default:
      *value = 0;
  }
  return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = (CUcontext)current_context;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  *id = (uintptr_t)context;
  return CUDA_SUCCESS;
}
FAKE CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return current_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
FAKE CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const char* refuse = getenv("FAKE_CUDA_REFUSE");
  if (refuse && atoi(refuse) > 0) {
    char fewer[16];
    snprintf(fewer, sizeof fewer, "%d", atoi(refuse) - 1);
    setenv("FAKE_CUDA_REFUSE", fewer, 1);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  *module = (CUmodule)image;
  return CUDA_SUCCESS;
}
FAKE CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  static uintptr_t loaded = 0;
  FILE* log = fopen(getenv("FAKE_CUDA_LOG") ? getenv("FAKE_CUDA_LOG") : "/dev/null", "a");
  fprintf(log, "%.4s %s\n", (const char*)module, name);
  fclose(log);
  *function = (CUfunction)__atomic_add_fetch(&loaded, 1, __ATOMIC_RELAXED);
  return CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorName(CUresult code, const char** name) {
  *name = "CUDA_ERROR_OF_THE_FAKE";
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuGetErrorString(CUresult code, const char** text) {
  *text = "the fake driver refuses it";
  return code == CUDA_SUCCESS ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
FAKE CUresult cuModuleUnload(CUmodule module) {
  return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

__attribute__((used)) static CUresult not_needed(void) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
#define NOT_NEEDED(name) __asm__(".globl " #name "\n.set " #name ", not_needed");
NOT_NEEDED(cuCtxSetCurrent)
NOT_NEEDED(cuCtxSynchronize)
NOT_NEEDED(cuDeviceGetPCIBusId)
NOT_NEEDED(cuDevicePrimaryCtxRetain)
NOT_NEEDED(cuDeviceTotalMem)
NOT_NEEDED(cuEventCreate)
NOT_NEEDED(cuEventElapsedTime)
NOT_NEEDED(cuEventRecord)
NOT_NEEDED(cuEventSynchronize)
NOT_NEEDED(cuFuncSetAttribute)
NOT_NEEDED(cuGraphAddKernelNode)
NOT_NEEDED(cuGraphCreate)
NOT_NEEDED(cuGraphDestroy)
NOT_NEEDED(cuGraphExecDestroy)
NOT_NEEDED(cuGraphInstantiate)
NOT_NEEDED(cuGraphInstantiateWithFlags)
NOT_NEEDED(cuGraphLaunch)
NOT_NEEDED(cuLaunchCooperativeKernel)
NOT_NEEDED(cuLaunchKernel)
NOT_NEEDED(cuMemAlloc)
NOT_NEEDED(cuMemFree)
NOT_NEEDED(cuMemGetInfo)
NOT_NEEDED(cuMemcpyDtoDAsync)
NOT_NEEDED(cuMemcpyDtoH)
NOT_NEEDED(cuMemcpyHtoD)
NOT_NEEDED(cuMemsetD8Async)
NOT_NEEDED(cuModuleGetGlobal)
NOT_NEEDED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
