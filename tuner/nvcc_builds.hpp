#pragma once
// What nvcc makes of the author's code and of what a tuning recommends: a budget that was found under NVRTC need not do
// the same in a build by nvcc. It compiles from the untouched file, beside the sweep and the race; keeps what it
// compiled; and times only when asked.
#include <cstdint>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "compilation.hpp"
#include "cubin.hpp"
#include "record.hpp"

namespace regtune {

struct NvccCodes {
  NvccComparison comparison;
  std::vector<Candidate> candidates;  // of the codes that there are; ids that no trial's code has
};

class NvccBuilds {
 public:
  // `record`: of the tuning, with its kernel, GPU and trials. `store` may be nullptr. The pool outlives this. Throws
  // Error(no_toolkit) where the pool has no nvcc.
  NvccBuilds(const CompilationRequest& request, const TuningRecord& record, Store* store, CompilePool& pool);

  // Begins those that are neither begun nor kept from an earlier run.
  void begin(const std::vector<Build>& builds);
  // Waits for the author's code and what the record's verdict recommends, which need not have been begun.
  NvccCodes finish(const TuningRecord& record);

 private:
  struct Begun {
    Build build;
    std::optional<BuildCode> code;
  };
  const BuildCode& code_of(const Build& build);
  BuildCode read_back(const Build& build, const CompiledCode& code) const;
  const CubinKernel* same_kernel(const Cubin& cubin, const CompiledCode& code) const;

  CompilePool& pool_;
  CompileUnit unit_;
  KeptCodes kept_;
  std::string kernel_;     // mangled, as NVRTC's code calls it
  std::string signature_;  // the record's
  GpuLimits limits_;
  std::vector<Begun> begun_;  // the ids of jobs are their indices
};

// Times nvcc's builds of what is recommended against its build of the author's code, for `budget_s` of GPU time at the
// most, and puts into the comparison whether each gain holds there. The bench's reference is another one afterwards.
void confirm_by_nvcc(Bench& bench, const TuningRecord& record, double budget_s, NvccCodes& codes);

}  // namespace regtune
