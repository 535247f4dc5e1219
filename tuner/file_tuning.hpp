#pragma once
// Several kernels of one file in one run: which ones --kernel means, one tuning after the other, and what a single cap
// for the whole file would come to. Each kernel has a record and a place in the cache of its own, as if it had been
// tuned alone. One that cannot be tuned does not keep the others from it, and is told.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "file_wide_cap.hpp"
#include "progress.hpp"
#include "regtune/error.hpp"
#include "tune.hpp"

namespace regtune {

struct UntunedKernel {
  std::string kernel;  // as --kernel would name it
  Error failure;
};

struct FileTuning {
  std::vector<TuneResult> tuned;  // in the order of the file's kernels
  std::vector<UntunedKernel> failed;
  FileWideChoice cap;
};

// True for "all", names with * or ?, and lists with commas outside of brackets.
bool means_several_kernels(const std::string& wanted);

// The names of those kernels, each of one kernel. Compiles the file once where a pattern asks which there are. Throws
// Error as tune() does before it has chosen a kernel.
std::vector<std::string> kernels_meant(const TuneRequest& request, Progress& progress);

// Throws the first kernel's Error where none could be tuned.
FileTuning tune_kernels(const TuneRequest& request, const std::vector<std::string>& kernels, Progress& progress);

// {"format": "regtune file", ...}: every record, what failed, and the cap.
nlohmann::json file_tuning_json(const FileTuning& tuning);

}  // namespace regtune
