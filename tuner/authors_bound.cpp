#include "authors_bound.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace regtune {
namespace {

// The author's code as it would be without any bound or cap: a variant of its own in every sweep.
const StaticFacts* without_bound(const TuningRecord& record) {
  const Variant& author = record.trials.front().variant;
  const auto found = std::find_if(record.trials.begin(), record.trials.end(), [&](const Trial& trial) {
    return trial.facts && std::holds_alternative<CompilerDefault>(trial.variant.policy) &&
           trial.variant.choice == author.choice && trial.variant.block == author.block;
  });
  return found == record.trials.end() ? nullptr : &*found->facts;
}

std::string spell_use(const StaticFacts& facts) {
  std::string text = std::to_string(facts.registers_per_thread);
  if (facts.spill_store_bytes > 0 || facts.spill_load_bytes > 0)
    text += fmt::format(", spilling {}/{} bytes", facts.spill_store_bytes, facts.spill_load_bytes);
  return text;
}

std::string spell_fit(const StaticFacts& facts, const LaunchShape& shape) {
  if (!facts.occupancy) return "";
  return fmt::format("; {} {} of {} threads {} on an SM", facts.occupancy->active_blocks_per_sm,
                     facts.occupancy->active_blocks_per_sm == 1 ? "block" : "blocks", shape.block.volume(),
                     facts.occupancy->active_blocks_per_sm == 1 ? "fits" : "fit");
}

}  // namespace

std::string about_authors_bound(const TuningRecord& record) {
  if (record.author_bounds.empty() || record.trials.empty() || !record.trials.front().facts) return "";
  const StaticFacts& own = *record.trials.front().facts;
  std::string text = fmt::format("the author's __launch_bounds__({})", record.author_bounds);
  if (own.max_threads_per_block == 0) return text + " is not in the code that was compiled";
  // A number that stands there is what the code holds; a name is not.
  if (!record.author_bounds.starts_with(std::to_string(own.max_threads_per_block)))
    text += fmt::format(", here {} threads", own.max_threads_per_block);
  text += fmt::format(": the ceiling is {} registers; the kernel uses {}", own.register_ceiling, spell_use(own));
  if (const StaticFacts* bare = without_bound(record))
    text += bare->code_hash == own.code_hash ? ", and the code is the same without the bound"
                                             : fmt::format(", and {} without the bound", spell_use(*bare));
  return text + spell_fit(own, record.trials.front().shape);
}

}  // namespace regtune
