#include "search_space.hpp"

#include "static_facts.hpp"

#include <algorithm>

namespace regtune {

std::vector<Variant> search_space(const GpuLimits& limits, const std::vector<Dim3>& blocks) {
  std::vector<Variant> variants;
  const auto add = [&](const RegisterPolicy& policy, Dim3 block) {
    variants.push_back({static_cast<int>(variants.size()), policy, block});
  };
  for (const Dim3& block : blocks) add(AuthorsOwn{}, block);
  for (const Dim3& block : blocks) add(CompilerDefault{}, block);
  for (int cap = compiler_minimum_registers; cap <= limits.max_registers_per_thread; ++cap)
    for (const Dim3& block : blocks) add(RegisterCap{cap}, block);
  for (const Dim3& block : blocks) {
    const int threads = static_cast<int>(block.volume());
    add(LaunchBounds{threads, 0}, block);
    for (int min_blocks = 1; min_blocks <= limits.max_blocks_per_sm; ++min_blocks) {
      const LaunchBounds bounds{threads, min_blocks};
      if (min_blocks_ignored(limits, bounds)) break;
      add(bounds, block);
    }
  }
  return variants;
}

void add_renamed(std::vector<Variant>& variants) {
  const std::size_t own = variants.size();
  for (std::size_t i = 0; i < own; ++i) {
    Variant renamed = variants[i];
    if (std::holds_alternative<AuthorsOwn>(renamed.policy)) continue;
    renamed.id = static_cast<int>(variants.size());
    renamed.choice.renamed = true;
    variants.push_back(renamed);
  }
}

}  // namespace regtune
