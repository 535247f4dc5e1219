#pragma once
// How what earlier runs have left lies in the tables of schema.sql: the rounds of interrupted runs, and the codes in
// quarantine. Opens no transaction and decides nothing: store.cpp does. Reading throws Error(cache_unusable) for
// values that this regtune does not know.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "earlier_run.hpp"
#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

// A run of another process that is going on.
struct OtherRun {
  std::int64_t id = 0;
  std::string started;  // UTC, ISO 8601
  std::string process;  // its id on this machine
};

// Unfinished runs of that key whose processes have ended, oldest first.
std::vector<std::int64_t> interrupted_runs(Database& database, const std::string& run_key);
// One that is not finished and whose process can be seen to be alive, other than this process's own.
std::optional<OtherRun> running_run(Database& database, const std::string& run_key);
// Whether the run is unfinished and its process can be seen to be alive.
bool is_alive(Database& database, std::int64_t run);
// All of them as one: rounds keep their order, and the samples of a round stay together.
EarlierRun read_earlier(Database& database, const std::vector<std::int64_t>& runs);

// What becomes of the code's quarantine by the outcome of `trial`, which has facts, in a run of `head`.
void update_quarantine(Database& database, const TuningRecord& head, const Trial& trial);
std::map<std::string, Quarantined> read_quarantine(Database& database, const std::string& launch_key);

}  // namespace regtune
