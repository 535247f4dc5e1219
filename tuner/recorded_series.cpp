#include "recorded_series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "decide.hpp"
#include "json_fields.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "signature.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kFirstRounds = 5;  // those that every code took part in

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::bad_description, fmt::format("{}; record the sweep again", what));
}

int number_in(std::string_view text, const std::string& label) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0)
    refuse(fmt::format("'{}' is not a label of a budget", label));
  return number;
}

struct Budget {
  RegisterPolicy policy;
  SourceChoice choice;
};

// "author", "none", "cap57", "lb256,2", "maxnreg64"; an option beside it ("x1cap57") makes it another choice.
Budget budget_of(const std::string& label) {
  std::string_view text = label;
  SourceChoice choice;
  if (text.size() > 2 && text.front() == 'x') {
    choice.macros["option"] = text.substr(1, 1);
    text.remove_prefix(2);
  }
  const auto after = [&](std::size_t at) { return number_in(text.substr(at), label); };
  if (text == "author") return {AuthorsOwn{}, choice};
  if (text == "none") return {CompilerDefault{}, choice};
  if (text.starts_with("cap")) return {RegisterCap{after(3)}, choice};
  if (text.starts_with("maxnreg")) return {MaxRegisters{after(7)}, choice};
  const auto comma = text.find(',');
  if (!text.starts_with("lb") || comma == std::string_view::npos)
    refuse(fmt::format("'{}' is not a label of a budget", label));
  return {LaunchBounds{number_in(text.substr(2, comma - 2), label), after(comma + 1)}, choice};
}

int count_in(const Json& json, const char* key) {
  const int count = json_fields::read<int>(json, key);
  if (count < 0) refuse(fmt::format("'{}' must not be negative, and is {}", key, count));
  return count;
}

double positive(double value, const char* what) {
  if (!(value > 0 && std::isfinite(value))) refuse(fmt::format("{}: {} is no time", what, value));
  return value;
}

RecordedCode code_from(const Json& json, const Json* series) {
  RecordedCode code{positive(json_fields::read<double>(json, "median_ms"), "median_ms"),
                    positive(json_fields::read<double>(json, "p10"), "p10"),
                    positive(json_fields::read<double>(json, "p90"), "p90"),
                    {}};
  if (series) json_fields::read_value(*series, "raw_ms", code.series);
  for (const double ms : code.series) positive(ms, "raw_ms");
  return code;
}

StaticFacts facts_from(const Json& json, std::size_t code, const GpuLimits& limits, const LaunchShape& shape) {
  StaticFacts facts;
  facts.registers_per_thread = count_in(json, "regs");
  facts.stack_frame_bytes = count_in(json, "local");
  facts.spill_store_bytes = count_in(json, "local");
  facts.static_shared_bytes = count_in(json, "shared");
  facts.code_hash = fmt::format("code {}", code);
  if (count_in(json, "n") == 0) return facts;
  facts.occupancy = occupancy(limits, {facts.registers_per_thread, facts.static_shared_bytes, 0, 0, 0}, shape.block);
  facts.occupancy->active_blocks_per_sm = count_in(json, "blocks_per_sm");
  return facts;
}

// Where the recording does not say: the GPU that the files in tests/data come from.
GpuState gpu_from(const Json& json, const std::string& architecture) {
  GpuState gpu;
  gpu.id.name = json.value("gpu", "NVIDIA H200");
  const std::optional<GpuLimits> limits = gpu_limits(architecture);
  if (!limits) refuse(fmt::format("'{}' is not an architecture that is known here", architecture));
  gpu.limits = *limits;
  gpu.id.compute_major = limits->compute_major;
  gpu.id.compute_minor = limits->compute_minor;
  gpu.driver_version = json.value("driver", "");
  return gpu;
}

struct LabelledCode {
  std::string label;
  std::size_t code;
};

// The author's first, as in any record.
std::vector<LabelledCode> labels_of(const Json& codes) {
  std::vector<LabelledCode> labels;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::istringstream words(codes[i].at("labels").get<std::string>());
    for (std::string label; words >> label;) labels.push_back({label, i});
  }
  const auto is_author = [](const LabelledCode& b) { return b.label == "author"; };
  std::stable_partition(labels.begin(), labels.end(), is_author);
  if (labels.empty() || !is_author(labels.front())) refuse("no code has the label 'author'");
  return labels;
}

RecordedSweep read_sweep(const Json& json) {
  RecordedSweep sweep;
  TuningRecord& record = sweep.record;
  record.kernel = json.at("kernel");
  record.signature = demangle(record.kernel);
  record.architecture = json.value("architecture", "sm_90");
  record.gpu = gpu_from(json, record.architecture);
  record.author_shape = {json_fields::read<Dim3>(json, "grid"), json_fields::read<Dim3>(json, "block"), 0};
  const Json& codes = json.at("codes");
  const Json* rounds = json.contains("raw_ms") ? &json.at("raw_ms") : nullptr;
  std::map<std::size_t, int> timed_as;
  for (const auto& [label, code] : labels_of(codes)) {
    const Budget budget = budget_of(label);
    const int id = static_cast<int>(record.trials.size());
    Trial trial{{id, budget.policy, record.author_shape.block, budget.choice}, record.author_shape, {}, NotTimed{}};
    trial.facts = facts_from(codes[code], code, record.gpu->limits, record.author_shape);
    const auto [first, is_new] = timed_as.try_emplace(code, id);
    if (codes[code].at("n") == 0) {
      trial.outcome = NotLaunchable{codes[code].at("error")};
    } else if (is_new) {
      const std::string key = std::to_string(code);
      sweep.codes[id] = code_from(codes[code], rounds && rounds->contains(key) ? &rounds->at(key) : nullptr);
    } else {
      trial.outcome = SameCodeAs{first->second};
    }
    record.trials.push_back(std::move(trial));
  }
  const std::optional<int> reference = choose_reference(record.trials);
  if (!reference) refuse("no code in it was timed");
  sweep.reference_id = timed_trial(record.trials, *reference).variant.id;
  const std::vector<double>& base = sweep.codes.at(sweep.reference_id).series;
  if (rounds && base.size() < kFirstRounds) refuse("the code to compare with has fewer than five rounds");
  for (const auto& [id, code] : sweep.codes)
    if (!code.series.empty() && code.series.size() != base.size())
      refuse("the series in raw_ms are not of the same rounds: their lengths differ");
  for (const double ms : base)
    sweep.reference_drift.push_back(ms / median({base.begin(), base.begin() + kFirstRounds}));
  return sweep;
}

}  // namespace

bool is_recorded_sweep(const Json& json) {
  return json.is_object() && json.contains("codes") && !json.contains("format");
}

RecordedSweep recorded_sweep_from_json(const Json& json, const std::string& file) {
  try {
    return read_sweep(json);
  } catch (const Json::exception& failure) {
    refuse(fmt::format("{}: not a complete recorded sweep: {}", file, failure.what()));
  } catch (const Error& failure) {
    throw Error(failure.kind(), fmt::format("{}: {}", file, failure.what()));
  }
}

double RecordedDevice::set_reference(const Candidate& reference) {
  reference_id_ = reference.id;
  return 0;  // no first launch was recorded
}

ReferenceRun RecordedDevice::warm_up(double) {
  ReferenceRun run;
  run.ms = time(reference_id_);
  run.can_flush = false;
  return run;
}

Shot RecordedDevice::sample_cold(const Candidate&) {
  return NotLaunchable{"no cold sample was recorded"};
}

Shot RecordedDevice::sample(const Candidate& candidate) {
  // A code that comes again opens another round.
  if (!in_round_.insert(candidate.id).second) {
    ++round_;
    in_round_ = {candidate.id};
  }
  return time(candidate.id);
}

double RecordedDevice::time(int id) const {
  const RecordedCode& code = sweep_.codes.at(id);
  if (!code.series.empty()) return code.series[round_ % code.series.size()];
  const std::vector<double>& drift = sweep_.reference_drift;
  return code.median_ms * (drift.empty() ? 1 : drift[round_ % drift.size()]);
}

}  // namespace regtune
