#include "allocations.hpp"

#include <map>
#include <mutex>

#include "driver_functions.hpp"

namespace regtune {
namespace {

struct Allocations {
  std::mutex mutex;
  std::map<CUdeviceptr, Allocation> by_address;
};

Allocations& allocations() {
  static Allocations* const all = new Allocations;
  return *all;
}

}  // namespace

void remember_allocation(CUdeviceptr address, std::size_t bytes) {
  if (address == 0 || bytes == 0) return;
  CUdevice device = 0;
  driver().cuCtxGetDevice_call(&device);
  const std::lock_guard lock(allocations().mutex);
  allocations().by_address[address] = {address, bytes, device};
}

void forget_allocation(CUdeviceptr address) {
  const std::lock_guard lock(allocations().mutex);
  allocations().by_address.erase(address);
}

std::vector<Allocation> allocations_of_device(CUdevice device) {
  const std::lock_guard lock(allocations().mutex);
  std::vector<Allocation> found;
  for (const auto& [address, allocation] : allocations().by_address)
    if (allocation.device == device) found.push_back(allocation);
  return found;
}

}  // namespace regtune
