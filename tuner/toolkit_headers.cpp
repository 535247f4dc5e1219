#include "toolkit_headers.hpp"

#include <algorithm>
#include <array>

namespace regtune {
namespace {

struct Library {
  std::string_view prefix;
  std::string_view word;
};
constexpr std::array<Library, 21> kLibraries = {{{"thrust/", "thrust"},
                                                 {"cub/", "cub"},
                                                 {"cooperative_groups", "cooperative_groups"},
                                                 {"cuda/", "cuda"},
                                                 {"curand_", "curand"},
                                                 {"mma.h", "wmma"},
                                                 {"curand.h", ""},
                                                 {"cublas", ""},
                                                 {"cusparse", ""},
                                                 {"cusolver", ""},
                                                 {"cufft", ""},
                                                 {"cudnn", ""},
                                                 {"nvml", ""},
                                                 {"nvToolsExt", ""},
                                                 {"nvtx3/", ""},
                                                 {"cuda_profiler_api.h", ""},
                                                 {"cudaProfiler.h", ""},
                                                 {"cupti", ""},
                                                 {"nvrtc.h", ""},
                                                 {"cuda_gl_interop.h", ""},
                                                 {"nvJitLink.h", ""}}};

}  // namespace

std::optional<std::string> library_word(std::string_view header) {
  const auto found = std::find_if(kLibraries.begin(), kLibraries.end(),
                                  [&](const Library& library) { return header.starts_with(library.prefix); });
  if (found == kLibraries.end()) return {};
  return std::string(found->word);
}

bool is_library_word(std::string_view word) {
  return !word.empty() && std::any_of(kLibraries.begin(), kLibraries.end(),
                                      [&](const Library& library) { return library.word == word; });
}

bool can_serve_device(std::string_view header) {
  // The rest of Thrust is not taken by the run-time compiler (measured with 13.0.88).
  static constexpr std::array<std::string_view, 9> ready = {
      "thrust/tuple.h",  "thrust/pair.h",    "thrust/complex.h",  "thrust/functional.h", "thrust/random",
      "thrust/iterator", "thrust/advance.h", "thrust/distance.h", "thrust/type_traits"};
  return !header.starts_with("thrust/") ||
         std::any_of(ready.begin(), ready.end(), [&](std::string_view name) { return header.starts_with(name); });
}

}  // namespace regtune
