#include "exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "decide.hpp"
#include "distinct_codes.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

using Json = nlohmann::ordered_json;

// Without commas, which separate the values of a configuration in Kernel Tuner's keys, and without leading dashes,
// which a spreadsheet takes for a formula.
std::string budget_word(const RegisterPolicy& policy) {
  if (std::holds_alternative<AuthorsOwn>(policy)) return "author";
  if (std::holds_alternative<CompilerDefault>(policy)) return "none";
  if (const auto* cap = std::get_if<RegisterCap>(&policy))
    return fmt::format("maxrregcount {}", cap->registers_per_thread);
  if (const auto* most = std::get_if<MaxRegisters>(&policy))
    return fmt::format("maxnreg {}", most->registers_per_thread);
  if (const auto* bounds = std::get_if<LaunchBounds>(&policy))
    return bounds->min_blocks_per_sm == 0
               ? fmt::format("launch_bounds {}", bounds->max_threads_per_block)
               : fmt::format("launch_bounds {} {}", bounds->max_threads_per_block, bounds->min_blocks_per_sm);
  // A form that is newer than this file: its own spelling, made harmless.
  std::string word = spell(policy);
  std::erase(word, ',');
  return word;
}

// The parameters that a run varies, or could: the block and the budget always, a knob where there is one.
std::vector<std::string> named_parameters(const TuningRecord& record) {
  std::set<std::string> macros;
  bool renamed = false;
  bool levels = false;
  bool instances = false;
  for (const Trial& trial : record.trials) {
    const SourceChoice& choice = trial.variant.choice;
    for (const auto& [name, value] : choice.macros) macros.insert(name);
    renamed = renamed || choice.renamed;
    levels = levels || choice.register_usage_level >= 0;
    instances = instances || !choice.instance.empty();
  }
  std::vector<std::string> names{"block_size_x", "block_size_y", "block_size_z", "budget"};
  if (renamed) names.emplace_back("renamed");
  if (levels) names.emplace_back("register_usage_level");
  if (instances) names.emplace_back("instance");
  for (const std::string& macro : macros)
    if (std::find(names.begin(), names.end(), macro) == names.end()) names.push_back(macro);
  return names;
}

// The knobs in words: for one that has no parameter of its own.
constexpr const char* kAllKnobs = "knobs";

std::string knobs_word(const SourceChoice& choice) {
  std::string word = spell(choice);
  std::erase(word, ',');
  return word.empty() ? "author" : word;
}

Json value_of(const Trial& trial, const std::string& parameter) {
  const SourceChoice& choice = trial.variant.choice;
  if (parameter == "block_size_x") return trial.variant.block.x;
  if (parameter == "block_size_y") return trial.variant.block.y;
  if (parameter == "block_size_z") return trial.variant.block.z;
  if (parameter == "budget") return budget_word(trial.variant.policy);
  if (parameter == "renamed") return choice.renamed ? 1 : 0;
  if (parameter == "register_usage_level") return choice.register_usage_level;
  if (parameter == "instance") return choice.instance.empty() ? "author" : choice.instance;
  if (parameter == kAllKnobs) return knobs_word(choice);
  const auto macro = choice.macros.find(parameter);
  return macro == choice.macros.end() ? "author" : macro->second;
}

Json configuration_of(const Trial& trial, const std::vector<std::string>& parameters) {
  Json configuration = Json::object();
  for (const std::string& parameter : parameters) configuration[parameter] = value_of(trial, parameter);
  return configuration;
}

// Two variants are never one configuration, whatever tells them apart.
std::vector<std::string> parameters_of(const TuningRecord& record) {
  std::vector<std::string> parameters = named_parameters(record);
  std::set<std::string> seen;
  for (const Trial& trial : record.trials)
    if (!seen.insert(configuration_of(trial, parameters).dump(-1, ' ', false, Json::error_handler_t::replace)).second) {
      parameters.emplace_back(kAllKnobs);
      break;
    }
  return parameters;
}

// What became of a variant, in the words of both formats; empty where it was never tried.
struct Fate {
  const char* t4 = nullptr;            // "invalidity"
  const char* kernel_tuner = nullptr;  // "__error__"; null: it has a time
};

std::optional<Fate> fate_of(const Trial& timed) {
  const Outcome& outcome = timed.outcome;
  if (measurement_of(timed)) return Fate{"correct", nullptr};
  if (std::holds_alternative<CompileFailed>(outcome)) return Fate{"compile", "CompilationFailedConfig"};
  if (std::holds_alternative<NotLaunchable>(outcome) || std::holds_alternative<NotApplicable>(outcome))
    return Fate{"constraints", "InvalidConfig"};
  if (std::holds_alternative<WrongResult>(outcome)) return Fate{"correctness", "RuntimeFailedConfig"};
  if (std::holds_alternative<TimedOut>(outcome)) return Fate{"timeout", "RuntimeFailedConfig"};
  if (std::holds_alternative<Faulted>(outcome) || std::holds_alternative<Quarantined>(outcome))
    return Fate{"runtime", "RuntimeFailedConfig"};
  return {};
}

double rounded_ms(double ms) {
  return std::isfinite(ms) ? ms : 0;
}

Json sample_times(const Measurement& measured) {
  Json times = Json::array();
  for (const Sample& sample : deciding_samples(measured)) times.push_back(rounded_ms(sample.ms));
  return times;
}

// GPU time that its samples took.
double benchmark_ms(const TuningRecord& record, const Measurement& measured) {
  double ms = 0;
  for (const std::vector<Sample>* part : {&measured.race, &measured.confirmation})
    for (const Sample& sample : *part) ms += rounded_ms(sample.ms) * record.settings.launches_per_sample;
  return ms;
}

void require_times(const TuningRecord& record, const char* format) {
  if (record.gpu && !record.trials.empty() && record.verdict) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: nothing was timed in that run of {}, and the format is about times; tune "
                          "on a machine with a GPU, or take CSV",
                          format, record.signature));
}

Json measured_value(const char* name, Json value, const char* unit) {
  return {{"name", name}, {"value", std::move(value)}, {"unit", unit}};
}

Json t4_measurements(const Trial& timed) {
  Json list = Json::array();
  if (const Measurement* measured = measurement_of(timed)) {
    list.push_back(measured_value("time", measured->time_ms.median, "ms"));
    list.push_back(measured_value("time_low", rounded_ms(measured->time_ms.low), "ms"));
    list.push_back(measured_value("time_high", rounded_ms(measured->time_ms.high), "ms"));
    list.push_back(measured_value("speedup", rounded_ms(measured->speedup.median), ""));
  }
  if (!timed.facts) return list;
  list.push_back(measured_value("registers_per_thread", timed.facts->registers_per_thread, ""));
  list.push_back(measured_value("spill_store_bytes", timed.facts->spill_store_bytes, "B"));
  list.push_back(measured_value("spill_load_bytes", timed.facts->spill_load_bytes, "B"));
  list.push_back(measured_value("stack_frame_bytes", timed.facts->stack_frame_bytes, "B"));
  if (timed.facts->occupancy) list.push_back(measured_value("occupancy", timed.facts->occupancy->fraction, ""));
  return list;
}

std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string t4_text(const TuningRecord& record) {
  require_times(record, "T4");
  const std::vector<std::string> parameters = parameters_of(record);
  Json results = Json::array();
  for (const Trial& trial : record.trials) {
    const Trial& timed = timed_trial(record.trials, trial.variant.id);
    const std::optional<Fate> fate = fate_of(timed);
    if (!fate) continue;
    const Measurement* measured = measurement_of(timed);
    Json times{{"runtimes", measured ? sample_times(*measured) : Json::array()}};
    if (measured) times["benchmark"] = benchmark_ms(record, *measured);
    results.push_back({{"timestamp", record.started},
                       {"configuration", configuration_of(trial, parameters)},
                       {"times", times},
                       {"invalidity", fate->t4},
                       {"correctness", std::string_view(fate->t4) == "correctness" ? 0 : 1},
                       {"measurements", t4_measurements(timed)},
                       {"objectives", {"time"}}});
  }
  const Json metadata{
      {"timeunit", "milliseconds"},
      {"environment",
       {{"device_query",
         {{"name", record.gpu->id.name},
          {"driver_version", record.gpu->driver_version},
          {"compute_cap", fmt::format("{}.{}", record.gpu->id.compute_major, record.gpu->id.compute_minor)}}},
        {"requirements", {"regtune " + record.regtune_version, record.compiler}}}},
      {"kernel_name", record.signature},
      {"sizes", record.sizes}};
  return dumped({{"schema_version", "1.0.0"}, {"metadata", metadata}, {"results", results}}, 1) + "\n";
}

std::string kernel_tuner_text(const TuningRecord& record) {
  require_times(record, "Kernel Tuner's cache");
  const std::vector<std::string> parameters = parameters_of(record);
  Json values = Json::object();
  for (const std::string& parameter : parameters) values[parameter] = Json::array();
  std::string entries;
  std::set<std::string> keys;
  for (const Trial& trial : record.trials) {
    const Trial& timed = timed_trial(record.trials, trial.variant.id);
    const std::optional<Fate> fate = fate_of(timed);
    if (!fate) continue;
    Json entry = configuration_of(trial, parameters);
    std::vector<std::string> words;
    for (const auto& [name, value] : entry.items())
      words.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    std::string key = fmt::format("{}", fmt::join(words, ","));
    if (!keys.insert(key).second) continue;
    for (const auto& [name, value] : entry.items()) {
      Json& seen = values[name];
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
    const Measurement* measured = measurement_of(timed);
    if (fate->kernel_tuner) {
      entry["__error__"] = fate->kernel_tuner;
      entry["time"] = fate->kernel_tuner;
      entry["times"] = Json::array();
    } else {
      entry["time"] = measured->time_ms.median;
      entry["times"] = sample_times(*measured);
    }
    // Kernel Tuner wants all of these; what regtune does not record by variant took no time that it knows of.
    for (const char* name : {"compile_time", "verification_time"}) entry[name] = 0;
    entry["benchmark_time"] = measured ? benchmark_ms(record, *measured) : 0.0;
    for (const char* name : {"strategy_time", "framework_time"}) entry[name] = 0;
    entry["timestamp"] = record.started;
    if (timed.facts) {
      entry["registers_per_thread"] = timed.facts->registers_per_thread;
      entry["spill_bytes"] = timed.facts->spilled_bytes();
      if (timed.facts->occupancy) entry["occupancy"] = timed.facts->occupancy->fraction;
    }
    entries += fmt::format("{}\n{}: {}", entries.empty() ? "" : ",", dumped(key), dumped(entry));
  }
  // The threads of the grid along each axis: what Kernel Tuner divides by the block.
  const LaunchShape& shape = record.author_shape;
  const Json problem{std::uint64_t{shape.grid.x} * shape.block.x, std::uint64_t{shape.grid.y} * shape.block.y,
                     std::uint64_t{shape.grid.z} * shape.block.z};
  // The head by lines, the configurations last and the two brackets at the end: where it looks for them.
  return fmt::format(
      "{{\n\"device_name\": {},\n\"kernel_name\": {},\n\"problem_size\": {},\n\"tune_params_keys\": {},\n"
      "\"tune_params\": {},\n\"objective\": \"time\",\n\"cache\": {{{}\n}}\n}}\n",
      dumped(record.gpu->id.name), dumped(record.signature), dumped(problem), dumped(parameters), dumped(values),
      entries);
}

}  // namespace regtune
