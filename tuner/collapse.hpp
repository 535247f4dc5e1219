#pragma once
// From compiled builds to trials: each variant gets its facts and its occupancy, those that cannot be
// launched are found before any launch, and variants that are the same code under the same launch become
// one candidate.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "record.hpp"
#include "sweep.hpp"

namespace regtune {

// Takes codes in any order; the first variant of a code and launch stands for the others.
class Collapse {
 public:
  explicit Collapse(const GpuLimits& limits) : limits_(limits) {}

  // The trial of that variant and launch. Outcomes: CompileFailed, NotCompiled, NotLaunchable, SameCodeAs an earlier
  // one, or NotTimed: a candidate.
  Trial add(const Variant& variant, const LaunchShape& shape, const BuildCode& code);

 private:
  // The hash stands for code, callees, constants, registers, frame and shared memory. Launch limits compiled into
  // the code matter only where they refuse this launch: refused and launchable code never share a candidate.
  using Extents = std::tuple<unsigned, unsigned, unsigned>;
  using Identity = std::tuple<std::string, Extents, Extents, std::int64_t, bool>;

  GpuLimits limits_;
  std::map<Identity, int> first_with_;
};

// One trial for each that is planned, in their order, with its variant and its shape. `codes` holds every build.
std::vector<Trial> collapse(const std::vector<Trial>& planned, const std::vector<BuildCode>& codes,
                            const GpuLimits& limits);

// Requires: it is among them.
const BuildCode& code_of(const std::vector<BuildCode>& codes, const Build& build);

}  // namespace regtune
