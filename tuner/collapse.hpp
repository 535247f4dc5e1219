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
  // `shapes` holds every block.
  Collapse(const std::vector<LaunchShape>& shapes, const GpuLimits& limits) : shapes_(shapes), limits_(limits) {}

  // The variant's trial. Outcomes: CompileFailed, NotCompiled, NotLaunchable, SameCodeAs an earlier one, or NotTimed: a
  // candidate.
  Trial add(const Variant& variant, const BuildCode& code);

 private:
  // The hash stands for code, callees, constants, registers, frame and shared memory. Launch limits compiled into
  // the code matter only where they refuse this launch: refused and launchable code never share a candidate.
  using Identity = std::tuple<std::string, unsigned, unsigned, unsigned, std::int64_t, bool>;

  std::vector<LaunchShape> shapes_;
  GpuLimits limits_;
  std::map<Identity, int> first_with_;
};

// One trial per variant, in their order. `codes` holds every build of `variants`; `shapes` every block.
std::vector<Trial> collapse(const std::vector<Variant>& variants, const std::vector<BuildCode>& codes,
                            const std::vector<LaunchShape>& shapes, const GpuLimits& limits);

// Requires: it is among them.
const BuildCode& code_of(const std::vector<BuildCode>& codes, const Build& build);

}  // namespace regtune
