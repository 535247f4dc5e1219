#pragma once
// `regtune bundle`: compiles a kernel under every budget for several architectures, on a machine that needs no GPU,
// into one file (bundle.hpp) that another machine times. Every distinct code is compared with what plain compilation
// gives, since there is no compiler to ask once it has won.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compilation.hpp"
#include "description.hpp"
#include "levers.hpp"
#include "progress.hpp"

namespace regtune {

struct BundleRequest {
  std::filesystem::path source;
  DescriptionFlags flags;
  std::optional<std::string> architectures;  // "sm_80,sm_90" or "all"; empty: the GPU's
  int device = 0;
  int jobs = 1;
  double compile_limit_s = 600;
  CompilerWish compiler;
  bool rename = true;
  Levers levers;
  bool every_cap = false;
  std::optional<std::filesystem::path> file;  // empty: the source's name with .rtb, in the current folder
};

struct BundledArchitecture {
  std::string architecture;
  std::size_t budgets = 0;
  std::size_t distinct_codes = 0;
};

struct BundleResult {
  std::filesystem::path file;
  std::uintmax_t bytes = 0;
  std::string compiler;
  std::string signature;
  std::vector<BundledArchitecture> architectures;
  std::vector<std::string> blocks;  // that it was compiled for
};

// Throws Error.
BundleResult make_bundle(const BundleRequest& request, Progress& progress);

// "k.rtb: sgemm(float*), 412 KiB, by NVRTC 13.0.88", and a line for each architecture.
std::string bundle_text(const BundleResult& result);

}  // namespace regtune
