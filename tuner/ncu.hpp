#pragma once
// NVIDIA Nsight Compute's command line, which reads a GPU's counters: where it is, how it is called, and what its
// comma-separated report says. Runs nothing; which counters are worth reading is said here, and what they mean for a
// budget is not.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record.hpp"

namespace regtune {

// REGTUNE_NCU, else ncu of CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda. Empty when there is none.
std::optional<std::filesystem::path> find_ncu();

// The words before the program's own: kernels of these mangled names are profiled, one row each launch, and the report
// goes to `report`. Clocks are left as they are.
std::vector<std::string> ncu_command(const std::filesystem::path& ncu, const std::filesystem::path& report,
                                     const std::vector<std::string>& mangled_kernels);

struct NcuReport {
  std::vector<Counters> launches;  // in their order
  std::string failure;             // why there are none: ncu's own words
};

// Never throws, whatever the text holds.
NcuReport read_ncu_report(std::string_view text);

}  // namespace regtune
