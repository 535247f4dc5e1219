#include "counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "device.hpp"
#include "ncu.hpp"
#include "regtune/error.hpp"
#include "scratch_folder.hpp"

namespace regtune {
namespace {

// A profiled launch is repeated for each group of counters, and the profiler itself starts slowly.
constexpr double kLimitMs = 120000;

std::vector<std::string> kernels_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> kernels;
  for (const Candidate& candidate : candidates)
    if (std::find(kernels.begin(), kernels.end(), candidate.kernel) == kernels.end())
      kernels.push_back(candidate.kernel);
  return kernels;
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

CounterReadings read_counters(int ordinal, const WorkloadPlan& plan, const CompiledCode& device_code,
                              const std::vector<Candidate>& candidates, bool never_restore) {
  const std::optional<std::filesystem::path> ncu = find_ncu();
  if (!ncu)
    return {{},
            "no ncu was found in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda/bin; install Nsight Compute, or name "
            "it: REGTUNE_NCU=/path/to/ncu"};
  const ScratchFolder folder;
  if (folder.path().empty()) return {{}, "no temporary file can be written; see TMPDIR"};
  const std::filesystem::path file = folder.path() / "report.csv";
  std::string failure;
  try {
    Device device(ordinal, ncu_command(*ncu, file, kernels_of(candidates)));
    device.prepare(plan, device_code, kLimitMs, never_restore);
    for (const Candidate& candidate : candidates)
      if (const Shot shot = device.launch_once(candidate); !std::holds_alternative<double>(shot))
        failure = fmt::format("the code of variant {} does not run under ncu", candidate.id);
    device.finish(kLimitMs);  // the profiler writes its report when the child has ended
  } catch (const Error& error) {
    failure = error.what();
  }
  const NcuReport report = read_ncu_report(text_of(file));
  CounterReadings readings;
  if (report.launches.size() != candidates.size()) {
    readings.unavailable = !report.failure.empty() ? report.failure : failure;
    if (readings.unavailable.empty())
      readings.unavailable = fmt::format("ncu reported {} launches of {}", report.launches.size(), candidates.size());
    return readings;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) readings.of_variant[candidates[i].id] = report.launches[i];
  return readings;
}

}  // namespace regtune
