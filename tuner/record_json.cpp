#include "record_json.hpp"

#include <fmt/format.h>

#include <map>
#include <type_traits>
#include <utility>

#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {

using Json = nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& key, const Json& json, const char* expected) {
  const std::string found = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw Error(ErrorKind::bad_description, fmt::format("'{}' must be {}, not {}{}", key, expected, found.substr(0, 60),
                                                      found.size() > 60 ? "..." : ""));
}

// The library alone takes true and 1e300 for an int, and names no key when it refuses a type.
template <class T>
void read_value(const Json& json, const std::string& key, T& target) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) refuse(key, json, "true or false");
  } else if constexpr (std::is_integral_v<T>) {
    if (!json.is_number_integer()) refuse(key, json, "a whole number");
    if (!(json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                    : std::in_range<T>(json.get<std::int64_t>())))
      refuse(key, json, "a number that fits");
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number()) refuse(key, json, "a number");
  }
  try {
    json.get_to(target);
  } catch (const Json::type_error&) {
    refuse(key, json, "of another type");
  }
}

template <class T>
void read_value(const Json& json, const std::string& key, std::vector<T>& target) {
  if (!json.is_array()) refuse(key, json, "a list");
  target.clear();
  for (const Json& element : json) read_value(element, key, target.emplace_back());
}

template <class T>
void read_value(const Json& json, const std::string& key, std::map<std::string, T>& target) {
  if (!json.is_object()) refuse(key, json, "an object");
  target.clear();
  for (const auto& [name, value] : json.items()) read_value(value, key + "." + name, target[name]);
}

const Json& at(const Json& json, const char* key) {
  if (!json.is_object()) refuse(fmt::format("what holds {}", key), json, "an object");
  const auto found = json.find(key);
  if (found == json.end()) throw Error(ErrorKind::bad_description, fmt::format("the key '{}' is missing", key));
  return *found;
}

template <class T>
void read(const Json& json, const char* key, T& target) {
  read_value(at(json, key), key, target);
}

template <class T>
T read(const Json& json, const char* key) {
  T value{};
  read(json, key, value);
  return value;
}

// Null where `at` would refuse: for keys that are left out when they hold nothing.
const Json* find(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

#define REGTUNE_WRITE_FIELD(field) json[#field] = value.field;
#define REGTUNE_READ_FIELD(field) read(json, #field, value.field);
#define REGTUNE_JSON_FIELDS(Type, ...)                                          \
  void to_json(Json& json, const Type& value) {                                 \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(REGTUNE_WRITE_FIELD, __VA_ARGS__)) \
  }                                                                             \
  void from_json(const Json& json, Type& value) {                               \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(REGTUNE_READ_FIELD, __VA_ARGS__))  \
  }

void to_json(Json& json, const Dim3& value) {
  json = {value.x, value.y, value.z};
}

void from_json(const Json& json, Dim3& value) {
  if (!json.is_array() || json.size() != 3) refuse("grid or block", json, "a list of three numbers");
  read_value(json[0], "x", value.x);
  read_value(json[1], "y", value.y);
  read_value(json[2], "z", value.z);
}

REGTUNE_JSON_FIELDS(GpuId, name, compute_major, compute_minor, sm_count)
REGTUNE_JSON_FIELDS(GpuLimits, compute_major, compute_minor, max_threads_per_sm, max_blocks_per_sm, registers_per_sm,
                    registers_per_block, register_allocation_unit, sub_partitions_per_sm, max_registers_per_thread,
                    max_threads_per_block, shared_bytes_per_sm, shared_bytes_per_block, shared_bytes_per_block_optin,
                    reserved_shared_bytes_per_block, shared_allocation_unit_bytes)
REGTUNE_JSON_FIELDS(Interval, low, median, high)
REGTUNE_JSON_FIELDS(MeasureSettings, margin, confidence, budget_s, timeout_ms, seed, launches_per_sample, restored)
REGTUNE_JSON_FIELDS(GpuState, id, limits, driver_version, memory_bytes, l2_bytes, other_users)
REGTUNE_JSON_FIELDS(LaunchShape, grid, block, dynamic_shared_bytes)

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class Enum>
Enum read_enum(const Json& json, const char* key, std::optional<Enum> (*parse)(std::string_view)) {
  if (const std::optional<Enum> value = parse(read<std::string>(json, key))) return *value;
  refuse(key, at(json, key), "one of the values known here");
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
  const auto rounds = read<std::vector<int>>(json, "round");
  const auto times = read<std::vector<double>>(json, "ms");
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
  return {samples_from(at(json, "race")), samples_from(at(json, "confirmation")), read<Interval>(json, "time_ms"),
          read<Interval>(json, "speedup")};
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
  read(json, "registers_per_thread", f.registers_per_thread);
  read(json, "register_ceiling", f.register_ceiling);
  read(json, "spill_store_bytes", f.spill_store_bytes);
  read(json, "spill_load_bytes", f.spill_load_bytes);
  read(json, "stack_frame_bytes", f.stack_frame_bytes);
  read(json, "static_shared_bytes", f.static_shared_bytes);
  read(json, "max_threads_per_block", f.max_threads_per_block);
  read(json, "required_threads_per_block", f.required_threads_per_block);
  read(json, "code_hash", f.code_hash);
  const Json& budget = at(json, "budget");
  f.budget = {read_enum(budget, "status", budget_status_from_string), read<int>(budget, "asked"),
              read<std::string>(budget, "note")};
  if (const Json& occupancy = at(json, "occupancy"); !occupancy.is_null())
    f.occupancy = Occupancy{read<int>(occupancy, "active_blocks_per_sm"), read<double>(occupancy, "fraction"),
                            read_enum(occupancy, "limiter", limiter_from_string)};
  return f;
}

Json outcome_json(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const NotTimed&) -> Json {
                   return {{"kind", "not timed"}};
                 },
                 [](const CompileFailed& o) -> Json {
                   return {{"kind", "compile failed"}, {"message", o.message}};
                 },
                 [](const NotLaunchable& o) -> Json {
                   return {{"kind", "not launchable"}, {"message", o.reason}};
                 },
                 [](const SameCodeAs& o) -> Json {
                   return {{"kind", "same code as"}, {"variant", o.variant_id}};
                 },
                 [](const Faulted& o) -> Json {
                   return {{"kind", "faulted"}, {"message", o.message}};
                 },
                 [](const TimedOut& o) -> Json {
                   return {{"kind", "timed out"}, {"limit_ms", o.limit_ms}};
                 },
                 [](const WrongResult& o) -> Json {
                   return {{"kind", "wrong result"}, {"message", o.message}};
                 },
                 [](const Abandoned& o) -> Json {
                   return {{"kind", "abandoned"}, {"message", o.reason}, {"measurement", measurement_json(o.so_far)}};
                 },
                 [](const Measurement& o) -> Json {
                   return {{"kind", "measured"}, {"measurement", measurement_json(o)}};
                 }},
      outcome);
}

Outcome outcome_from(const Json& json) {
  const auto kind = read<std::string>(json, "kind");
  if (kind == "not timed") return NotTimed{};
  if (kind == "compile failed") return CompileFailed{read<std::string>(json, "message")};
  if (kind == "not launchable") return NotLaunchable{read<std::string>(json, "message")};
  if (kind == "same code as") return SameCodeAs{read<int>(json, "variant")};
  if (kind == "faulted") return Faulted{read<std::string>(json, "message")};
  if (kind == "timed out") return TimedOut{read<double>(json, "limit_ms")};
  if (kind == "wrong result") return WrongResult{read<std::string>(json, "message")};
  if (kind == "abandoned")
    return Abandoned{read<std::string>(json, "message"), measurement_from(at(json, "measurement"))};
  if (kind == "measured") return measurement_from(at(json, "measurement"));
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a kind of outcome", kind));
}

Json trial_json(const Trial& trial) {
  Json json{{"variant", trial.variant.id},
            {"policy", policy_json(trial.variant.policy)},
            {"budget", spell(trial.variant.policy)},
            {"shape", trial.shape},
            {"facts", nullptr},
            {"outcome", outcome_json(trial.outcome)}};
  if (!trial.variant.choice.is_authors()) json["choice"] = choice_json(trial.variant.choice);
  if (trial.facts) json["facts"] = facts_json(*trial.facts);
  return json;
}

Trial trial_from(const Json& json) {
  Trial trial;
  read(json, "shape", trial.shape);
  trial.variant = {read<int>(json, "variant"), policy_from_json(at(json, "policy")), trial.shape.block};
  if (const Json* choice = find(json, "choice")) trial.variant.choice = choice_from_json(*choice);
  if (const Json& facts = at(json, "facts"); !facts.is_null()) trial.facts = facts_from(facts);
  trial.outcome = outcome_from(at(json, "outcome"));
  return trial;
}

// Variants name each other by id, which is the place in the list.
int read_id(const Json& json, const char* key, std::size_t count) {
  const int id = read<int>(json, key);
  if (id < 0 || static_cast<std::size_t>(id) >= count) refuse(key, id, "the id of a variant of this record");
  return id;
}

std::vector<Trial> trials_from(const Json& json) {
  if (!json.is_array() || json.empty()) refuse("trials", json, "a list with the author's code first");
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < json.size(); ++i) {
    try {
      trials.push_back(trial_from(json[i]));
      if (trials.back().variant.id != static_cast<int>(i))
        refuse("variant", trials.back().variant.id, "the place in the list");
      if (std::holds_alternative<SameCodeAs>(trials.back().outcome)) read_id(at(json[i], "outcome"), "variant", i);
    } catch (const Error& failure) {
      throw Error(failure.kind(), fmt::format("trials[{}]: {}", i, failure.what()));
    }
  }
  return trials;
}

Json verdict_json(const Verdict& v) {
  Json json{{"kind", to_string(v.kind)}, {"reference", v.reference_id},
            {"best", v.best_id},         {"best_in_source", v.best_in_source_id},
            {"speedup", v.speedup},      {"speedup_in_source", v.speedup_in_source},
            {"reason", v.reason}};
  if (v.best_renamed_id) {
    json["best_renamed"] = *v.best_renamed_id;
    json["speedup_renamed"] = v.speedup_renamed;
  }
  return json;
}

Verdict verdict_from(const Json& json, std::size_t trials) {
  Verdict verdict{read_enum(json, "kind", verdict_kind_from_string),
                  read_id(json, "reference", trials),
                  read_id(json, "best", trials),
                  read_id(json, "best_in_source", trials),
                  read<Interval>(json, "speedup"),
                  read<Interval>(json, "speedup_in_source"),
                  read<std::string>(json, "reason")};
  if (find(json, "best_renamed")) {
    verdict.best_renamed_id = read_id(json, "best_renamed", trials);
    read(json, "speedup_renamed", verdict.speedup_renamed);
  }
  return verdict;
}

}  // namespace

Json policy_json(const RegisterPolicy& policy) {
  return std::visit(Overloaded{[](const AuthorsOwn&) -> Json {
                                 return {{"kind", "author"}};
                               },
                               [](const CompilerDefault&) -> Json {
                                 return {{"kind", "none"}};
                               },
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
  const auto kind = read<std::string>(json, "kind");
  if (kind == "author") return AuthorsOwn{};
  if (kind == "none") return CompilerDefault{};
  if (kind == "cap") return RegisterCap{read<int>(json, "registers_per_thread")};
  if (kind == "bounds")
    return LaunchBounds{read<int>(json, "max_threads_per_block"), read<int>(json, "min_blocks_per_sm")};
  if (kind == "maxnreg") return MaxRegisters{read<int>(json, "registers_per_thread")};
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a kind of register budget", kind));
}

Json choice_json(const SourceChoice& choice) {
  Json json{
      {"renamed", choice.renamed}, {"register_usage_level", choice.register_usage_level}, {"macros", choice.macros}};
  if (!choice.instance.empty()) json["instance"] = choice.instance;
  return json;
}

SourceChoice choice_from_json(const Json& json) {
  SourceChoice choice{read<bool>(json, "renamed"), read<int>(json, "register_usage_level"),
                      read<std::map<std::string, std::string>>(json, "macros")};
  if (find(json, "instance")) choice.instance = read<std::string>(json, "instance");
  if (choice.register_usage_level < -1 || choice.register_usage_level > 10)
    refuse("register_usage_level", choice.register_usage_level, "0 to 10, or -1 where it was not given");
  return choice;
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
  if (!r.route.empty()) json["route"] = r.route;
  if (r.verdict) json["verdict"] = verdict_json(*r.verdict);
  return json;
}

TuningRecord record_from_json(const Json& json, const std::string& file) {
  try {
    if (at(json, "format") != "regtune record" || at(json, "format_version") != 1)
      throw Error(ErrorKind::bad_description, "not a regtune record of format version 1");
    TuningRecord r;
    read(json, "regtune_version", r.regtune_version);
    read(json, "started", r.started);
    read(json, "host", r.host);
    read(json, "architecture", r.architecture);
    if (!at(json, "gpu").is_null()) r.gpu = read<GpuState>(json, "gpu");
    read(json, "compiler", r.compiler);
    if (find(json, "route")) read(json, "route", r.route);
    read(json, "source_path", r.source_path);
    read(json, "source_hash", r.source_hash);
    read(json, "options", r.options);
    read(json, "kernel", r.kernel);
    read(json, "signature", r.signature);
    read(json, "sizes", r.sizes);
    read(json, "arguments", r.arguments);
    read(json, "author_shape", r.author_shape);
    read(json, "settings", r.settings);
    r.trials = trials_from(at(json, "trials"));
    if (const Json& v = at(json, "verdict"); !v.is_null()) r.verdict = verdict_from(v, r.trials.size());
    return r;
  } catch (const Json::exception& failure) {
    throw Error(ErrorKind::bad_description, fmt::format("{}: not a complete regtune record: {}", file, failure.what()));
  } catch (const Error& failure) {
    throw Error(failure.kind(), fmt::format("{}: {}", file, failure.what()));
  }
}

}  // namespace regtune
