// Memory at addresses of the caller's choice, from the driver's functions for virtual memory.
#include "driver.hpp"
#include "driver_library.hpp"

namespace regtune {
namespace {

CUmemAllocationProp memory_of(CUdevice device) {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  kind.location.id = device;
  return kind;
}

}  // namespace

std::string Driver::why_no_chosen_addresses() const {
  const DriverLibrary& of = *library_;
  if (of.cuMemAddressReserve_call && of.cuMemAddressFree_call && of.cuMemCreate_call && of.cuMemMap_call &&
      of.cuMemSetAccess_call && of.cuMemRelease_call && of.cuMemGetAllocationGranularity_call)
    return "";
  return "memory at the addresses of a captured launch needs a driver of CUDA 11, and this one is older";
}

CudaStatus Driver::mapping_unit(std::int64_t& bytes) const {
  CUdevice device = 0;
  CUresult code = library_->cuCtxGetDevice_call(&device);
  if (code != CUDA_SUCCESS) return library_->status(code);
  const CUmemAllocationProp kind = memory_of(device);
  std::size_t unit = 0;
  code = library_->cuMemGetAllocationGranularity_call(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  bytes = static_cast<std::int64_t>(unit);
  return library_->status(code);
}

CudaStatus Driver::reserve_at(DeviceAddress wanted, std::int64_t bytes, DeviceAddress& got) const {
  CUdeviceptr address = 0;
  const auto size = static_cast<std::size_t>(bytes);
  const CUresult code = library_->cuMemAddressReserve_call(&address, size, 0, wanted, 0);
  got = address;
  if (code == CUDA_SUCCESS && got != wanted) library_->cuMemAddressFree_call(address, size);
  return library_->status(code);
}

void Driver::unreserve(DeviceAddress reserved, std::int64_t bytes) const {
  library_->cuMemAddressFree_call(reserved, static_cast<std::size_t>(bytes));
}

CudaStatus Driver::map_memory(DeviceAddress reserved, std::int64_t bytes) const {
  CUdevice device = 0;
  CUresult code = library_->cuCtxGetDevice_call(&device);
  if (code != CUDA_SUCCESS) return library_->status(code);
  const auto size = static_cast<std::size_t>(bytes);
  const CUmemAllocationProp kind = memory_of(device);
  CUmemGenericAllocationHandle memory = 0;
  code = library_->cuMemCreate_call(&memory, size, &kind, 0);
  if (code != CUDA_SUCCESS) return library_->status(code);
  code = library_->cuMemMap_call(reserved, size, 0, memory, 0);
  library_->cuMemRelease_call(memory);  // it lives as long as it is mapped
  if (code != CUDA_SUCCESS) return library_->status(code);
  CUmemAccessDesc access{};
  access.location = kind.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return library_->status(library_->cuMemSetAccess_call(reserved, size, &access, 1));
}

}  // namespace regtune
