#pragma once
// How the head and the verdict of a TuningRecord lie in the tables of schema.sql (trials: trial_rows.hpp).
// What is read equals what was written, NaN and unusual bytes included. Opens no transaction and decides
// nothing: store.cpp does. Reading throws Error(cache_unusable) for values that this regtune does not know.
#include <cstdint>
#include <optional>

#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

// Writes everything but trials, samples and verdict. `id`: 0 for a new one. Returns the id.
std::int64_t write_head(Database& database, std::int64_t id, const TuningRecord& record,
                        std::optional<std::int64_t> finish_order);
std::optional<TuningRecord> read_head(Database& database, std::int64_t run);
Sizes read_sizes(Database& database, std::int64_t run);

void write_verdict(Database& database, std::int64_t run, const Verdict& verdict);
std::optional<Verdict> read_verdict(Database& database, std::int64_t run);

}  // namespace regtune
