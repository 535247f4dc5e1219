#include "collapse.hpp"

#include <algorithm>
#include <cassert>

namespace regtune {

const BuildCode& code_of(const std::vector<BuildCode>& codes, const Build& build) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const BuildCode& c) { return c.build == build; });
  assert(found != codes.end());
  return *found;
}

Trial Collapse::add(const Variant& variant, const BuildCode& code) {
  const auto shape =
      std::find_if(shapes_.begin(), shapes_.end(), [&](const LaunchShape& s) { return s.block == variant.block; });
  assert(shape != shapes_.end());
  Trial trial{variant, *shape, code.facts, NotTimed{}};
  if (!code.facts) {
    if (code.skipped)
      trial.outcome = NotCompiled{code.failure};
    else
      trial.outcome = CompileFailed{code.failure};
    return trial;
  }
  StaticFacts& facts = *trial.facts;
  const BlockResources resources{facts.registers_per_thread, facts.static_shared_bytes, shape->dynamic_shared_bytes,
                                 facts.max_threads_per_block, facts.required_threads_per_block};
  const auto refused = why_not_launchable(limits_, resources, variant.block);
  if (!refused) facts.occupancy = occupancy(limits_, resources, variant.block);
  const Identity identity{
      facts.code_hash,    variant.block.x, variant.block.y, variant.block.z, shape->dynamic_shared_bytes,
      refused.has_value()};
  const auto [first, is_new] = first_with_.try_emplace(identity, variant.id);
  if (!is_new)
    trial.outcome = SameCodeAs{first->second};
  else if (refused)
    trial.outcome = NotLaunchable{*refused};
  return trial;
}

std::vector<Trial> collapse(const std::vector<Variant>& variants, const std::vector<BuildCode>& codes,
                            const std::vector<LaunchShape>& shapes, const GpuLimits& limits) {
  Collapse collapsing(shapes, limits);
  std::vector<Trial> trials;
  for (const Variant& variant : variants)
    trials.push_back(collapsing.add(variant, code_of(codes, {variant.policy, variant.choice})));
  return trials;
}

}  // namespace regtune
