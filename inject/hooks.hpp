#pragma once
// The functions of CUDA that a watched program gets in place of the driver's and of NVRTC's own: one row for each,
// with the name under which the library exports it and the one under which cuGetProcAddress is asked for it.
#include <span>
#include <string_view>

namespace regtune {

struct Hook {
  std::string_view symbol;  // "cuMemAlloc_v2", "cuLaunchKernel_ptsz"
  std::string_view asked;   // "cuMemAlloc"; empty: by its symbol alone
  int since = 0;            // the version of CUDA from which on the asked name means this symbol
  bool per_thread = false;  // for streams of each thread's own
  void* function = nullptr;
};

std::span<const Hook> launch_hooks();  // kernels and graphs
std::span<const Hook> memory_hooks();  // what is allocated
std::span<const Hook> module_hooks();  // machine code as it is loaded
std::span<const Hook> nvrtc_hooks();   // what the program compiles itself

// What stands for a symbol; nullptr: nothing, it stays what it is.
void* hook_of_symbol(std::string_view symbol);
// What stands for a function that cuGetProcAddress was asked for; nullptr likewise.
void* hook_of_request(std::string_view asked, int version, bool per_thread);

}  // namespace regtune
