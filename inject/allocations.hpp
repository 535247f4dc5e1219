#pragma once
// The device memory that a program holds: where each allocation lies and how long it is, whichever function made it.
#include <cuda.h>

#include <cstdint>
#include <vector>

namespace regtune {

struct Allocation {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CUdevice device = 0;
};

void remember_allocation(CUdeviceptr address, std::size_t bytes);
void forget_allocation(CUdeviceptr address);

// Of the current device, in order of address.
std::vector<Allocation> allocations_of_device(CUdevice device);

}  // namespace regtune
