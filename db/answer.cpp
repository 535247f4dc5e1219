#include "answer.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "key.hpp"

namespace regtune {
namespace {

const Trial* trial_of(const TuningRecord& record, int id) {
  const auto found = std::find_if(record.trials.begin(), record.trials.end(),
                                  [&](const Trial& trial) { return trial.variant.id == id; });
  return found == record.trials.end() || !found->facts ? nullptr : &*found;
}

TunedBudget budget_of(const Trial& trial, const Interval& speedup) {
  TunedBudget budget;
  budget.policy = trial.variant.policy;
  budget.block = trial.shape.block;
  budget.dynamic_shared_bytes = trial.shape.dynamic_shared_bytes;
  const SourceChoice& choice = trial.variant.choice;
  budget.renamed = choice.renamed;
  budget.register_usage_level = choice.register_usage_level;
  budget.instance = choice.instance;
  budget.macros = choice.macros;
  budget.spills_to_shared = choice.spills_to_shared;
  const StaticFacts& facts = *trial.facts;
  budget.registers_per_thread = facts.registers_per_thread;
  budget.spill_store_bytes = facts.spill_store_bytes;
  budget.static_shared_bytes = facts.static_shared_bytes;
  budget.max_threads_per_block = facts.max_threads_per_block;
  budget.required_threads_per_block = facts.required_threads_per_block;
  budget.code_hash = facts.code_hash;
  budget.speedup = speedup.median;
  budget.speedup_low = speedup.low;
  budget.speedup_high = speedup.high;
  spell_budget(budget);
  return budget;
}

// NaN is NULL in the file, and there is one NULL.
std::int64_t bits(double value) {
  return value == value ? std::bit_cast<std::int64_t>(value) : -1;
}

void add(FieldHash& hash, Dim3 size) {
  hash.add("x", size.x).add("y", size.y).add("z", size.z);
}

void add(FieldHash& hash, const RegisterPolicy& policy) {
  hash.add("policy", static_cast<std::int64_t>(policy.index()));
  if (const auto* cap = std::get_if<RegisterCap>(&policy)) hash.add("first", cap->registers_per_thread);
  if (const auto* most = std::get_if<MaxRegisters>(&policy)) hash.add("first", most->registers_per_thread);
  if (const auto* bounds = std::get_if<LaunchBounds>(&policy))
    hash.add("first", bounds->max_threads_per_block).add("second", bounds->min_blocks_per_sm);
}

void add(FieldHash& hash, const TunedBudget& budget) {
  add(hash, budget.policy);
  add(hash, budget.block);
  hash.add("dynamic shared", budget.dynamic_shared_bytes).add("renamed", budget.renamed ? 1 : 0);
  hash.add("register usage level", budget.register_usage_level).add("instance", budget.instance);
  for (const auto& [name, value] : budget.macros) hash.add("macro", name).add("value", value);
  hash.add("spills to shared", budget.spills_to_shared ? 1 : 0);
  hash.add("registers", budget.registers_per_thread).add("spills", budget.spill_store_bytes);
  hash.add("static shared", budget.static_shared_bytes).add("max threads", budget.max_threads_per_block);
  hash.add("required threads", budget.required_threads_per_block).add("code", budget.code_hash);
  hash.add("speedup", bits(budget.speedup)).add("low", bits(budget.speedup_low)).add("high", bits(budget.speedup_high));
}

}  // namespace

void spell_budget(TunedBudget& budget) {
  budget.option.clear();
  budget.attribute.clear();
  if (const auto* cap = std::get_if<RegisterCap>(&budget.policy))
    budget.option = "--maxrregcount=" + std::to_string(cap->registers_per_thread);
  if (budget.register_usage_level >= 0)
    budget.option += (budget.option.empty() ? "" : " ") + std::string("--ptxas-options=--register-usage-level=") +
                     std::to_string(budget.register_usage_level);
  if (const auto* most = std::get_if<MaxRegisters>(&budget.policy))
    budget.attribute = "__maxnreg__(" + std::to_string(most->registers_per_thread) + ")";
  if (const auto* bounds = std::get_if<LaunchBounds>(&budget.policy)) {
    budget.attribute = "__launch_bounds__(" + std::to_string(bounds->max_threads_per_block);
    if (bounds->min_blocks_per_sm > 0) budget.attribute += ", " + std::to_string(bounds->min_blocks_per_sm);
    budget.attribute += ")";
  }
  budget.statement = budget.spills_to_shared ? shared_spilling_statement : "";
  budget.defines.clear();
  for (const auto& [name, value] : budget.macros)
    budget.defines += (budget.defines.empty() ? "-D" : " -D") + name + "=" + value;
}

std::optional<TunedPolicy> answer_of(const TuningRecord& record) {
  if (!record.verdict || !record.gpu) return std::nullopt;
  const Verdict& verdict = *record.verdict;
  const Trial* best = trial_of(record, verdict.best_id);
  const Trial* in_source = trial_of(record, verdict.best_in_source_id);
  if (!best || !in_source) return std::nullopt;
  TunedPolicy answer;
  answer.best = budget_of(*best, verdict.speedup);
  answer.in_source = budget_of(*in_source, verdict.speedup_in_source);
  answer.verdict = to_string(verdict.kind);
  answer.kernel = record.kernel;
  answer.signature = record.signature;
  answer.sizes = record.sizes;
  answer.gpu = record.gpu->id;
  answer.architecture = record.architecture;
  answer.driver = record.gpu->driver_version;
  answer.compiler = record.compiler;
  answer.regtune_version = record.regtune_version;
  answer.source_tag = record.source_hash;
  answer.options = record.options;
  answer.started = record.started;
  answer.host = record.host;
  return answer;
}

std::string checksum_of(const TunedPolicy& answer) {
  FieldHash hash;
  hash.add("run", answer.run).add("order", answer.finish_order);
  hash.add("kernel", answer.kernel).add("signature", answer.signature).add("sizes", hash_of(answer.sizes));
  hash.add("options", hash_of_options(answer.options)).add("source", answer.source_tag);
  hash.add("gpu", answer.gpu.name).add("SMs", answer.gpu.sm_count).add("memory clock", answer.gpu.memory_clock_mhz);
  hash.add("compute major", answer.gpu.compute_major).add("compute minor", answer.gpu.compute_minor);
  hash.add("architecture", answer.architecture).add("driver", answer.driver).add("compiler", answer.compiler);
  hash.add("regtune", answer.regtune_version).add("started", answer.started).add("host", answer.host);
  hash.add("verdict", answer.verdict);
  add(hash, answer.best);
  add(hash, answer.in_source);
  return hash.hex();
}

std::string netstrings(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += std::to_string(text.size()) + ":" + text + ",";
  return list;
}

std::optional<std::vector<std::string>> from_netstrings(std::string_view text) {
  std::vector<std::string> texts;
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty() || text.front() != ':') return std::nullopt;
    text.remove_prefix(1);
    if (text.size() <= length || text[length] != ',') return std::nullopt;
    texts.emplace_back(text.substr(0, length));
    text.remove_prefix(length + 1);
  }
  return texts;
}

}  // namespace regtune
