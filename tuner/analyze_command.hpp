#pragma once
// `regtune analyze`: every register budget compiled for any list of architectures, and what the machine code says.
// Needs no GPU and no launch description. Compilations are kept in the cache, so that a second study compiles
// nothing; nothing that was not timed is stored as a result.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compilation.hpp"
#include "description.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace regtune {

struct AnalyzeRequest {
  std::filesystem::path source;
  DescriptionFlags flags;                    // the kernel may be a pattern: "all", "decay*"
  std::optional<std::string> architectures;  // "sm_75,sm_90" or "all"
  int device = 0;
  CompilerWish compiler;
  int jobs = 1;
  double compile_limit_s = 600;            // for one variant
  std::optional<double> compile_budget_s;  // wall time of the back end for one study; empty: everything is compiled
  bool every_cap = false;                  // also those whose code follows from others'
  std::optional<std::filesystem::path> cache;
};

// One kernel for one architecture.
struct Study {
  TuningRecord record;  // no GPU, no times, no verdict; its grid is not known
  std::size_t compiled = 0;
  std::size_t kept = 0;      // builds that came from the cache
  std::string failure;       // why the source does not compile for this architecture; the record has then no trials
  std::size_t skipped = 0;   // builds that were not compiled, for want of time
  std::size_t inferred = 0;  // caps whose code is known from the caps around them
};

struct Analysis {
  std::string compiler;
  std::string cache;  // the file that compilations are kept in; empty: none
  std::vector<Study> studies;
};

// Throws Error. A source that compiles for some of the architectures only is a Study with a failure.
Analysis analyze(AnalyzeRequest request, Progress& progress);

}  // namespace regtune
