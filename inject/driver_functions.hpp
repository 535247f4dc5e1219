#pragma once
// The driver as it is, behind the hooks: the functions of the libcuda that the program has loaded, found past our own
// dlsym. Later functions are null with an older driver.
#include <cuda.h>
#include <dlfcn.h>

#define REGTUNE_SPELL(name) #name
#define REGTUNE_EXPORT(name) REGTUNE_SPELL(name)

namespace regtune {

// dlsym of the C library. It throws nothing, which is what lets a function that throws nothing jump to it.
using LoaderSearch = void* (*)(void*, const char*) noexcept;
LoaderSearch loader_search();

// A function of libcuda by its exported name; nullptr: it has none, or is not loaded.
void* driver_symbol(const char* name);

template <class Function>
Function* driver_function(const char* name) {
  return reinterpret_cast<Function*>(driver_symbol(name));
}

// What the injected library itself calls.
#define REGTUNE_INJECTED_CALLS(apply)                                                                                \
  apply(cuCtxGetCurrent) apply(cuCtxGetDevice) apply(cuCtxSynchronize) apply(cuDeviceGetAttribute)                   \
      apply(cuDeviceGetName) apply(cuEventCreate) apply(cuEventRecord) apply(cuEventQuery) apply(cuEventElapsedTime) \
          apply(cuEventDestroy) apply(cuStreamIsCapturing) apply(cuThreadExchangeStreamCaptureMode)                  \
              apply(cuFuncGetAttribute) apply(cuFuncSetAttribute) apply(cuFuncGetModule) apply(cuFuncGetName)        \
                  apply(cuFuncGetParamInfo) apply(cuKernelGetName) apply(cuKernelGetFunction)                        \
                      apply(cuKernelGetLibrary) apply(cuModuleLoadData) apply(cuModuleGetFunction)                   \
                          apply(cuModuleGetGlobal) apply(cuMemcpyDtoH) apply(cuMemcpyDtoDAsync)                      \
                              apply(cuPointerGetAttribute) apply(cuGraphGetNodes) apply(cuGraphNodeGetType)          \
                                  apply(cuGraphKernelNodeGetParams)                                                  \
                                                                                                                     \
                                      apply(cuLibraryGetModule) apply(cuEventSynchronize)

struct DriverFunctions {
#define REGTUNE_DECLARE(name) decltype(&::name) name##_call = nullptr;
  REGTUNE_INJECTED_CALLS(REGTUNE_DECLARE)
#undef REGTUNE_DECLARE
  bool can_name_kernels = false;  // cuFuncGetName and what goes with it: a driver of CUDA 12.4
};

// Looked up once, when the first hook runs.
const DriverFunctions& driver();

}  // namespace regtune
