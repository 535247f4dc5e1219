#pragma once
// A whole run in the tables of schema.sql: head, trials, samples, verdict, and the answer that it gives. Opens no
// transaction and decides nothing: store.cpp does. Throws Error(cache_unusable) for what cannot be written or is not
// known.
#include <cstdint>
#include <optional>

#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

// Everything of a finished run, under a new id where `run` is 0. Returns the run. The answers of its kernel's name are
// to be sealed (answer_rows.hpp) once all is done.
std::int64_t write_finished_run(Database& database, std::int64_t run, const TuningRecord& record,
                                std::int64_t finish_order);
// A run as it stands, finished or not. Empty when there is none of that id.
std::optional<TuningRecord> read_run(Database& database, std::int64_t run);

}  // namespace regtune
