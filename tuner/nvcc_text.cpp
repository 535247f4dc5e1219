#include "nvcc_text.hpp"

#include <fmt/format.h>

#include "policy.hpp"

namespace regtune {
namespace {

std::string spell_use(int registers, int stores, int loads) {
  std::string text = fmt::format("{} registers", registers);
  return stores > 0 || loads > 0 ? fmt::format("{}, spills {}/{}", text, stores, loads) : text;
}

}  // namespace

std::string nvcc_text(const TuningRecord& record) {
  if (!record.nvcc) return "";
  std::string text;
  for (const NvccCode& code : record.nvcc->codes) {
    const Trial& trial = record.trials.at(static_cast<std::size_t>(code.variant_id));
    const std::string budget = code.variant_id == 0 ? "the author's code" : spell(trial.variant.policy);
    if (!code.failure.empty()) {
      text += fmt::format("{} does not compile {}: {}\n", record.nvcc->compiler, budget, code.failure);
      continue;
    }
    const bool is_same = trial.facts && trial.facts->registers_per_thread == code.registers_per_thread &&
                         trial.facts->spill_store_bytes == code.spill_store_bytes &&
                         trial.facts->spill_load_bytes == code.spill_load_bytes;
    if (trial.facts && !is_same)
      text += fmt::format(
          "{} gives {} another code: {}; NVRTC: {}\n", record.nvcc->compiler, budget,
          spell_use(code.registers_per_thread, code.spill_store_bytes, code.spill_load_bytes),
          spell_use(trial.facts->registers_per_thread, trial.facts->spill_store_bytes, trial.facts->spill_load_bytes));
    if (!code.finding.empty()) text += fmt::format("built by nvcc, {}: {}\n", budget, code.finding);
  }
  return text;
}

}  // namespace regtune
