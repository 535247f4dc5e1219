#pragma once
// The columns that trials and kept compile results have in common: a register policy and the facts of a code,
// as schema.sql orders them. Knows neither table. Reading throws Error(cache_unusable) for unknown values.
#include <optional>
#include <string>
#include <type_traits>

#include "columns.hpp"
#include "record.hpp"

namespace regtune {

struct PolicyColumns {
  const char* kind;
  int first = 0;
  int second = 0;
};

inline PolicyColumns columns_of(const RegisterPolicy& policy) {
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

inline RegisterPolicy read_policy(Columns& columns) {
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

inline constexpr int fact_columns = 14;

inline StaticFacts read_facts(Columns& columns) {
  StaticFacts facts;
  facts.registers_per_thread = columns.number();
  facts.register_ceiling = columns.number();
  facts.spill_store_bytes = columns.number();
  facts.spill_load_bytes = columns.number();
  facts.shared_spill_store_bytes = columns.number();
  facts.shared_spill_load_bytes = columns.number();
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

// Calls `write` with the fourteen columns of the facts, in the order of the schema.
template <typename Write>
void with_fact_columns(const std::optional<StaticFacts>& facts, Write write) {
  const auto status = fact(facts, [](const StaticFacts& f) { return std::string(to_string(f.budget.status)); });
  write(REGTUNE_FACT(registers_per_thread), REGTUNE_FACT(register_ceiling), REGTUNE_FACT(spill_store_bytes),
        REGTUNE_FACT(spill_load_bytes), REGTUNE_FACT(shared_spill_store_bytes), REGTUNE_FACT(shared_spill_load_bytes),
        REGTUNE_FACT(stack_frame_bytes), REGTUNE_FACT(static_shared_bytes), REGTUNE_FACT(max_threads_per_block),
        REGTUNE_FACT(required_threads_per_block), REGTUNE_FACT(code_hash), status, REGTUNE_FACT(budget.asked),
        REGTUNE_FACT(budget.note));
}

#undef REGTUNE_FACT

}  // namespace regtune
