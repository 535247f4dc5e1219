#pragma once
// A shared library opened at run time, and its functions by name. Owns the handle and nothing else: which
// files to try is the toolkit's knowledge (toolkit.hpp), what the functions mean is the caller's. A library
// or a function that is not there is an empty value, never an exception: the caller knows whether it can do
// without.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

class DynamicLibrary {
 public:
  // The first of `candidates` that loads. A bare file name is searched on the loader's path. What each one
  // that failed was missing is appended to `failures`, one line each.
  static std::optional<DynamicLibrary> open(const std::vector<std::filesystem::path>& candidates,
                                            std::vector<std::string>& failures);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  // Where the loader found it, with symbolic links as they are.
  std::filesystem::path path() const;

  // `Function` is the function's type (decltype(nvrtcVersion)); nullptr where the library does not export it.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address_of(name));
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
};

}  // namespace regtune
