#pragma once
// `regtune check`: a gate for a build. Compiles the author's own code only, once for each architecture, and holds
// every kernel of it against limits and against a committed baseline. Needs no GPU, and neither reads nor writes
// the cache.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compilation.hpp"
#include "description.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace regtune {

struct CheckLimits {
  std::optional<int> max_spill_bytes;  // stores and loads together, per thread
  std::optional<int> max_registers;
  std::optional<double> min_occupancy;  // 0 to 1
  std::optional<int> max_stack_bytes;
};

struct CheckRequest {
  std::filesystem::path source;
  DescriptionFlags flags;                    // without a kernel: all of the file
  std::optional<std::string> architectures;  // as for a study
  int device = 0;
  CompilerWish compiler;
  int jobs = 1;
  double compile_limit_s = 600;
  CheckLimits limits;
  std::optional<std::filesystem::path> baseline;        // compared with
  std::optional<std::filesystem::path> write_baseline;  // written, after the comparison
};

// One kernel for one architecture.
struct CheckedKernel {
  std::string architecture;
  std::string kernel;     // mangled
  std::string signature;  // for people
  int registers_per_thread = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int stack_frame_bytes = 0;
  int static_shared_bytes = 0;
  Dim3 block;                          // for which occupancy was counted
  std::optional<Occupancy> occupancy;  // empty: cannot be launched with it
  std::string why_not_launchable;
};

struct Baseline {
  std::string compiler;
  std::vector<CheckedKernel> kernels;  // without block and occupancy
};

struct CheckFindings {
  std::vector<std::string> breaches;
  std::vector<std::string> notes;  // better than the baseline, or not in it
};

struct CheckResult {
  std::string source;
  std::string compiler;
  std::vector<CheckedKernel> kernels;
  CheckFindings findings;
};

CheckFindings compare_with_limits(const std::vector<CheckedKernel>& kernels, const CheckLimits& limits);
// `compiler`: that of `kernels`.
CheckFindings compare_with_baseline(const std::vector<CheckedKernel>& kernels, const std::string& compiler,
                                    const Baseline& baseline);

nlohmann::json baseline_json(const std::vector<CheckedKernel>& kernels, const std::string& compiler);
// Throws Error(bad_description) that names `file` and what is wrong in it.
Baseline baseline_from_text(const std::string& text, const std::string& file);

// Throws Error; a breach is not an error. A baseline is not written over one that was breached.
CheckResult check(CheckRequest request, Progress& progress);
nlohmann::json check_json(const CheckResult& result);

}  // namespace regtune
