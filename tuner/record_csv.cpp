#include "record_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "decide.hpp"
#include "distinct_codes.hpp"
#include "exported_budget.hpp"
#include "policy.hpp"

namespace regtune {
namespace {

constexpr const char* kHead =
    "kernel,gpu,architecture,driver,compiler,sizes,started,variant,budget,block,choice,status,timed_as,registers,"
    "spill_store_bytes,spill_load_bytes,stack_bytes,static_shared_bytes,occupancy,blocks_per_sm,limited_by,time_ms,"
    "time_low_ms,time_high_ms,speedup,speedup_low,speedup_high,samples,reference,best,best_in_source,code_hash\r\n";

// A comma, a quote or a line end is quoted. A sign in front would make a spreadsheet reckon.
std::string text_cell(std::string text) {
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string real_cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

// "maxrregcount=57": an option without its dashes, so that the cell is no formula and needs no mark.
std::string budget_text(const RegisterPolicy& policy) {
  const std::string text = spell(policy);
  return text.substr(std::min(text.find_first_not_of('-'), text.size()));
}

std::string status_of(const Trial& timed) {
  if (std::holds_alternative<Measurement>(timed.outcome)) return "timed";
  if (std::holds_alternative<CompileFailed>(timed.outcome)) return "does not compile";
  if (std::holds_alternative<NotCompiled>(timed.outcome)) return "not compiled";
  if (std::holds_alternative<NotApplicable>(timed.outcome)) return "not applicable";
  const std::string fate = spell_fate(timed);
  return fate.empty() ? "not timed" : fate;
}

std::vector<std::string> run_cells(const TuningRecord& record) {
  return {text_cell(record.signature),    record.gpu ? text_cell(record.gpu->id.name) : "",
          text_cell(record.architecture), record.gpu ? text_cell(record.gpu->driver_version) : "",
          text_cell(record.compiler),     record.sizes.empty() ? "" : text_cell(spell_sizes(record.sizes)),
          text_cell(record.started)};
}

void add_facts(std::vector<std::string>& cells, const Trial& timed) {
  if (!timed.facts) {
    cells.insert(cells.end(), 8, "");
    return;
  }
  const StaticFacts& facts = *timed.facts;
  for (const int value : {facts.registers_per_thread, facts.spill_store_bytes, facts.spill_load_bytes,
                          facts.stack_frame_bytes, facts.static_shared_bytes})
    cells.push_back(std::to_string(value));
  cells.push_back(facts.occupancy ? real_cell(facts.occupancy->fraction) : "");
  cells.push_back(facts.occupancy ? std::to_string(facts.occupancy->active_blocks_per_sm) : "");
  cells.emplace_back(facts.occupancy ? to_string(facts.occupancy->limiter) : "");
}

void add_times(std::vector<std::string>& cells, const Trial& timed) {
  const Measurement* measured = measurement_of(timed);
  if (!measured) {
    cells.insert(cells.end(), 7, "");
    return;
  }
  for (const double value : {measured->time_ms.median, measured->time_ms.low, measured->time_ms.high})
    cells.push_back(real_cell(value));
  const bool compared = measured->speedup.median > 0;
  for (const double value : {measured->speedup.median, measured->speedup.low, measured->speedup.high})
    cells.push_back(compared ? real_cell(value) : "");
  cells.push_back(std::to_string(deciding_samples(*measured).size()));
}

std::string line_of(const TuningRecord& record, const Trial& trial, std::vector<std::string> cells) {
  const Trial& timed = timed_trial(record.trials, trial.variant.id);
  const Dim3 block = trial.variant.block;
  const int id = trial.variant.id;
  cells.push_back(std::to_string(id));
  cells.push_back(text_cell(budget_text(trial.variant.policy)));
  cells.push_back(fmt::format("{}x{}x{}", block.x, block.y, block.z));
  cells.push_back(text_cell(spell(trial.variant.choice)));
  cells.push_back(status_of(timed));
  cells.push_back(std::to_string(timed.variant.id));
  add_facts(cells, timed);
  add_times(cells, timed);
  const auto& verdict = record.verdict;
  for (const bool is : {verdict && id == verdict->reference_id, verdict && id == verdict->best_id,
                        verdict && id == verdict->best_in_source_id})
    cells.emplace_back(is ? "1" : "0");
  cells.push_back(timed.facts ? text_cell(timed.facts->code_hash) : "");
  return fmt::format("{}\r\n", fmt::join(cells, ","));
}

}  // namespace

std::string csv_text(const std::vector<TuningRecord>& records) {
  std::string text = kHead;
  for (const TuningRecord& record : records) {
    const std::vector<std::string> of_run = run_cells(record);
    for (const Trial& trial : record.trials) text += line_of(record, trial, of_run);
  }
  return text;
}

}  // namespace regtune
