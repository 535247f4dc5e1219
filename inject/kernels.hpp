#pragma once
// The kernels of a watched program: what each one's handle means, told to regtune once, and the shapes in which it is
// launched, each with its entry in the shared table. Finding a shape again costs a look into a table of the thread's
// own.
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "launch_table.hpp"
#include "record.hpp"

namespace regtune {

struct ParameterPlace {
  std::size_t offset_bytes = 0;
  std::size_t size_bytes = 0;
};

// What regtune wants of a kernel's launches.
enum class Interest { counted, tuned, replaced };

struct WatchedKernel {
  std::uint32_t number = 0;  // under which it was told
  std::string name;          // mangled
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  std::string image;  // the hash of what it was loaded from; "": not seen
  std::vector<ParameterPlace> parameters;
  std::size_t block_bytes = 0;  // of all parameters
  Interest interest = Interest::counted;
  std::uint64_t offered_launch = 1;  // which of its launches is to be tuned
  std::atomic<std::uint64_t> matching_launches = 0;
};

struct WatchedShape {
  WatchedKernel* kernel = nullptr;
  LaunchShape shape;
  LaunchEntry* entry = nullptr;
};

// nullptr: nobody watches, or the driver cannot name its kernels.
WatchedShape* watched_shape(CUfunction function, const LaunchShape& shape, bool is_cooperative);

// Handles of what was unloaded may mean something else from now on.
void forget_kernels();

}  // namespace regtune
