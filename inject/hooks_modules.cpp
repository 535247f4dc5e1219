// Machine code as it is loaded: told from each other by what lies in the image.
#include "exported.hpp"
#include "hooks.hpp"
#include "images.hpp"
#include "kernels.hpp"

namespace regtune {
namespace {

template <class Function, class... Arguments>
CUresult pass_on(const char* name, Arguments... arguments) {
  Function* const own = driver_function<Function>(name);
  return own ? own(arguments...) : CUDA_ERROR_NOT_FOUND;
}

void saw_module(CUresult code, const CUmodule* module, const void* image) {
  if (code == CUDA_SUCCESS && module && !Inside::is_own_work()) remember_module(*module, note_image(image));
}

void saw_library(CUresult code, const CUlibrary* library, const void* image) {
  if (code == CUDA_SUCCESS && library && !Inside::is_own_work()) remember_library(*library, note_image(image));
}

}  // namespace
}  // namespace regtune

using namespace regtune;

REGTUNE_EXPORTED CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const CUresult code = pass_on<decltype(cuModuleLoadData)>("cuModuleLoadData", module, image);
  saw_module(code, module, image);
  return code;
}

REGTUNE_EXPORTED CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                             void** values) {
  const CUresult code =
      pass_on<decltype(cuModuleLoadDataEx)>("cuModuleLoadDataEx", module, image, count, options, values);
  saw_module(code, module, image);
  return code;
}

REGTUNE_EXPORTED CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  const CUresult code = pass_on<decltype(cuModuleLoadFatBinary)>("cuModuleLoadFatBinary", module, image);
  saw_module(code, module, image);
  return code;
}

REGTUNE_EXPORTED CUresult cuModuleLoad(CUmodule* module, const char* file) {
  const CUresult code = pass_on<decltype(cuModuleLoad)>("cuModuleLoad", module, file);
  if (code == CUDA_SUCCESS && module && !Inside::is_own_work()) remember_module(*module, note_image_file(file));
  return code;
}

REGTUNE_EXPORTED CUresult cuModuleUnload(CUmodule module) {
  if (!Inside::is_own_work()) {
    forget_module(module);
    forget_kernels();  // a handle may come again, and mean another kernel
  }
  return pass_on<decltype(cuModuleUnload)>("cuModuleUnload", module);
}

REGTUNE_EXPORTED CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values,
                                            unsigned count, CUlibraryOption* library_options, void** library_values,
                                            unsigned library_count) {
  const CUresult code = pass_on<decltype(cuLibraryLoadData)>("cuLibraryLoadData", library, image, options, values,
                                                             count, library_options, library_values, library_count);
  saw_library(code, library, image);
  return code;
}

REGTUNE_EXPORTED CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file, CUjit_option* options,
                                                void** values, unsigned count, CUlibraryOption* library_options,
                                                void** library_values, unsigned library_count) {
  const CUresult code = pass_on<decltype(cuLibraryLoadFromFile)>(
      "cuLibraryLoadFromFile", library, file, options, values, count, library_options, library_values, library_count);
  if (code == CUDA_SUCCESS && library && !Inside::is_own_work()) remember_library(*library, note_image_file(file));
  return code;
}

REGTUNE_EXPORTED CUresult cuLibraryUnload(CUlibrary library) {
  if (!Inside::is_own_work()) {
    forget_library(library);
    forget_kernels();
  }
  return pass_on<decltype(cuLibraryUnload)>("cuLibraryUnload", library);
}

namespace regtune {

std::span<const Hook> module_hooks() {
  static const Hook rows[] = {
      REGTUNE_HOOK(cuModuleLoad, "cuModuleLoad", 2000, false),
      REGTUNE_HOOK(cuModuleLoadData, "cuModuleLoadData", 2000, false),
      REGTUNE_HOOK(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010, false),
      REGTUNE_HOOK(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000, false),
      REGTUNE_HOOK(cuModuleUnload, "cuModuleUnload", 2000, false),
      REGTUNE_HOOK(cuLibraryLoadData, "cuLibraryLoadData", 12000, false),
      REGTUNE_HOOK(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000, false),
      REGTUNE_HOOK(cuLibraryUnload, "cuLibraryUnload", 12000, false),
  };
  return rows;
}

}  // namespace regtune
