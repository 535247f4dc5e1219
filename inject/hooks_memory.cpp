// Device memory as it is allocated and freed: a launch may write to any of it.
#include "allocations.hpp"
#include "exported.hpp"
#include "hooks.hpp"

namespace regtune {
namespace {

template <class Function, class... Arguments>
CUresult allocate(const char* name, CUdeviceptr* address, std::size_t bytes, Arguments... arguments) {
  Function* const own = driver_function<Function>(name);
  if (!own) return CUDA_ERROR_NOT_FOUND;
  const CUresult code = own(address, bytes, arguments...);
  if (code == CUDA_SUCCESS && address && !Inside::is_own_work()) remember_allocation(*address, bytes);
  return code;
}

template <class Function, class... Arguments>
CUresult release(const char* name, CUdeviceptr address, Arguments... arguments) {
  Function* const own = driver_function<Function>(name);
  if (!own) return CUDA_ERROR_NOT_FOUND;
  // Before it is free: another thread may be given the same place at once.
  if (!Inside::is_own_work()) forget_allocation(address);
  return own(address, arguments...);
}

using AllocateAsync = CUresult(CUdeviceptr*, std::size_t, CUstream);
using AllocateFromPool = CUresult(CUdeviceptr*, std::size_t, CUmemoryPool, CUstream);
using FreeAsync = CUresult(CUdeviceptr, CUstream);

}  // namespace
}  // namespace regtune

using namespace regtune;

REGTUNE_EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return allocate<decltype(cuMemAlloc_v2)>("cuMemAlloc_v2", address, bytes);
}

REGTUNE_EXPORTED CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                             std::size_t height, unsigned element_bytes) {
  auto* const own = driver_function<decltype(cuMemAllocPitch_v2)>("cuMemAllocPitch_v2");
  if (!own) return CUDA_ERROR_NOT_FOUND;
  const CUresult code = own(address, pitch, width, height, element_bytes);
  if (code == CUDA_SUCCESS && address && pitch && !Inside::is_own_work())
    remember_allocation(*address, *pitch * height);
  return code;
}

REGTUNE_EXPORTED CUresult cuMemAllocManaged(CUdeviceptr* address, std::size_t bytes, unsigned flags) {
  return allocate<decltype(cuMemAllocManaged)>("cuMemAllocManaged", address, bytes, flags);
}

REGTUNE_EXPORTED CUresult cuMemAllocAsync(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate<AllocateAsync>("cuMemAllocAsync", address, bytes, stream);
}
REGTUNE_EXPORTED CUresult cuMemAllocAsync_ptsz(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
  return allocate<AllocateAsync>("cuMemAllocAsync_ptsz", address, bytes, stream);
}
REGTUNE_EXPORTED CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                                  CUstream stream) {
  return allocate<AllocateFromPool>("cuMemAllocFromPoolAsync", address, bytes, pool, stream);
}
REGTUNE_EXPORTED CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                                                       CUstream stream) {
  return allocate<AllocateFromPool>("cuMemAllocFromPoolAsync_ptsz", address, bytes, pool, stream);
}

REGTUNE_EXPORTED CUresult cuMemFree_v2(CUdeviceptr address) {
  return release<decltype(cuMemFree_v2)>("cuMemFree_v2", address);
}
REGTUNE_EXPORTED CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return release<FreeAsync>("cuMemFreeAsync", address, stream);
}
REGTUNE_EXPORTED CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return release<FreeAsync>("cuMemFreeAsync_ptsz", address, stream);
}

// Physical memory that is put at an address of the program's own choice, as PyTorch's growing segments are.
REGTUNE_EXPORTED CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                                   CUmemGenericAllocationHandle handle, unsigned long long flags) {
  auto* const own = driver_function<decltype(cuMemMap)>("cuMemMap");
  if (!own) return CUDA_ERROR_NOT_FOUND;
  const CUresult code = own(address, bytes, offset, handle, flags);
  if (code == CUDA_SUCCESS && !Inside::is_own_work()) remember_allocation(address, bytes);
  return code;
}
REGTUNE_EXPORTED CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return release<decltype(cuMemUnmap)>("cuMemUnmap", address, bytes);
}

namespace regtune {

std::span<const Hook> memory_hooks() {
  static const Hook rows[] = {
      REGTUNE_HOOK(cuMemAlloc_v2, "cuMemAlloc", 3020, false),
      REGTUNE_HOOK(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020, false),
      REGTUNE_HOOK(cuMemAllocManaged, "cuMemAllocManaged", 6000, false),
      REGTUNE_HOOK(cuMemAllocAsync, "cuMemAllocAsync", 11020, false),
      REGTUNE_HOOK(cuMemAllocAsync_ptsz, "cuMemAllocAsync", 11020, true),
      REGTUNE_HOOK(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, false),
      REGTUNE_HOOK(cuMemAllocFromPoolAsync_ptsz, "cuMemAllocFromPoolAsync", 11020, true),
      REGTUNE_HOOK(cuMemFree_v2, "cuMemFree", 3020, false),
      REGTUNE_HOOK(cuMemFreeAsync, "cuMemFreeAsync", 11020, false),
      REGTUNE_HOOK(cuMemFreeAsync_ptsz, "cuMemFreeAsync", 11020, true),
      REGTUNE_HOOK(cuMemMap, "cuMemMap", 10020, false),
      REGTUNE_HOOK(cuMemUnmap, "cuMemUnmap", 10020, false),
  };
  return rows;
}

}  // namespace regtune
