#pragma once
// The facts of one compiled variant: what the machine code says, and whether the register budget that was
// asked for is the one the compiler worked under. Everything is read back from the cubin; ptxas's report is
// the second witness. Occupancy is left empty: it depends on the launch.
#include <optional>
#include <string>

#include "cubin.hpp"
#include "gpu_limits.hpp"
#include "ptxas_report.hpp"
#include "record.hpp"
#include "regtune/types.hpp"

namespace regtune {

// ptxas raises every lower cap and every lower __maxnreg__ to this (measured with CUDA 13.0 on sm_75 to sm_120).
inline constexpr int compiler_minimum_registers = 24;

// The ceiling that a cap of N, or __maxnreg__(N), gives when nothing overrides it: within the compiler's
// minimum and 255.
int ceiling_of_cap(const GpuLimits& limits, int registers_per_thread);

// `report` may be nullptr. `option_cap` is the -maxrregcount that the author's own options hold in this
// compile, if any. Spill bytes are the cubin's, or the report's where that says more: the cubin's list of
// spills ends early in a kernel with more than 8,191 of them, and leaves out what some callees save.
StaticFacts static_facts(const CubinKernel& kernel, const PtxasEntry* report, const RegisterPolicy& policy,
                         const GpuLimits& limits, std::optional<int> option_cap);

// Where the report contradicts the cubin, one sentence that names both figures; else empty. Spills are
// compared only for a kernel that calls no function.
std::optional<std::string> discrepancy(const CubinKernel& kernel, const PtxasEntry& report);

}  // namespace regtune
