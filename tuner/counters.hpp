#pragma once
// What codes execute and move on the GPU, read by Nsight Compute: the child that drives the GPU is started once more
// under it, and launches each code once. Opt-in, since a profiler may be missing or refused; that is told and is no
// failure of the run.
#include <vector>

#include "bench.hpp"
#include "compile.hpp"
#include "record.hpp"
#include "workload.hpp"

namespace regtune {

// Requires: no other child holds the plan's buffers on that GPU.
CounterReadings read_counters(int ordinal, const WorkloadPlan& plan, const CompiledCode& device_code,
                              const std::vector<Candidate>& candidates, bool never_restore);

}  // namespace regtune
