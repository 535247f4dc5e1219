#include "c_answer.hpp"

#include <type_traits>
#include <variant>

namespace regtune {
namespace {

static_assert(std::is_same_v<std::variant_alternative_t<REGTUNE_AUTHORS_OWN, RegisterPolicy>, AuthorsOwn>);
static_assert(std::is_same_v<std::variant_alternative_t<REGTUNE_COMPILER_DEFAULT, RegisterPolicy>, CompilerDefault>);
static_assert(std::is_same_v<std::variant_alternative_t<REGTUNE_REGISTER_CAP, RegisterPolicy>, RegisterCap>);
static_assert(std::is_same_v<std::variant_alternative_t<REGTUNE_LAUNCH_BOUNDS, RegisterPolicy>, LaunchBounds>);
static_assert(std::is_same_v<std::variant_alternative_t<REGTUNE_MAX_REGISTERS, RegisterPolicy>, MaxRegisters>);
static_assert(REGTUNE_MATCH_SAME_FAMILY == static_cast<int>(Match::same_family));
static_assert(REGTUNE_BAD_KEY == static_cast<int>(Miss::bad_key));

void fill(const TunedBudget& budget, regtune_budget& out) {
  out.policy = static_cast<regtune_policy>(budget.policy.index());
  if (const auto* cap = std::get_if<RegisterCap>(&budget.policy)) out.registers = cap->registers_per_thread;
  if (const auto* most = std::get_if<MaxRegisters>(&budget.policy)) out.registers = most->registers_per_thread;
  if (const auto* bounds = std::get_if<LaunchBounds>(&budget.policy)) {
    out.max_threads_per_block = bounds->max_threads_per_block;
    out.min_blocks_per_sm = bounds->min_blocks_per_sm;
  }
  out.block[0] = budget.block.x;
  out.block[1] = budget.block.y;
  out.block[2] = budget.block.z;
  out.registers_per_thread = budget.registers_per_thread;
  out.speedup = budget.speedup;
  out.speedup_low = budget.speedup_low;
  out.speedup_high = budget.speedup_high;
  out.option = budget.option.c_str();
  out.attribute = budget.attribute.c_str();
  out.defines = budget.defines.c_str();
  out.instance = budget.instance.c_str();
  out.statement = budget.statement.c_str();
}

}  // namespace

regtune_status status_of(const Answer& answer) {
  return answer ? REGTUNE_OK : static_cast<regtune_status>(answer.miss);
}

regtune_answer c_answer(const Answer& found) {
  regtune_answer out{};
  out.size = sizeof out;
  if (!found) return out;
  const TunedPolicy& policy = *found;
  out.match = static_cast<regtune_match>(found.match);
  const auto bit = [](bool set, unsigned value) { return set ? value : 0u; };
  out.stale = bit(found.stale.driver, REGTUNE_STALE_DRIVER) | bit(found.stale.compiler, REGTUNE_STALE_COMPILER) |
              bit(found.stale.source, REGTUNE_STALE_SOURCE);
  out.size_distance = found.size_distance;
  fill(policy.best, out.best);
  fill(policy.in_source, out.in_source);
  out.verdict = policy.verdict.c_str();
  out.kernel = policy.kernel.c_str();
  out.signature = policy.signature.c_str();
  out.gpu_name = policy.gpu.name.c_str();
  out.driver = policy.driver.c_str();
  out.compiler = policy.compiler.c_str();
  out.source_tag = policy.source_tag.c_str();
  out.measured = policy.started.c_str();
  out.file = policy.file.c_str();
  return out;
}

}  // namespace regtune
