#include "trial_rows.hpp"

#include <map>
#include <type_traits>

#include "code_columns.hpp"
#include "columns.hpp"
#include "key.hpp"

namespace regtune {
namespace {

// The columns of an outcome; those that it has no use for stay NULL.
struct OutcomeColumns {
  const char* kind;
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> since = std::nullopt;
  std::optional<int> same_code_as = std::nullopt;
  std::optional<double> limit_ms = std::nullopt;
  const Measurement* measurement = nullptr;
};

OutcomeColumns columns_of(const Outcome& outcome) {
  return std::visit(
      [](const auto& value) -> OutcomeColumns {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, NotTimed>) {
          return {.kind = "not_timed"};
        } else if constexpr (std::is_same_v<T, CompileFailed>) {
          return {.kind = "compile_failed", .text = value.message};
        } else if constexpr (std::is_same_v<T, NotCompiled>) {
          return {.kind = "not_compiled", .text = value.reason};
        } else if constexpr (std::is_same_v<T, NotApplicable>) {
          return {.kind = "not_applicable", .text = value.reason};
        } else if constexpr (std::is_same_v<T, NotLaunchable>) {
          return {.kind = "not_launchable", .text = value.reason};
        } else if constexpr (std::is_same_v<T, SameCodeAs>) {
          return {.kind = "same_code_as", .same_code_as = value.variant_id};
        } else if constexpr (std::is_same_v<T, Faulted>) {
          return {.kind = "faulted", .text = value.message};
        } else if constexpr (std::is_same_v<T, TimedOut>) {
          return {.kind = "timed_out", .limit_ms = value.limit_ms};
        } else if constexpr (std::is_same_v<T, WrongResult>) {
          return {.kind = "wrong_result", .text = value.message};
        } else if constexpr (std::is_same_v<T, Abandoned>) {
          return {.kind = "abandoned", .text = value.reason, .measurement = &value.so_far};
        } else if constexpr (std::is_same_v<T, Quarantined>) {
          return {.kind = "quarantined", .text = value.reason, .since = value.since};
        } else {
          static_assert(std::is_same_v<T, Measurement>);
          return {.kind = "measured", .measurement = &value};
        }
      },
      outcome);
}

Outcome read_outcome(Columns& columns) {
  const std::string kind = columns.text();
  const std::string text = columns.text();
  const std::string since = columns.text();
  const int same_code_as = columns.number();
  const double limit_ms = columns.real();
  Measurement measurement;
  measurement.time_ms = columns.interval();
  measurement.speedup = columns.interval();
  if (kind == "not_timed") return NotTimed{};
  if (kind == "compile_failed") return CompileFailed{text};
  if (kind == "not_compiled") return NotCompiled{text};
  if (kind == "not_applicable") return NotApplicable{text};
  if (kind == "not_launchable") return NotLaunchable{text};
  if (kind == "same_code_as") return SameCodeAs{same_code_as};
  if (kind == "faulted") return Faulted{text};
  if (kind == "timed_out") return TimedOut{limit_ms};
  if (kind == "wrong_result") return WrongResult{text};
  if (kind == "abandoned") return Abandoned{text, measurement};
  if (kind == "quarantined") return Quarantined{text, since};
  if (kind == "measured") return measurement;
  columns.unknown(kind);
}

Measurement* measurement_in(Outcome& outcome) {
  if (auto* measured = std::get_if<Measurement>(&outcome)) return measured;
  if (auto* abandoned = std::get_if<Abandoned>(&outcome)) return &abandoned->so_far;
  return nullptr;
}

constexpr std::int64_t authors_choice = 0;  // the row that the schema itself inserts

std::optional<std::int64_t> find_choice(Database& database, const SourceChoice& choice) {
  if (choice.is_authors()) return authors_choice;
  Statement select(database, "SELECT id FROM source_choice WHERE choice_hash = ?");
  return select.bind(hash_of(choice)).step() ? std::optional(select.integer(0)) : std::nullopt;
}

std::int64_t find_or_add_choice(Database& database, const SourceChoice& choice) {
  if (const auto id = find_choice(database, choice)) return *id;
  Statement(database, "INSERT INTO source_choice VALUES (NULL, ?, ?, ?, ?, ?)")
      .run(hash_of(choice), choice.renamed, choice.register_usage_level, choice.instance, choice.spills_to_shared);
  const std::int64_t id = database.last_insert_id();
  Statement insert(database, "INSERT INTO source_choice_macro VALUES (?, ?, ?)");
  for (const auto& [name, value] : choice.macros) insert.run(id, name, value);
  return id;
}

// Reads each choice once, however many rows name it.
class Choices {
 public:
  explicit Choices(Database& database) : database_(database) {}
  const SourceChoice& operator[](std::int64_t id) {
    const auto [place, is_new] = read_.try_emplace(id);
    if (is_new && id != authors_choice) place->second = read(id);
    return place->second;
  }

 private:
  SourceChoice read(std::int64_t id) {
    Statement select(
        database_, "SELECT renamed, register_usage_level, instance, spills_to_shared FROM source_choice WHERE id = ?");
    if (!select.bind(id).step()) database_.refuse("lacks source choice " + std::to_string(id) + ": move the file away");
    SourceChoice choice;
    choice.renamed = select.integer(0) != 0;
    choice.register_usage_level = static_cast<int>(select.integer(1));
    choice.instance = select.text(2);
    choice.spills_to_shared = select.integer(3) != 0;
    Statement macros(database_, "SELECT name, value FROM source_choice_macro WHERE choice_id = ?");
    macros.bind(id);
    while (macros.step()) choice.macros[macros.text(0)] = macros.text(1);
    return choice;
  }
  Database& database_;
  std::map<std::int64_t, SourceChoice> read_;
};

CompileKey of_whole_source(CompileKey key) {
  key.kernel.clear();
  return key;
}

std::optional<std::int64_t> find_key(Database& database, const CompileKey& key) {
  Statement select(database,
                   "SELECT id FROM compile_key WHERE source_hash = ? AND options_hash = ? AND compiler = ? AND "
                   "architecture = ? AND kernel = ? AND regtune_version = ?");
  select.bind(key.source_hash, hash_of_options(key.options), key.compiler, key.architecture, key.kernel,
              key.regtune_version);
  return select.step() ? std::optional(select.integer(0)) : std::nullopt;
}

std::int64_t find_or_add_key(Database& database, const CompileKey& key) {
  if (const auto id = find_key(database, key)) return *id;
  Statement(database, "INSERT INTO compile_key VALUES " + placeholders(7))
      .run(std::nullopt, key.source_hash, hash_of_options(key.options), key.compiler, key.architecture, key.kernel,
           key.regtune_version);
  return database.last_insert_id();
}

// A row that holds these bytes already is written again: they may have gone bad.
std::int64_t put_code(Database& database, const std::string& cubin) {
  Statement insert(database,
                   "INSERT INTO code (content_hash, cubin) VALUES (?, ?) ON CONFLICT (content_hash) DO UPDATE SET "
                   "cubin = excluded.cubin RETURNING id");
  insert.bind(content_hash(cubin), Statement::Blob{cubin}).step();
  const std::int64_t id = insert.integer(0);
  insert.step();
  return id;
}

// Reads each code once. 500 policies of a kernel name some 100 codes.
class Codes {
 public:
  explicit Codes(Database& database) : select_(database, "SELECT content_hash, cubin FROM code WHERE id = ?") {}
  // Null when the bytes no longer match their hash.
  const std::string* find(std::int64_t id) {
    const auto [place, is_new] = read_.try_emplace(id);
    if (is_new && select_.bind(id).step()) {
      std::string cubin = select_.text(1);
      if (content_hash(cubin) == select_.text(0)) place->second = std::move(cubin);
    }
    return place->second ? &*place->second : nullptr;
  }

 private:
  Statement select_;
  std::map<std::int64_t, std::optional<std::string>> read_;
};

// Runs a prepared select of compile results: choice_id, policy, facts, failure, log_excerpt, entry, code_id.
std::vector<KeptResult> read_kept(Database& database, Statement& select) {
  Choices choices(database);
  Codes codes(database);
  std::vector<KeptResult> kept;
  while (select.step()) {
    Columns columns(database, select);
    KeptResult row;
    row.choice = choices[columns.integer()];
    row.policy = read_policy(columns);
    CompileResult& result = row.result;
    if (columns.null_ahead()) {
      columns.skip(fact_columns);
    } else {
      result.facts = read_facts(columns);
    }
    result.failure = columns.text();
    result.log_excerpt = columns.text();
    result.entry = columns.text();
    if (!columns.null_ahead()) {
      const std::string* cubin = codes.find(columns.integer());
      if (!cubin) continue;
      result.cubin = *cubin;
    }
    kept.push_back(std::move(row));
  }
  return kept;
}

constexpr const char* select_kept =
    "SELECT choice_id, policy, policy_first, policy_second, registers_per_thread, register_ceiling, "
    "spill_store_bytes, spill_load_bytes, shared_spill_store_bytes, shared_spill_load_bytes, stack_frame_bytes, "
    "static_shared_bytes, max_threads_per_block, "
    "required_threads_per_block, code_hash, budget_status, budget_asked, budget_note, failure, log_excerpt, entry, "
    "code_id FROM compile_result WHERE key_id = ?";

}  // namespace

void write_trial(Database& database, std::int64_t run, const Trial& trial) {
  const PolicyColumns policy = columns_of(trial.variant.policy);
  const OutcomeColumns outcome = columns_of(trial.outcome);
  const Dim3 block = trial.variant.block;
  const std::int64_t choice_id = find_or_add_choice(database, trial.variant.choice);
  const LaunchShape& shape = trial.shape;
  const auto occupancy = trial.facts ? trial.facts->occupancy : std::nullopt;
  const auto interval = [&](Interval Measurement::*which, double Interval::*bound) -> std::optional<double> {
    return outcome.measurement ? std::optional(outcome.measurement->*which.*bound) : std::nullopt;
  };
  const auto active_blocks = occupancy ? std::optional(occupancy->active_blocks_per_sm) : std::nullopt;
  const auto fraction = occupancy ? std::optional(occupancy->fraction) : std::nullopt;
  const auto limiter = occupancy ? std::optional(to_string(occupancy->limiter)) : std::nullopt;
  constexpr auto time = &Measurement::time_ms;
  constexpr auto speedup = &Measurement::speedup;
  with_fact_columns(trial.facts, [&](const auto&... facts) {
    Statement(database, "INSERT OR REPLACE INTO trial VALUES " + placeholders(44))
        .run(run, trial.variant.id, policy.kind, policy.first, policy.second, block.x, block.y, block.z, choice_id,
             shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
             shape.dynamic_shared_bytes, facts..., active_blocks, fraction, limiter, outcome.kind, outcome.text,
             outcome.since, outcome.same_code_as, outcome.limit_ms, interval(time, &Interval::low),
             interval(time, &Interval::median), interval(time, &Interval::high), interval(speedup, &Interval::low),
             interval(speedup, &Interval::median), interval(speedup, &Interval::high));
  });
}

std::vector<Trial> read_trials(Database& database, std::int64_t run) {
  Statement select(database, "SELECT * FROM trial WHERE run_id = ? ORDER BY variant_id");
  select.bind(run);
  Choices choices(database);
  std::vector<Trial> trials;
  while (select.step()) {
    Columns columns(database, select);
    columns.skip(1);
    Trial trial;
    trial.variant.id = columns.number();
    trial.variant.policy = read_policy(columns);
    trial.variant.block = columns.dim3();
    trial.variant.choice = choices[columns.integer()];
    trial.shape.grid = columns.dim3();
    trial.shape.block = columns.dim3();
    trial.shape.dynamic_shared_bytes = columns.integer();
    if (columns.null_ahead()) {
      columns.skip(fact_columns + 3);
    } else {
      trial.facts = read_facts(columns);
      if (columns.null_ahead()) {
        columns.skip(3);
      } else {
        Occupancy occupancy;
        occupancy.active_blocks_per_sm = columns.number();
        occupancy.fraction = columns.real();
        occupancy.limiter = columns.named(limiter_from_string);
        trial.facts->occupancy = occupancy;
      }
    }
    trial.outcome = read_outcome(columns);
    if (Measurement* measurement = measurement_in(trial.outcome)) {
      measurement->race = read_samples(database, run, trial.variant.id, Phase::race);
      measurement->confirmation = read_samples(database, run, trial.variant.id, Phase::confirmation);
      measurement->other_way = read_samples(database, run, trial.variant.id, Phase::other_way);
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

void append_sample(Database& database, std::int64_t run, int variant_id, Phase phase, const Sample& sample) {
  const int number = static_cast<int>(phase);
  Statement(database,
            "INSERT INTO sample SELECT ?1, ?2, ?3, coalesce(max(ordinal) + 1, 0), ?4, ?5 FROM sample "
            "WHERE run_id = ?1 AND variant_id = ?2 AND phase = ?3")
      .run(run, variant_id, number, sample.round, sample.ms);
}

void write_samples(Database& database, std::int64_t run, const Trial& trial) {
  const Measurement* measurement = columns_of(trial.outcome).measurement;
  if (!measurement) return;
  Statement insert(database, "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)");
  const std::pair<Phase, const std::vector<Sample>&> phases[] = {{Phase::race, measurement->race},
                                                                 {Phase::confirmation, measurement->confirmation},
                                                                 {Phase::other_way, measurement->other_way}};
  for (const auto& [phase, samples] : phases) {
    int ordinal = 0;
    for (const Sample& sample : samples) {
      insert.run(run, trial.variant.id, static_cast<int>(phase), ordinal++, sample.round, sample.ms);
    }
  }
}

std::vector<Sample> read_samples(Database& database, std::int64_t run, int variant_id, Phase phase) {
  Statement select(database,
                   "SELECT round, ms FROM sample WHERE run_id = ? AND variant_id = ? AND phase = ? ORDER BY ordinal");
  select.bind(run, variant_id, static_cast<int>(phase));
  std::vector<Sample> samples;
  while (select.step()) samples.push_back({static_cast<int>(select.integer(0)), select.real(1)});
  return samples;
}

void write_compile_results(Database& database, const CompileKey& key, std::span<const KeptResult> results) {
  const std::int64_t key_id = find_or_add_key(database, key);
  // 232 caps gave 41 distinct codes: one cubin of each is enough, if it is still what it was. The code hash leaves
  // out the kernel's name and the launch limits, which a launch needs, so they must agree beside it.
  Statement same(database,
                 "SELECT code.id, content_hash, cubin FROM compile_result JOIN code ON code.id = code_id WHERE "
                 "key_id = ? AND choice_id = ? AND code_hash = ? AND entry = ? AND max_threads_per_block = ? AND "
                 "required_threads_per_block = ? LIMIT 1");
  Statement insert(database, "INSERT OR REPLACE INTO compile_result VALUES " + placeholders(23));
  for (const KeptResult& kept : results) {
    const CompileResult& result = kept.result;
    const std::int64_t choice_id = find_or_add_choice(database, kept.choice);
    std::optional<std::int64_t> code;
    if (result.facts && !result.cubin.empty()) {
      const StaticFacts& facts = *result.facts;
      same.bind(key_id, choice_id, facts.code_hash, result.entry, facts.max_threads_per_block,
                facts.required_threads_per_block);
      if (same.step() && content_hash(same.text(2)) == same.text(1)) {
        code = same.integer(0);
      } else {
        code = put_code(database, result.cubin);
      }
    }
    const PolicyColumns columns = columns_of(kept.policy);
    const auto failure = result.facts ? std::nullopt : std::optional(result.failure);
    with_fact_columns(result.facts, [&](const auto&... facts) {
      insert.run(key_id, choice_id, columns.kind, columns.first, columns.second, facts..., failure, result.log_excerpt,
                 result.entry, code);
    });
  }
}

std::vector<KeptResult> read_compile_results(Database& database, const CompileKey& key) {
  const auto key_id = find_key(database, key);
  if (!key_id) return {};
  Statement select(database, select_kept);
  select.bind(*key_id);
  return read_kept(database, select);
}

std::optional<CompileResult> read_compile_result(Database& database, const CompileKey& key,
                                                 const RegisterPolicy& policy, const SourceChoice& choice) {
  const auto key_id = find_key(database, key);
  const auto choice_id = find_choice(database, choice);
  if (!key_id || !choice_id) return std::nullopt;
  const PolicyColumns columns = columns_of(policy);
  Statement select(database, select_kept + std::string(" AND choice_id = ? AND policy = ? AND policy_first = ? AND "
                                                       "policy_second = ?"));
  select.bind(*key_id, *choice_id, columns.kind, columns.first, columns.second);
  std::vector<KeptResult> kept = read_kept(database, select);
  return kept.empty() ? std::nullopt : std::optional(std::move(kept.front().result));
}

void remove_compile_results(Database& database, const CompileKey& key) {
  const auto key_id = find_key(database, key);
  if (key_id) Statement(database, "DELETE FROM compile_result WHERE key_id = ?").run(*key_id);
}

void write_compiled_source(Database& database, const CompileKey& key, const KeptSource& source) {
  const std::int64_t key_id = find_or_add_key(database, of_whole_source(key));
  Statement(database, "INSERT OR REPLACE INTO compiled_source VALUES (?, ?, ?, ?)")
      .run(key_id, put_code(database, source.cubin), source.log, source.seconds);
  Statement insert(database, "INSERT INTO lowered_name VALUES (?, ?, ?)");
  int ordinal = 0;
  for (const std::string& name : source.lowered_names) insert.run(key_id, ordinal++, name);
}

std::optional<KeptSource> read_compiled_source(Database& database, const CompileKey& key) {
  const auto key_id = find_key(database, of_whole_source(key));
  if (!key_id) return std::nullopt;
  Statement select(database, "SELECT code_id, log, seconds FROM compiled_source WHERE key_id = ?");
  if (!select.bind(*key_id).step()) return std::nullopt;
  Codes codes(database);
  const std::string* cubin = codes.find(select.integer(0));
  if (!cubin) return std::nullopt;
  KeptSource source{*cubin, {}, select.text(1), select.real(2)};
  Statement names(database, "SELECT name FROM lowered_name WHERE key_id = ? ORDER BY ordinal");
  names.bind(*key_id);
  while (names.step()) source.lowered_names.push_back(names.text(0));
  return source;
}

}  // namespace regtune
