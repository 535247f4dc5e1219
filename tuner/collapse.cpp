#include "collapse.hpp"

#include <algorithm>
#include <cassert>

#include "shared_spilling.hpp"

namespace regtune {
namespace {

std::tuple<unsigned, unsigned, unsigned> extents(const Dim3& size) {
  return {size.x, size.y, size.z};
}

}  // namespace

const BuildCode& code_of(const std::vector<BuildCode>& codes, const Build& build) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const BuildCode& c) { return c.build == build; });
  assert(found != codes.end());
  return *found;
}

Trial Collapse::add(const Variant& variant, const LaunchShape& shape, const BuildCode& code) {
  Trial trial{variant, shape, code.facts, NotTimed{}};
  if (!code.facts) {
    if (code.skipped)
      trial.outcome = NotCompiled{code.failure};
    else if (const auto why = code.build.choice.spills_to_shared ? why_no_shared_spilling(code.failure) : std::nullopt)
      trial.outcome = NotApplicable{*why};
    else
      trial.outcome = CompileFailed{code.failure};
    return trial;
  }
  StaticFacts& facts = *trial.facts;
  const BlockResources resources{facts.registers_per_thread, facts.static_shared_bytes, shape.dynamic_shared_bytes,
                                 facts.max_threads_per_block, facts.required_threads_per_block};
  const auto refused = why_not_launchable(limits_, resources, variant.block);
  if (!refused) facts.occupancy = occupancy(limits_, resources, variant.block);
  const Identity identity{facts.code_hash, extents(shape.grid), extents(shape.block), shape.dynamic_shared_bytes,
                          refused.has_value()};
  const auto [first, is_new] = first_with_.try_emplace(identity, variant.id);
  if (!is_new)
    trial.outcome = SameCodeAs{first->second};
  else if (refused)
    trial.outcome = NotLaunchable{*refused};
  return trial;
}

std::vector<Trial> collapse(const std::vector<Trial>& planned, const std::vector<BuildCode>& codes,
                            const GpuLimits& limits) {
  Collapse collapsing(limits);
  std::vector<Trial> trials;
  for (const Trial& trial : planned)
    trials.push_back(
        collapsing.add(trial.variant, trial.shape, code_of(codes, {trial.variant.policy, trial.variant.choice})));
  return trials;
}

}  // namespace regtune
