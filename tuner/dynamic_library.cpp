#include "dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace regtune {

std::optional<DynamicLibrary> DynamicLibrary::open(const std::vector<std::filesystem::path>& candidates,
                                                   std::vector<std::string>& failures) {
  for (const auto& candidate : candidates) {
    // RTLD_LOCAL keeps the symbols of two CUDA versions in one process apart. RTLD_NODELETE, because CUDA's
    // libraries are not made to be unloaded: NVRTC 13.0 then leaves memory behind that nothing points to.
    constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    if (void* handle = ::dlopen(candidate.c_str(), flags)) return DynamicLibrary(handle);
    const char* why = ::dlerror();
    failures.emplace_back(why != nullptr ? why : candidate.string() + ": cannot be loaded");
  }
  return std::nullopt;
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

std::filesystem::path DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return {};
  return map->l_name;
}

void* DynamicLibrary::address_of(const char* name) const {
  return handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
}

}  // namespace regtune
