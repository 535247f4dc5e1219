#include "driver_functions.hpp"

#include <array>
#include <string>

namespace regtune {
namespace {

// The version under which a C library first exported dlsym on its machine, and the one since glibc 2.34.
constexpr std::array kLoaderVersions{"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};

LoaderSearch find_loader_search() {
  for (const char* version : kLoaderVersions)
    if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<LoaderSearch>(found);
  return nullptr;
}

DriverFunctions look_up() {
  DriverFunctions functions;
#define REGTUNE_BIND(name) functions.name##_call = driver_function<decltype(::name)>(REGTUNE_EXPORT(name));
  REGTUNE_INJECTED_CALLS(REGTUNE_BIND)
#undef REGTUNE_BIND
  // cuEventElapsedTime_v2 came late, with the signature unchanged.
  if (!functions.cuEventElapsedTime_call)
    functions.cuEventElapsedTime_call = driver_function<decltype(::cuEventElapsedTime)>("cuEventElapsedTime");
  functions.can_name_kernels =
      functions.cuFuncGetName_call && functions.cuFuncGetParamInfo_call && functions.cuKernelGetName_call;
  return functions;
}

}  // namespace

LoaderSearch loader_search() {
  static const LoaderSearch search = find_loader_search();
  return search;
}

void* driver_symbol(const char* name) {
  // The one that the program has: never another, and never a second copy.
  static void* const library = [] {
    void* found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return found ? found : dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
  }();
  return library ? loader_search()(library, name) : nullptr;
}

const DriverFunctions& driver() {
  static const DriverFunctions functions = look_up();
  return functions;
}

}  // namespace regtune
