// What a program compiles by NVRTC while it runs, as CuPy, JAX and cuda-python do: source and options are known then,
// word by word, and the code that comes out is known again when it is loaded.
#include <nvrtc.h>

#include <map>
#include <mutex>

#include "exported.hpp"
#include "hooks.hpp"
#include "images.hpp"
#include "supervisor_link.hpp"

namespace regtune {
namespace {

struct Programs {
  std::mutex mutex;
  std::map<nvrtcProgram, ProgramSource> sources;
};

Programs& programs() {
  static Programs* const all = new Programs;
  return *all;
}

// NVRTC's own function: of the library that the program has open, whatever its version is called.
template <class Function>
Function* own(const char* name) {
  for (const char* library : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"})
    if (void* const opened = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void* const found = loader_search()(opened, name);
      dlclose(opened);  // the program holds it
      if (found) return reinterpret_cast<Function*>(found);
    }
  return nullptr;
}

// The code of a program by what is about to be loaded.
void saw_code(nvrtcProgram program, const char* code) {
  const std::lock_guard lock(programs().mutex);
  const auto found = programs().sources.find(program);
  if (found != programs().sources.end()) remember_source(image_hash(code), found->second);
}

nvrtcResult get_code(const char* name, nvrtcProgram program, char* code) {
  auto* const function = own<decltype(nvrtcGetCUBIN)>(name);
  if (!function) return NVRTC_ERROR_INTERNAL_ERROR;
  const nvrtcResult result = function(program, code);
  if (result == NVRTC_SUCCESS && code && !Inside::is_own_work()) saw_code(program, code);
  return result;
}

}  // namespace
}  // namespace regtune

using namespace regtune;

REGTUNE_EXPORTED nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name, int count,
                                                const char* const* headers, const char* const* names) {
  auto* const function = own<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram");
  if (!function) return NVRTC_ERROR_INTERNAL_ERROR;
  const nvrtcResult result = function(program, text, name, count, headers, names);
  if (result != NVRTC_SUCCESS || !text || Inside::is_own_work()) return result;
  ProgramSource source{text, name ? name : "", {}, {}};
  for (int i = 0; headers && names && i < count; ++i) source.headers.emplace_back(names[i], headers[i]);
  const std::lock_guard lock(programs().mutex);
  programs().sources[*program] = std::move(source);
  return result;
}

REGTUNE_EXPORTED nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  auto* const function = own<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram");
  if (!function) return NVRTC_ERROR_INTERNAL_ERROR;
  {
    const std::lock_guard lock(programs().mutex);
    const auto found = programs().sources.find(program);
    if (found != programs().sources.end()) {
      found->second.options.clear();
      for (int i = 0; i < count; ++i) found->second.options.emplace_back(options[i]);
    }
  }
  return function(program, count, options);
}

REGTUNE_EXPORTED nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  return get_code("nvrtcGetCUBIN", program, code);
}
REGTUNE_EXPORTED nvrtcResult nvrtcGetPTX(nvrtcProgram program, char* code) {
  return get_code("nvrtcGetPTX", program, code);
}

REGTUNE_EXPORTED nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  auto* const function = own<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram");
  if (!function) return NVRTC_ERROR_INTERNAL_ERROR;
  if (program) {
    const std::lock_guard lock(programs().mutex);
    programs().sources.erase(*program);
  }
  return function(program);
}

namespace regtune {

std::span<const Hook> nvrtc_hooks() {
  static const Hook rows[] = {
      REGTUNE_HOOK(nvrtcCreateProgram, "", 0, false),  REGTUNE_HOOK(nvrtcCompileProgram, "", 0, false),
      REGTUNE_HOOK(nvrtcGetCUBIN, "", 0, false),       REGTUNE_HOOK(nvrtcGetPTX, "", 0, false),
      REGTUNE_HOOK(nvrtcDestroyProgram, "", 0, false),
  };
  return rows;
}

}  // namespace regtune
