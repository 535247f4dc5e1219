// How the hooks get into a program: this library is loaded before all others (LD_PRELOAD). Programs that are linked
// with libcuda find the hooks by their names; the CUDA runtime, static or shared, and everything that opens libcuda
// itself asks dlsym for cuGetProcAddress, and that for the rest (seen with nvcc's programs, CuPy, PyTorch and Triton).
#include <cstring>
#include <string_view>

#include "driver_functions.hpp"
#include "hooks.hpp"
#include "inside.hpp"

namespace regtune {
namespace {

constexpr cuuint64_t kPerThreadStreams = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// Its older form, whose symbol has no version behind it.
CUresult get_proc_address_v1(const char* symbol, void** function, int version, cuuint64_t flags) {
  using V1 = CUresult(const char*, void**, int, cuuint64_t);
  const CUresult code = driver_function<V1>("cuGetProcAddress")(symbol, function, version, flags);
  if (code != CUDA_SUCCESS || !symbol || !function || !*function || Inside::is_own_work()) return code;
  if (void* const hook = hook_of_request(symbol, version, (flags & kPerThreadStreams) != 0)) *function = hook;
  return code;
}

CUresult get_proc_address_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* found) {
  using V2 = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const CUresult code = driver_function<V2>("cuGetProcAddress_v2")(symbol, function, version, flags, found);
  if (code != CUDA_SUCCESS || !symbol || !function || !*function || Inside::is_own_work()) return code;
  if (void* const hook = hook_of_request(symbol, version, (flags & kPerThreadStreams) != 0)) *function = hook;
  return code;
}

const Hook kOwnHooks[] = {
    {"cuGetProcAddress", "cuGetProcAddress", 11030, false, reinterpret_cast<void*>(&get_proc_address_v1)},
    {"cuGetProcAddress_v2", "cuGetProcAddress", 12000, false, reinterpret_cast<void*>(&get_proc_address_v2)},
};

template <class Visit>
void for_each_hook(const Visit& visit) {
  for (const std::span<const Hook> rows :
       {std::span<const Hook>(kOwnHooks), launch_hooks(), memory_hooks(), module_hooks(), nvrtc_hooks()})
    for (const Hook& row : rows) visit(row);
}

bool is_cudas(const char* name) {
  return std::strncmp(name, "cu", 2) == 0 || std::strncmp(name, "nvrtc", 5) == 0;
}

}  // namespace

void* hook_of_symbol(std::string_view symbol) {
  void* found = nullptr;
  for_each_hook([&](const Hook& row) {
    if (row.symbol == symbol) found = row.function;
  });
  return found;
}

// The newest form that the version knows: what the driver has given, as its rules are.
void* hook_of_request(std::string_view asked, int version, bool per_thread) {
  const Hook* best = nullptr;
  bool has_own = false;  // a form for per-thread streams
  for_each_hook([&](const Hook& row) { has_own = has_own || (row.asked == asked && row.per_thread); });
  for_each_hook([&](const Hook& row) {
    if (row.asked != asked || row.since > version || row.per_thread != (per_thread && has_own)) return;
    if (!best || row.since > best->since) best = &row;
  });
  return best ? best->function : nullptr;
}

}  // namespace regtune

// The searches from the caller's own place in the order of libraries, and in the scope of its own, look at who called:
// they must be jumped to, and this function leave no frame (the build asks for that). In the global scope the hooks
// come first by themselves.
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  const regtune::LoaderSearch search = regtune::loader_search();
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !regtune::is_cudas(name) || regtune::Inside::is_own_work())
    return search(handle, name);
  void* const found = search(handle, name);
  if (!found) return found;
  void* const hook = regtune::hook_of_symbol(name);
  return hook ? hook : found;
}

extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char* symbol, void** function,
                                                                               int version, cuuint64_t flags,
                                                                               CUdriverProcAddressQueryResult* found) {
  return regtune::get_proc_address_v2(symbol, function, version, flags, found);
}
