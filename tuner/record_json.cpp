#include "record_json.hpp"

#include <fmt/format.h>

#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuId, name, compute_major, compute_minor, sm_count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuLimits, compute_major, compute_minor, max_threads_per_sm, max_blocks_per_sm,
                                   registers_per_sm, registers_per_block, register_allocation_unit,
                                   sub_partitions_per_sm, max_registers_per_thread, max_threads_per_block,
                                   shared_bytes_per_sm, shared_bytes_per_block, shared_bytes_per_block_optin,
                                   reserved_shared_bytes_per_block, shared_allocation_unit_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Interval, low, median, high)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureSettings, margin, confidence, budget_s, timeout_ms, seed,
                                   launches_per_sample, restored)

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

template <class Enum>
Enum enum_from(const Json& json, std::optional<Enum> (*parse)(std::string_view)) {
  const auto text = json.get<std::string>();
  if (const std::optional<Enum> value = parse(text)) return *value;
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a value that is known here", text));
}

// Samples as two arrays: a recorded sweep holds thousands.
Json samples_json(const std::vector<Sample>& samples) {
  Json rounds = Json::array();
  Json times = Json::array();
  for (const Sample& sample : samples) {
    rounds.push_back(sample.round);
    times.push_back(sample.ms);
  }
  return {{"round", rounds}, {"ms", times}};
}

std::vector<Sample> samples_from(const Json& json) {
  const auto rounds = json.at("round").get<std::vector<int>>();
  const auto times = json.at("ms").get<std::vector<double>>();
  if (rounds.size() != times.size())
    throw Error(ErrorKind::bad_description, "samples: 'round' and 'ms' differ in length");
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < rounds.size(); ++i) samples.push_back({rounds[i], times[i]});
  return samples;
}

Json measurement_json(const Measurement& m) {
  return {{"race", samples_json(m.race)},
          {"confirmation", samples_json(m.confirmation)},
          {"time_ms", m.time_ms},
          {"speedup", m.speedup}};
}

Measurement measurement_from(const Json& json) {
  return {samples_from(json.at("race")), samples_from(json.at("confirmation")), json.at("time_ms").get<Interval>(),
          json.at("speedup").get<Interval>()};
}

Json facts_json(const StaticFacts& f) {
  Json json{{"registers_per_thread", f.registers_per_thread},
            {"register_ceiling", f.register_ceiling},
            {"spill_store_bytes", f.spill_store_bytes},
            {"spill_load_bytes", f.spill_load_bytes},
            {"stack_frame_bytes", f.stack_frame_bytes},
            {"static_shared_bytes", f.static_shared_bytes},
            {"max_threads_per_block", f.max_threads_per_block},
            {"required_threads_per_block", f.required_threads_per_block},
            {"code_hash", f.code_hash},
            {"budget", {{"status", to_string(f.budget.status)}, {"asked", f.budget.asked}, {"note", f.budget.note}}},
            {"occupancy", nullptr}};
  if (f.occupancy)
    json["occupancy"] = {{"active_blocks_per_sm", f.occupancy->active_blocks_per_sm},
                         {"fraction", f.occupancy->fraction},
                         {"limiter", to_string(f.occupancy->limiter)}};
  return json;
}

StaticFacts facts_from(const Json& json) {
  StaticFacts f;
  json.at("registers_per_thread").get_to(f.registers_per_thread);
  json.at("register_ceiling").get_to(f.register_ceiling);
  json.at("spill_store_bytes").get_to(f.spill_store_bytes);
  json.at("spill_load_bytes").get_to(f.spill_load_bytes);
  json.at("stack_frame_bytes").get_to(f.stack_frame_bytes);
  json.at("static_shared_bytes").get_to(f.static_shared_bytes);
  json.at("max_threads_per_block").get_to(f.max_threads_per_block);
  json.at("required_threads_per_block").get_to(f.required_threads_per_block);
  json.at("code_hash").get_to(f.code_hash);
  const Json& budget = json.at("budget");
  f.budget = {enum_from(budget.at("status"), budget_status_from_string), budget.at("asked"), budget.at("note")};
  if (const Json& occupancy = json.at("occupancy"); !occupancy.is_null())
    f.occupancy = Occupancy{occupancy.at("active_blocks_per_sm"), occupancy.at("fraction"),
                            enum_from(occupancy.at("limiter"), limiter_from_string)};
  return f;
}

Json outcome_json(const Outcome& outcome) {
  return std::visit(
      Overloaded{
          [](const NotTimed&) -> Json { return {{"kind", "not timed"}}; },
          [](const CompileFailed& o) -> Json { return {{"kind", "compile failed"}, {"message", o.message}}; },
          [](const NotLaunchable& o) -> Json { return {{"kind", "not launchable"}, {"message", o.reason}}; },
          [](const SameCodeAs& o) -> Json { return {{"kind", "same code as"}, {"variant", o.variant_id}}; },
          [](const Faulted& o) -> Json { return {{"kind", "faulted"}, {"message", o.message}}; },
          [](const TimedOut& o) -> Json { return {{"kind", "timed out"}, {"limit_ms", o.limit_ms}}; },
          [](const WrongResult& o) -> Json { return {{"kind", "wrong result"}, {"message", o.message}}; },
          [](const Abandoned& o) -> Json {
            return {{"kind", "abandoned"}, {"message", o.reason}, {"measurement", measurement_json(o.so_far)}};
          },
          [](const Measurement& o) -> Json { return {{"kind", "measured"}, {"measurement", measurement_json(o)}}; }},
      outcome);
}

Outcome outcome_from(const Json& json) {
  const auto kind = json.at("kind").get<std::string>();
  if (kind == "not timed") return NotTimed{};
  if (kind == "compile failed") return CompileFailed{json.at("message")};
  if (kind == "not launchable") return NotLaunchable{json.at("message")};
  if (kind == "same code as") return SameCodeAs{json.at("variant")};
  if (kind == "faulted") return Faulted{json.at("message")};
  if (kind == "timed out") return TimedOut{json.at("limit_ms")};
  if (kind == "wrong result") return WrongResult{json.at("message")};
  if (kind == "abandoned") return Abandoned{json.at("message"), measurement_from(json.at("measurement"))};
  if (kind == "measured") return measurement_from(json.at("measurement"));
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a kind of outcome", kind));
}

Json trial_json(const Trial& trial) {
  Json json{{"variant", trial.variant.id},
            {"policy", policy_json(trial.variant.policy)},
            {"budget", spell(trial.variant.policy)},
            {"shape", trial.shape},
            {"facts", nullptr},
            {"outcome", outcome_json(trial.outcome)}};
  if (trial.facts) json["facts"] = facts_json(*trial.facts);
  return json;
}

Trial trial_from(const Json& json) {
  Trial trial;
  trial.shape = json.at("shape").get<LaunchShape>();
  trial.variant = {json.at("variant"), policy_from_json(json.at("policy")), trial.shape.block};
  if (!json.at("facts").is_null()) trial.facts = facts_from(json.at("facts"));
  trial.outcome = outcome_from(json.at("outcome"));
  return trial;
}

}  // namespace

void to_json(Json& json, const Dim3& value) { json = {value.x, value.y, value.z}; }

void from_json(const Json& json, Dim3& value) {
  value = {json.at(0).get<unsigned>(), json.at(1).get<unsigned>(), json.at(2).get<unsigned>()};
}

void to_json(Json& json, const GpuState& value) {
  json = {{"id", value.id},
          {"limits", value.limits},
          {"driver_version", value.driver_version},
          {"memory_bytes", value.memory_bytes},
          {"l2_bytes", value.l2_bytes},
          {"other_users", value.other_users}};
}

void from_json(const Json& json, GpuState& value) {
  json.at("id").get_to(value.id);
  json.at("limits").get_to(value.limits);
  json.at("driver_version").get_to(value.driver_version);
  json.at("memory_bytes").get_to(value.memory_bytes);
  json.at("l2_bytes").get_to(value.l2_bytes);
  json.at("other_users").get_to(value.other_users);
}

void to_json(Json& json, const LaunchShape& value) {
  json = {{"grid", value.grid}, {"block", value.block}, {"dynamic_shared_bytes", value.dynamic_shared_bytes}};
}

void from_json(const Json& json, LaunchShape& value) {
  json.at("grid").get_to(value.grid);
  json.at("block").get_to(value.block);
  json.at("dynamic_shared_bytes").get_to(value.dynamic_shared_bytes);
}

Json policy_json(const RegisterPolicy& policy) {
  return std::visit(
      Overloaded{[](const AuthorsOwn&) -> Json { return {{"kind", "author"}}; },
                 [](const CompilerDefault&) -> Json { return {{"kind", "none"}}; },
                 [](const RegisterCap& p) -> Json {
                   return {{"kind", "cap"}, {"registers_per_thread", p.registers_per_thread}};
                 },
                 [](const LaunchBounds& p) -> Json {
                   return {{"kind", "bounds"},
                           {"max_threads_per_block", p.max_threads_per_block},
                           {"min_blocks_per_sm", p.min_blocks_per_sm}};
                 },
                 [](const MaxRegisters& p) -> Json {
                   return {{"kind", "maxnreg"}, {"registers_per_thread", p.registers_per_thread}};
                 }},
      policy);
}

RegisterPolicy policy_from_json(const Json& json) {
  const auto kind = json.at("kind").get<std::string>();
  if (kind == "author") return AuthorsOwn{};
  if (kind == "none") return CompilerDefault{};
  if (kind == "cap") return RegisterCap{json.at("registers_per_thread")};
  if (kind == "bounds") return LaunchBounds{json.at("max_threads_per_block"), json.at("min_blocks_per_sm")};
  if (kind == "maxnreg") return MaxRegisters{json.at("registers_per_thread")};
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a kind of register budget", kind));
}

Json record_json(const TuningRecord& r) {
  Json json{{"format", "regtune record"},
            {"format_version", 1},
            {"regtune_version", r.regtune_version},
            {"started", r.started},
            {"host", r.host},
            {"architecture", r.architecture},
            {"gpu", nullptr},
            {"compiler", r.compiler},
            {"source_path", r.source_path},
            {"source_hash", r.source_hash},
            {"options", r.options},
            {"kernel", r.kernel},
            {"signature", r.signature},
            {"sizes", r.sizes},
            {"arguments", r.arguments},
            {"author_shape", r.author_shape},
            {"settings", r.settings},
            {"trials", Json::array()},
            {"verdict", nullptr}};
  if (r.gpu) json["gpu"] = *r.gpu;
  for (const Trial& trial : r.trials) json["trials"].push_back(trial_json(trial));
  if (r.verdict) {
    const Verdict& v = *r.verdict;
    json["verdict"] = {{"kind", to_string(v.kind)},
                       {"reference", v.reference_id},
                       {"best", v.best_id},
                       {"best_in_source", v.best_in_source_id},
                       {"speedup", v.speedup},
                       {"speedup_in_source", v.speedup_in_source},
                       {"reason", v.reason}};
  }
  return json;
}

TuningRecord record_from_json(const Json& json, const std::string& file) {
  try {
    if (json.at("format") != "regtune record" || json.at("format_version") != 1)
      throw Error(ErrorKind::bad_description, "not a regtune record of format version 1");
    TuningRecord r;
    json.at("regtune_version").get_to(r.regtune_version);
    json.at("started").get_to(r.started);
    json.at("host").get_to(r.host);
    json.at("architecture").get_to(r.architecture);
    if (!json.at("gpu").is_null()) r.gpu = json.at("gpu").get<GpuState>();
    json.at("compiler").get_to(r.compiler);
    json.at("source_path").get_to(r.source_path);
    json.at("source_hash").get_to(r.source_hash);
    json.at("options").get_to(r.options);
    json.at("kernel").get_to(r.kernel);
    json.at("signature").get_to(r.signature);
    json.at("sizes").get_to(r.sizes);
    json.at("arguments").get_to(r.arguments);
    json.at("author_shape").get_to(r.author_shape);
    json.at("settings").get_to(r.settings);
    for (const Json& trial : json.at("trials")) r.trials.push_back(trial_from(trial));
    if (const Json& v = json.at("verdict"); !v.is_null())
      r.verdict = Verdict{enum_from(v.at("kind"), verdict_kind_from_string),
                          v.at("reference"),
                          v.at("best"),
                          v.at("best_in_source"),
                          v.at("speedup").get<Interval>(),
                          v.at("speedup_in_source").get<Interval>(),
                          v.at("reason")};
    return r;
  } catch (const Json::exception& failure) {
    throw Error(ErrorKind::bad_description, fmt::format("{}: not a complete regtune record: {}", file, failure.what()));
  } catch (const Error& failure) {
    throw Error(failure.kind(), fmt::format("{}: {}", file, failure.what()));
  }
}

}  // namespace regtune
