#include "collapse.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

namespace regtune {

const PolicyCode& code_of(const std::vector<PolicyCode>& codes, const RegisterPolicy& policy) {
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const PolicyCode& c) { return c.policy == policy; });
  assert(found != codes.end());
  return *found;
}

std::vector<Trial> collapse(const std::vector<Variant>& variants, const std::vector<PolicyCode>& codes,
                            const std::vector<LaunchShape>& shapes, const GpuLimits& limits) {
  std::vector<Trial> trials;
  // The hash stands for code, callees, constants, registers, frame and shared memory. Launch limits compiled into
  // the code matter only where they refuse this launch: refused and launchable code never share a candidate.
  using Identity = std::tuple<std::string, unsigned, unsigned, unsigned, std::int64_t, bool>;
  std::map<Identity, int> first_with;
  for (const Variant& variant : variants) {
    const PolicyCode& code = code_of(codes, variant.policy);
    const auto shape =
        std::find_if(shapes.begin(), shapes.end(), [&](const LaunchShape& s) { return s.block == variant.block; });
    assert(shape != shapes.end());
    Trial trial{variant, *shape, code.facts, NotTimed{}};
    if (!code.facts) {
      trial.outcome = CompileFailed{code.failure};
      trials.push_back(std::move(trial));
      continue;
    }
    StaticFacts& facts = *trial.facts;
    const BlockResources resources{facts.registers_per_thread, facts.static_shared_bytes, shape->dynamic_shared_bytes,
                                   facts.max_threads_per_block, facts.required_threads_per_block};
    const auto refused = why_not_launchable(limits, resources, variant.block);
    if (!refused) facts.occupancy = occupancy(limits, resources, variant.block);
    const auto [first, is_new] =
        first_with.try_emplace({facts.code_hash, variant.block.x, variant.block.y, variant.block.z,
                                shape->dynamic_shared_bytes, refused.has_value()},
                               variant.id);
    if (!is_new)
      trial.outcome = SameCodeAs{first->second};
    else if (refused)
      trial.outcome = NotLaunchable{*refused};
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace regtune
