#pragma once
// What is handed out of stored runs: of each kernel on each architecture one budget for all sizes that were tuned, and
// what each size loses by that. It chooses among what was measured and times nothing. Runs of other sources, options or
// models of GPU than the newest run's are left out, which the notes say.
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// Of every run whose sizes hold these.
struct SizeWeight {
  Sizes sizes;
  double weight = 1;
};

// What a choice is worth at the sizes of one run.
struct SizeShare {
  Sizes sizes;
  double weight = 1;  // of all sizes together 1
  Interval speedup;   // over the run's reference
  double loss = 0;    // 0.01: takes 1 % longer than the best there
};

struct ExportedChoice {
  Variant variant;
  StaticFacts facts;
  double speedup = 1;             // the weighted geometric mean over the sizes
  std::vector<SizeShare> shares;  // one for each run
};

struct ExportedKernel {
  std::string name;                // an identifier, and this kernel's alone among all that are exported with it
  std::vector<TuningRecord> runs;  // one for each set of sizes, the newest first; each has a GPU and a verdict
  ExportedChoice in_source;        // the best that the source can say itself
  ExportedChoice best;             // by option too
  const TuningRecord& newest() const { return runs.front(); }
};

struct ExportedKernels {
  std::vector<ExportedKernel> kernels;  // by name, then by architecture
  std::vector<std::string> notes;       // for the user
};

// `runs`: finished ones, the newest first. With one set of sizes the choice is the verdict's; with several, of all that
// was measured at each, the one with the best mean, and of those as good within the margin the simplest. Throws
// Error(usage) for a weight that is no run's, and where nothing was measured at all sizes.
ExportedKernels exported_kernels(std::vector<TuningRecord> runs, const std::vector<SizeWeight>& weights);

// "n=16777216, m=4".
std::string spell_sizes(const Sizes& sizes);

}  // namespace regtune
