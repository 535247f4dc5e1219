#include "record_json.hpp"

#include <fmt/format.h>

#include <map>

#include "from_ptx.hpp"
#include "json_fields.hpp"
#include "measure_json.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {

using namespace json_fields;

constexpr unsigned kMostBlocks = 0x7fffffff;
constexpr unsigned kMostBlocksYZ = 65535;

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
  // Blocks and grids are divided by, and their volume has to fit 64 bits.
  for (const unsigned extent : {value.x, value.y, value.z})
    if (extent == 0 || extent > kMostBlocks)
      refuse("grid or block", json, "three numbers from 1 on, as CUDA takes them");
  if (value.y > kMostBlocksYZ || value.z > kMostBlocksYZ)
    refuse("grid or block", json, "of 65535 at the most in y and z");
}

void to_json(Json& json, const GpuId& gpu) {
  json = {{"name", gpu.name},
          {"compute_major", gpu.compute_major},
          {"compute_minor", gpu.compute_minor},
          {"sm_count", gpu.sm_count},
          {"memory_clock_mhz", gpu.memory_clock_mhz}};
}

void from_json(const Json& json, GpuId& gpu) {
  read(json, "name", gpu.name);
  read(json, "compute_major", gpu.compute_major);
  read(json, "compute_minor", gpu.compute_minor);
  read(json, "sm_count", gpu.sm_count);
  read_if_there(json, "memory_clock_mhz", gpu.memory_clock_mhz);
}
REGTUNE_JSON_FIELDS(GpuLimits, compute_major, compute_minor, max_threads_per_sm, max_blocks_per_sm, registers_per_sm,
                    registers_per_block, register_allocation_unit, sub_partitions_per_sm, max_registers_per_thread,
                    max_threads_per_block, shared_bytes_per_sm, shared_bytes_per_block, shared_bytes_per_block_optin,
                    reserved_shared_bytes_per_block, shared_allocation_unit_bytes)
REGTUNE_JSON_FIELDS(Interval, low, median, high)
REGTUNE_JSON_FIELDS(GpuState, id, limits, driver_version, memory_bytes, l2_bytes, other_users)
REGTUNE_JSON_FIELDS(LaunchShape, grid, block, dynamic_shared_bytes)

namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

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
  Json json{{"race", samples_json(m.race)},
            {"confirmation", samples_json(m.confirmation)},
            {"time_ms", m.time_ms},
            {"speedup", m.speedup}};
  if (!m.other_way.empty()) json["other_way"] = samples_json(m.other_way);
  return json;
}

Measurement measurement_from(const Json& json) {
  Measurement m{samples_from(at(json, "race")), samples_from(at(json, "confirmation")), read<Interval>(json, "time_ms"),
                read<Interval>(json, "speedup")};
  if (const Json* other_way = find(json, "other_way")) m.other_way = samples_from(*other_way);
  return m;
}

Json facts_json(const StaticFacts& f) {
  Json json{{"registers_per_thread", f.registers_per_thread},
            {"register_ceiling", f.register_ceiling},
            {"spill_store_bytes", f.spill_store_bytes},
            {"spill_load_bytes", f.spill_load_bytes},
            {"shared_spill_store_bytes", f.shared_spill_store_bytes},
            {"shared_spill_load_bytes", f.shared_spill_load_bytes},
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
  read_if_there(json, "shared_spill_store_bytes", f.shared_spill_store_bytes);
  read_if_there(json, "shared_spill_load_bytes", f.shared_spill_load_bytes);
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
                 [](const NotCompiled& o) -> Json {
                   return {{"kind", "not compiled"}, {"message", o.reason}};
                 },
                 [](const NotApplicable& o) -> Json {
                   return {{"kind", "not applicable"}, {"message", o.reason}};
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
                 [](const Quarantined& o) -> Json {
                   return {{"kind", "quarantined"}, {"message", o.reason}, {"since", o.since}};
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
  if (kind == "not compiled") return NotCompiled{read<std::string>(json, "message")};
  if (kind == "not applicable") return NotApplicable{read<std::string>(json, "message")};
  if (kind == "not launchable") return NotLaunchable{read<std::string>(json, "message")};
  if (kind == "same code as") return SameCodeAs{read<int>(json, "variant")};
  if (kind == "faulted") return Faulted{read<std::string>(json, "message")};
  if (kind == "timed out") return TimedOut{read<double>(json, "limit_ms")};
  if (kind == "wrong result") return WrongResult{read<std::string>(json, "message")};
  if (kind == "abandoned")
    return Abandoned{read<std::string>(json, "message"), measurement_from(at(json, "measurement"))};
  if (kind == "quarantined") return Quarantined{read<std::string>(json, "message"), read<std::string>(json, "since")};
  if (kind == "measured") return measurement_from(at(json, "measurement"));
  throw Error(ErrorKind::bad_description, fmt::format("'{}' is not a kind of outcome", kind));
}

Json trial_json(const Trial& trial) {
  Json json{{"variant", trial.variant.id},
            {"policy", policy_json(trial.variant.policy)},
            {"budget", spell(trial.variant.policy, trial.variant.choice.spills_to_shared)},
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
  if (v.speedup_other_way.median > 0) json["speedup_other_way"] = v.speedup_other_way;
  if (v.best_other_way_id) {
    json["best_other_way"] = *v.best_other_way_id;
    json["speedup_of_best_other_way"] = v.speedup_of_best_other_way;
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
  if (find(json, "speedup_other_way")) read(json, "speedup_other_way", verdict.speedup_other_way);
  if (find(json, "best_other_way")) {
    verdict.best_other_way_id = read_id(json, "best_other_way", trials);
    read(json, "speedup_of_best_other_way", verdict.speedup_of_best_other_way);
  }
  return verdict;
}

}  // namespace

Json static_facts_json(const StaticFacts& facts) {
  return facts_json(facts);
}

StaticFacts static_facts_from_json(const Json& json) {
  return facts_from(json);
}

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
  if (choice.spills_to_shared) json["spills_to_shared"] = true;
  return json;
}

SourceChoice choice_from_json(const Json& json) {
  SourceChoice choice{read<bool>(json, "renamed"), read<int>(json, "register_usage_level"),
                      read<std::map<std::string, std::string>>(json, "macros")};
  if (find(json, "instance")) choice.instance = read<std::string>(json, "instance");
  read_if_there(json, "spills_to_shared", choice.spills_to_shared);
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
            {"settings", settings_json(r.settings)},
            {"trials", Json::array()},
            {"verdict", nullptr}};
  if (r.gpu) json["gpu"] = *r.gpu;
  for (const Trial& trial : r.trials) {
    Json& written = json["trials"].emplace_back(trial_json(trial));
    const auto* measured = std::get_if<Measurement>(&trial.outcome);
    if (measured && r.work != Work{}) written["rates"] = rates_json(r.work, measured->time_ms.median);
  }
  if (!r.route.empty()) json["route"] = r.route;
  if (!r.source_notes.empty()) json["source_notes"] = r.source_notes;
  if (!r.guesses.empty()) json["guesses"] = r.guesses;
  if (!r.description.empty()) json["description"] = r.description;
  if (!r.description.empty()) json["description_folder"] = r.description_folder;
  if (r.clocks) json["clocks"] = clocks_json(*r.clocks);
  if (r.work != Work{}) json["work"] = work_json(r.work);
  if (r.counters) json["counters"] = counters_json(*r.counters);
  if (!r.author_bounds.empty()) json["author_bounds"] = r.author_bounds;
  if (!r.command_line.empty()) json["command_line"] = r.command_line;
  if (r.nvcc) json["nvcc"] = nvcc_json(*r.nvcc);
  if (r.gpu_seconds > 0) json["gpu_seconds"] = r.gpu_seconds;
  if (r.verdict) json["verdict"] = verdict_json(*r.verdict);
  if (is_from_ptx(r)) json["from_ptx"] = true;  // told, and never read: the compiler says it
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
    if (find(json, "source_notes")) read(json, "source_notes", r.source_notes);
    read(json, "options", r.options);
    read_if_there(json, "author_bounds", r.author_bounds);
    read_if_there(json, "command_line", r.command_line);
    read(json, "kernel", r.kernel);
    read(json, "signature", r.signature);
    read(json, "sizes", r.sizes);
    read(json, "arguments", r.arguments);
    if (find(json, "guesses")) read(json, "guesses", r.guesses);
    if (find(json, "description")) {
      read(json, "description", r.description);
      read(json, "description_folder", r.description_folder);
    }
    read(json, "author_shape", r.author_shape);
    r.settings = settings_from_json(at(json, "settings"));
    if (const Json* clocks = find(json, "clocks")) r.clocks = clocks_from_json(*clocks);
    if (const Json* work = find(json, "work")) r.work = work_from_json(*work);
    if (const Json* counters = find(json, "counters")) r.counters = counters_from_json(*counters);
    if (find(json, "gpu_seconds")) read(json, "gpu_seconds", r.gpu_seconds);
    r.trials = trials_from(at(json, "trials"));
    if (const Json& v = at(json, "verdict"); !v.is_null()) r.verdict = verdict_from(v, r.trials.size());
    if (const Json* nvcc = find(json, "nvcc")) r.nvcc = nvcc_from_json(*nvcc, r.trials.size());
    return r;
  } catch (const Json::exception& failure) {
    throw Error(ErrorKind::bad_description,
                fmt::format("{}: not a complete regtune record ({}); record the run again", file, failure.what()));
  } catch (const Error& failure) {
    throw Error(failure.kind(), fmt::format("{}: {}; record the run again", file, failure.what()));
  }
}

}  // namespace regtune
