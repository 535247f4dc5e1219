#include "trial_rows.hpp"

#include <type_traits>

#include "columns.hpp"
#include "key.hpp"

namespace regtune {
namespace {

struct PolicyColumns {
  const char* kind;
  int first = 0;
  int second = 0;
};

PolicyColumns columns_of(const RegisterPolicy& policy) {
  return std::visit(
      [](const auto& value) -> PolicyColumns {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, AuthorsOwn>) {
          return {"authors_own"};
        } else if constexpr (std::is_same_v<T, CompilerDefault>) {
          return {"compiler_default"};
        } else if constexpr (std::is_same_v<T, RegisterCap>) {
          return {"register_cap", value.registers_per_thread};
        } else if constexpr (std::is_same_v<T, LaunchBounds>) {
          return {"launch_bounds", value.max_threads_per_block, value.min_blocks_per_sm};
        } else {
          static_assert(std::is_same_v<T, MaxRegisters>);
          return {"max_registers", value.registers_per_thread};
        }
      },
      policy);
}

RegisterPolicy read_policy(Columns& columns) {
  const std::string kind = columns.text();
  const int first = columns.number();
  const int second = columns.number();
  if (kind == "authors_own") return AuthorsOwn{};
  if (kind == "compiler_default") return CompilerDefault{};
  if (kind == "register_cap") return RegisterCap{first};
  if (kind == "launch_bounds") return LaunchBounds{first, second};
  if (kind == "max_registers") return MaxRegisters{first};
  columns.unknown(kind);
}

// The columns of an outcome; those that it has no use for stay NULL.
struct OutcomeColumns {
  const char* kind;
  std::optional<std::string> text = std::nullopt;
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
  const int same_code_as = columns.number();
  const double limit_ms = columns.real();
  Measurement measurement;
  measurement.time_ms = columns.interval();
  measurement.speedup = columns.interval();
  if (kind == "not_timed") return NotTimed{};
  if (kind == "compile_failed") return CompileFailed{text};
  if (kind == "not_launchable") return NotLaunchable{text};
  if (kind == "same_code_as") return SameCodeAs{same_code_as};
  if (kind == "faulted") return Faulted{text};
  if (kind == "timed_out") return TimedOut{limit_ms};
  if (kind == "wrong_result") return WrongResult{text};
  if (kind == "abandoned") return Abandoned{text, measurement};
  if (kind == "measured") return measurement;
  columns.unknown(kind);
}

Measurement* measurement_in(Outcome& outcome) {
  if (auto* measured = std::get_if<Measurement>(&outcome)) return measured;
  if (auto* abandoned = std::get_if<Abandoned>(&outcome)) return &abandoned->so_far;
  return nullptr;
}

constexpr int fact_columns = 12;

StaticFacts read_facts(Columns& columns) {
  StaticFacts facts;
  facts.registers_per_thread = columns.number();
  facts.register_ceiling = columns.number();
  facts.spill_store_bytes = columns.number();
  facts.spill_load_bytes = columns.number();
  facts.stack_frame_bytes = columns.number();
  facts.static_shared_bytes = columns.number();
  facts.max_threads_per_block = columns.number();
  facts.required_threads_per_block = columns.number();
  facts.code_hash = columns.text();
  facts.budget.status = columns.named(budget_status_from_string);
  facts.budget.asked = columns.number();
  facts.budget.note = columns.text();
  return facts;
}

// A value per column where there are facts, else NULL in each.
template <typename Member>
auto fact(const std::optional<StaticFacts>& facts, Member member) {
  using T = std::decay_t<decltype(member(*facts))>;
  return facts ? std::optional<T>(member(*facts)) : std::nullopt;
}

#define REGTUNE_FACT(name) fact(facts, [](const StaticFacts& f) { return f.name; })

// Calls `write` with the twelve columns of the facts, in the order of the schema.
template <typename Write>
void with_fact_columns(const std::optional<StaticFacts>& facts, Write write) {
  const auto status = fact(facts, [](const StaticFacts& f) { return std::string(to_string(f.budget.status)); });
  write(REGTUNE_FACT(registers_per_thread), REGTUNE_FACT(register_ceiling), REGTUNE_FACT(spill_store_bytes),
        REGTUNE_FACT(spill_load_bytes), REGTUNE_FACT(stack_frame_bytes), REGTUNE_FACT(static_shared_bytes),
        REGTUNE_FACT(max_threads_per_block), REGTUNE_FACT(required_threads_per_block), REGTUNE_FACT(code_hash), status,
        REGTUNE_FACT(budget.asked), REGTUNE_FACT(budget.note));
}

#undef REGTUNE_FACT

}  // namespace

void write_trial(Database& database, std::int64_t run, const Trial& trial) {
  const PolicyColumns policy = columns_of(trial.variant.policy);
  const OutcomeColumns outcome = columns_of(trial.outcome);
  const Dim3 block = trial.variant.block;
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
    Statement(database, "INSERT OR REPLACE INTO trial VALUES " + placeholders(40))
        .run(run, trial.variant.id, policy.kind, policy.first, policy.second, block.x, block.y, block.z, shape.grid.x,
             shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z, shape.dynamic_shared_bytes,
             facts..., active_blocks, fraction, limiter, outcome.kind, outcome.text, outcome.same_code_as,
             outcome.limit_ms, interval(time, &Interval::low), interval(time, &Interval::median),
             interval(time, &Interval::high), interval(speedup, &Interval::low), interval(speedup, &Interval::median),
             interval(speedup, &Interval::high));
  });
}

std::vector<Trial> read_trials(Database& database, std::int64_t run) {
  Statement select(database, "SELECT * FROM trial WHERE run_id = ? ORDER BY variant_id");
  select.bind(run);
  std::vector<Trial> trials;
  while (select.step()) {
    Columns columns(database, select);
    columns.skip(1);
    Trial trial;
    trial.variant.id = columns.number();
    trial.variant.policy = read_policy(columns);
    trial.variant.block = columns.dim3();
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
  for (const Phase phase : {Phase::race, Phase::confirmation}) {
    int ordinal = 0;
    for (const Sample& sample : phase == Phase::race ? measurement->race : measurement->confirmation) {
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

void write_compile_result(Database& database, std::int64_t run, const RegisterPolicy& policy,
                          const CompileResult& result) {
  std::optional<std::string> content;
  if (result.facts && !result.cubin.empty()) {
    // 232 caps gave 41 distinct codes: one cubin of each is enough, if it is still what it was.
    Statement same(database,
                   "SELECT c.content_hash, cubin FROM tuning_run r JOIN compile_result c ON "
                   "c.source_hash = r.source_hash AND c.options_hash = r.options_hash AND c.compiler = r.compiler AND "
                   "c.architecture = r.architecture AND c.kernel = r.kernel JOIN code ON "
                   "code.content_hash = c.content_hash WHERE r.id = ? AND c.code_hash = ?");
    if (same.bind(run, result.facts->code_hash).step() && content_hash(same.text(1)) == same.text(0)) {
      content = same.text(0);
    } else {
      content = content_hash(result.cubin);
      Statement(database, "INSERT INTO code VALUES (?, ?) ON CONFLICT DO UPDATE SET cubin = excluded.cubin")
          .run(*content, Statement::Blob{result.cubin});
    }
  }
  const PolicyColumns columns = columns_of(policy);
  const auto failure = result.facts ? std::nullopt : std::optional(result.failure);
  with_fact_columns(result.facts, [&](const auto&... facts) {
    Statement(database,
              "INSERT OR REPLACE INTO compile_result SELECT source_hash, options_hash, compiler, architecture, kernel, "
              "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM tuning_run WHERE id = ?")
        .run(columns.kind, columns.first, columns.second, facts..., failure, result.log_excerpt, content, run);
  });
}

std::optional<CompileResult> read_compile_result(Database& database, std::int64_t run, const RegisterPolicy& policy) {
  const PolicyColumns key = columns_of(policy);
  Statement select(database,
                   "SELECT registers_per_thread, register_ceiling, spill_store_bytes, spill_load_bytes, "
                   "stack_frame_bytes, static_shared_bytes, max_threads_per_block, required_threads_per_block, "
                   "code_hash, budget_status, budget_asked, budget_note, failure, log_excerpt, c.content_hash, cubin "
                   "FROM tuning_run r JOIN compile_result c ON c.source_hash = r.source_hash AND "
                   "c.options_hash = r.options_hash AND c.compiler = r.compiler AND c.architecture = r.architecture "
                   "AND c.kernel = r.kernel LEFT JOIN code ON code.content_hash = c.content_hash "
                   "WHERE r.id = ? AND policy = ? AND policy_first = ? AND policy_second = ?");
  if (!select.bind(run, key.kind, key.first, key.second).step()) return std::nullopt;
  Columns columns(database, select);
  CompileResult result;
  if (columns.null_ahead()) {
    columns.skip(fact_columns);
  } else {
    result.facts = read_facts(columns);
  }
  result.failure = columns.text();
  result.log_excerpt = columns.text();
  const std::string hash = columns.text();
  std::string cubin = columns.text();
  if (!cubin.empty() && content_hash(cubin) == hash) result.cubin = std::move(cubin);
  return result;
}

}  // namespace regtune
