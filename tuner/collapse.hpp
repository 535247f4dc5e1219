#pragma once
// From compiled policies to trials: each variant gets its facts and its occupancy, those that cannot be
// launched are found before any launch, and variants that are the same code under the same launch become
// one candidate.
#include <vector>

#include "record.hpp"
#include "sweep.hpp"

namespace regtune {

// One trial per variant, in their order. Outcomes: CompileFailed, NotLaunchable, SameCodeAs (the first variant
// of that code and launch), NotTimed for those that remain: the candidates. `codes` holds every policy of
// `variants`; `shapes` every block.
std::vector<Trial> collapse(const std::vector<Variant>& variants, const std::vector<PolicyCode>& codes,
                            const std::vector<LaunchShape>& shapes, const GpuLimits& limits);

const PolicyCode& code_of(const std::vector<PolicyCode>& codes, const RegisterPolicy& policy);

}  // namespace regtune
