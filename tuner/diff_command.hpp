#pragma once
// `regtune diff A B`: whatever two records or cache states say of the same kernels, compared by record_diff.hpp. A name
// alone compares the two newest runs of that kernel. Reads only; how it
// is told is diff_text.hpp's.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record_diff.hpp"

namespace regtune {

struct DiffRequest {
  std::vector<std::string> subjects;  // one or two, as records_named takes them
  std::vector<std::string> sizes;     // "n=1<<24": only runs of these; empty: all
  std::optional<std::string> gpu;
  std::optional<std::filesystem::path> cache;
};

struct ComparedRuns {
  TuningRecord before;
  TuningRecord after;
  RecordDiff diff;
};

struct DiffResult {
  std::vector<ComparedRuns> compared;    // at least one
  std::vector<std::string> only_before;  // runs without a partner, a line each
  std::vector<std::string> only_after;
  bool same() const;
};

// Throws Error; also where there is nothing to compare, so that an exit code of 0 or 1 always means that there was.
DiffResult compare_runs(const DiffRequest& request);

}  // namespace regtune
