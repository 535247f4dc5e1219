#pragma once
// What nvcc makes of the author's code and of what a tuning recommends: a budget that was found under NVRTC need not do
// the same in a build by nvcc. It compiles from the untouched file, keeps what it compiled, and times only when asked.
#include <cstdint>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "compilation.hpp"
#include "record.hpp"

namespace regtune {

struct NvccBuilds {
  NvccComparison comparison;
  std::vector<Candidate> candidates;  // of the codes that there are; ids that no trial's code has
};

// Empty where there is no nvcc. The record has its trials and its verdict; `store` may be nullptr. Requires: the pool
// has no unfinished job.
std::optional<NvccBuilds> compile_by_nvcc(const CompilationRequest& request, const TuningRecord& record, Store* store,
                                          CompilePool& pool);

// Times nvcc's builds of what is recommended against its build of the author's code, for `budget_s` of GPU time at the
// most, and puts into the comparison whether each gain holds there. The bench's reference is another one afterwards.
void confirm_by_nvcc(Bench& bench, const TuningRecord& record, double budget_s, NvccBuilds& builds);

}  // namespace regtune
