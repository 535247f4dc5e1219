#pragma once
// The main job. tune() alone knows the order of the stages; each takes what it needs and returns a value.
#include <filesystem>
#include <optional>
#include <string>

#include "captured_launch.hpp"
#include "compilation.hpp"
#include "description.hpp"
#include "levers.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace regtune {

struct TuneRequest {
  std::filesystem::path source;
  std::optional<Source> text = {};  // what is tuned in the place of a file
  DescriptionFlags flags;
  std::optional<std::string> architecture;  // forces a static analysis for it, unless it is the GPU's own
  int device = 0;
  CompilerWish compiler;
  bool confirm_by_nvcc = false;            // time nvcc's builds of author and winner too
  int jobs = 1;                            // compilers side by side
  double compile_limit_s = 600;            // for one variant
  std::optional<double> compile_budget_s;  // wall time of the back end; empty: everything is compiled
  bool rename = true;                      // sweep the kernel under another name too
  bool every_cap = false;                  // compile also those caps whose code follows from others'
  bool counters = false;                   // read the GPU's counters for the finalists
  Levers levers;                           // what else is tried
  bool retry_quarantined = false;          // launch again what faulted or hung before
  std::optional<std::filesystem::path> cache;
  MeasureSettings measure;
  std::vector<std::string> command_line = {};  // for the record
  // A launch that a running program waits with: it is made again instead of one that is described. Outlives the call.
  std::string source_called;  // in what is stored; empty: as the file is
  const CapturedLaunch* captured = nullptr;
};

struct TuneResult {
  TuningRecord record;
  std::string stored_in;  // the cache file; empty when nothing was stored
};

// Throws Error when the run cannot go on. Without a GPU the record has facts, no times and no verdict.
TuneResult tune(const TuneRequest& request, Progress& progress);

}  // namespace regtune
