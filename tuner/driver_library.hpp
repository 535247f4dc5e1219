#pragma once
// The functions of libcuda that are called, looked up in the opened library: those without which regtune does not work,
// and others that only some launches need, which an older driver may lack (most are of CUDA 12). The only file that
// includes cuda.h; it is included by the source files of the driver and by nothing else.
#include <cuda.h>
#include <fmt/format.h>

#include <string>
#include <utility>

#include "cuda_status.hpp"
#include "dynamic_library.hpp"

// cuda.h maps a function's plain name to its current version (cuMemAlloc to cuMemAlloc_v2): spelled out
// after expansion, the name that the library exports under the signature that the header declares.
#define REGTUNE_SPELL(name) #name
#define REGTUNE_EXPORT(name) REGTUNE_SPELL(name)

namespace regtune {

#define REGTUNE_DRIVER_FUNCTIONS(apply)                                                                              \
  apply(cuInit) apply(cuDriverGetVersion) apply(cuDeviceGetCount) apply(cuDeviceGet) apply(cuDeviceGetName)          \
      apply(cuDeviceGetAttribute) apply(cuDeviceTotalMem) apply(cuDeviceGetPCIBusId) apply(cuDevicePrimaryCtxRetain) \
          apply(cuCtxSetCurrent) apply(cuCtxSynchronize) apply(cuMemGetInfo) apply(cuMemAlloc) apply(cuMemFree)      \
              apply(cuMemcpyHtoD) apply(cuMemcpyDtoH) apply(cuMemcpyDtoDAsync) apply(cuMemsetD8Async)                \
                  apply(cuModuleLoadData) apply(cuModuleUnload) apply(cuModuleGetFunction) apply(cuFuncSetAttribute) \
                      apply(cuModuleGetGlobal) apply(cuLaunchKernel) apply(cuEventCreate) apply(cuEventRecord)       \
                          apply(cuEventSynchronize) apply(cuEventElapsedTime) apply(cuGraphCreate)                   \
                              apply(cuGraphAddKernelNode) apply(cuGraphInstantiate) apply(cuGraphLaunch)             \
                                  apply(cuGraphDestroy) apply(cuGraphExecDestroy) apply(cuGetErrorName)              \
                                      apply(cuGetErrorString) apply(cuLaunchCooperativeKernel)                       \
                                          apply(cuOccupancyMaxActiveBlocksPerMultiprocessor) apply(cuCtxGetDevice)   \
                                              apply(cuCtxGetCurrent) apply(cuCtxGetId)

// Null where the driver is too old.
#define REGTUNE_LATER_DRIVER_FUNCTIONS(apply)                                                                         \
  apply(cuLaunchKernelEx) apply(cuOccupancyMaxActiveClusters) apply(cuTensorMapEncodeTiled) apply(cuTexObjectCreate)  \
      apply(cuArrayCreate) apply(cuMemAllocPitch) apply(cuMemcpy2D) apply(cuGraphKernelNodeSetAttribute)              \
          apply(cuMemAddressReserve) apply(cuMemAddressFree) apply(cuMemCreate) apply(cuMemMap) apply(cuMemSetAccess) \
              apply(cuMemRelease) apply(cuMemGetAllocationGranularity) apply(cuEventDestroy)

struct DriverLibrary {
  explicit DriverLibrary(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
#define REGTUNE_DECLARE(name) decltype(&::name) name##_call = nullptr;
  REGTUNE_DRIVER_FUNCTIONS(REGTUNE_DECLARE)
  REGTUNE_LATER_DRIVER_FUNCTIONS(REGTUNE_DECLARE)
#undef REGTUNE_DECLARE
  CUevent started = nullptr;
  CUevent stopped = nullptr;
  bool adopted = false;  // the context is an application's, and so outlives the events

  // The first function that the library lacks, if any.
  std::string bind() {
    const auto bind_one = [this](auto& function, std::string name) {
      using Function = std::remove_pointer_t<std::remove_reference_t<decltype(function)>>;
      function = file.find<Function>(name.c_str());
      // cuEventElapsedTime_v2 came late, with the signature unchanged; older drivers have the plain name.
      if (!function && name.ends_with("_v2")) function = file.find<Function>(name.substr(0, name.size() - 3).c_str());
      return function != nullptr;
    };
#define REGTUNE_BIND(name) \
  if (!bind_one(name##_call, REGTUNE_EXPORT(name))) return #name;
    REGTUNE_DRIVER_FUNCTIONS(REGTUNE_BIND)
#undef REGTUNE_BIND
#define REGTUNE_BIND_IF_THERE(name) bind_one(name##_call, REGTUNE_EXPORT(name));
    REGTUNE_LATER_DRIVER_FUNCTIONS(REGTUNE_BIND_IF_THERE)
#undef REGTUNE_BIND_IF_THERE
    return "";
  }

  CudaStatus status(CUresult code) const {
    if (code == CUDA_SUCCESS) return {};
    const char* name = nullptr;
    const char* text = nullptr;
    cuGetErrorName_call(code, &name);
    cuGetErrorString_call(code, &text);
    return {static_cast<int>(code),
            fmt::format("{} ({}): {}", name ? name : "CUDA error", static_cast<int>(code), text ? text : "no text")};
  }

  // "" where the current device has what `what` needs, which came with sm_90.
  std::string why_not_on_device(CUdevice_attribute needed, const char* what) const {
    CUdevice device = 0;
    if (cuCtxGetDevice_call(&device) != CUDA_SUCCESS || attribute(needed, device) != 0) return "";
    return fmt::format("{} need a GPU of sm_90 or newer, and this one is sm_{}{}", what,
                       attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
                       attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
  }

  int attribute(CUdevice_attribute which, CUdevice device) const {
    int value = 0;
    cuDeviceGetAttribute_call(&value, which, device);
    return value;
  }
};

}  // namespace regtune
