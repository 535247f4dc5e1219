#include "past_rows.hpp"

#include <cstdio>
#include <tuple>

#include "key.hpp"
#include "process_mark.hpp"
#include "trial_rows.hpp"

namespace regtune {
namespace {

// Longer than any run that is still going on.
constexpr std::int64_t a_day_s = 86400;

void add_trials(Database& database, std::int64_t run, EarlierRun& earlier, std::map<int, std::string>& codes) {
  for (const Trial& trial : read_trials(database, run)) {
    if (!trial.facts) continue;
    const std::string code = code_identity(*trial.facts, trial.shape);
    codes[trial.variant.id] = code;
    if (const auto* abandoned = std::get_if<Abandoned>(&trial.outcome)) {
      // It has a time and no round: that of its first launch.
      const Measurement& so_far = abandoned->so_far;
      if (so_far.race.empty() && so_far.time_ms.median > 0) earlier.first_ms[code] = so_far.time_ms.median;
    }
    if (std::holds_alternative<Faulted>(trial.outcome) || std::holds_alternative<TimedOut>(trial.outcome) ||
        std::holds_alternative<WrongResult>(trial.outcome)) {
      earlier.failed[code] = trial.outcome;
    }
  }
}

void add_rounds(Database& database, std::int64_t run, const std::map<int, std::string>& codes, EarlierRun& earlier) {
  // The few rounds with L2 in the other state are taken anew: they come last, and decide nothing.
  Statement select(database,
                   "SELECT phase, round, variant_id, ms FROM sample WHERE run_id = ? AND phase IN (?, ?) "
                   "ORDER BY phase, round");
  constexpr int race = static_cast<int>(Phase::race);
  select.bind(run, race, static_cast<int>(Phase::confirmation));
  std::pair<std::int64_t, std::int64_t> last{-1, -1};
  while (select.step()) {
    const std::pair at{select.integer(0), select.integer(1)};
    std::vector<EarlierRun::Round>& rounds = at.first == race ? earlier.race : earlier.confirmation;
    if (at != last) rounds.emplace_back();
    last = at;
    const auto code = codes.find(static_cast<int>(select.integer(2)));
    if (code != codes.end()) rounds.back()[code->second] = select.real(3);
  }
}

std::string spell_ms(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g ms", ms);
  return text;
}

}  // namespace

std::vector<std::int64_t> interrupted_runs(Database& database, const std::string& run_key) {
  Statement select(database,
                   "SELECT id, process, begun_s < CAST(strftime('%s', 'now') AS INTEGER) - ? FROM tuning_run WHERE "
                   "run_key = ? AND state = 'running' ORDER BY id");
  select.bind(a_day_s, run_key);
  std::vector<std::int64_t> runs;
  while (select.step()) {
    const Life life = life_of(select.text(1));
    if (life == Life::ended || (life == Life::unknown && select.integer(2) != 0)) runs.push_back(select.integer(0));
  }
  return runs;
}

std::optional<OtherRun> running_run(Database& database, const std::string& run_key) {
  Statement select(database,
                   "SELECT id, process, started FROM tuning_run WHERE run_key = ? AND state = 'running' ORDER BY id");
  select.bind(run_key);
  while (select.step()) {
    const std::string process = select.text(1);
    if (life_of(process) == Life::alive && process != process_mark())
      return OtherRun{select.integer(0), select.text(2), process_id_in(process)};
  }
  return std::nullopt;
}

bool is_alive(Database& database, std::int64_t run) {
  Statement select(database, "SELECT process FROM tuning_run WHERE id = ? AND state = 'running'");
  return select.bind(run).step() && life_of(select.text(0)) == Life::alive;
}

EarlierRun read_earlier(Database& database, const std::vector<std::int64_t>& runs) {
  EarlierRun earlier;
  std::map<std::string, bool> known;
  for (const std::int64_t run : runs) {
    std::map<int, std::string> codes;
    add_trials(database, run, earlier, codes);
    add_rounds(database, run, codes, earlier);
    for (const auto& [id, code] : codes) known[code] = true;
    Statement started(database, "SELECT started FROM tuning_run WHERE id = ?");
    if (started.bind(run).step()) earlier.started = started.text(0);
  }
  earlier.codes = known.size();
  return earlier;
}

void update_quarantine(Database& database, const TuningRecord& head, const Trial& trial) {
  const std::string launch = launch_key(head);
  const std::string code = code_identity(*trial.facts, trial.shape);
  std::string reason;
  if (const auto* fault = std::get_if<Faulted>(&trial.outcome)) reason = "it faulted: " + fault->message;
  if (const auto* late = std::get_if<TimedOut>(&trial.outcome))
    reason = "it did not end within " + spell_ms(late->limit_ms);
  if (!reason.empty()) {
    const auto model = head.gpu ? std::optional(gpu_model_key(head.gpu->id.name)) : std::nullopt;
    Statement(database,
              "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))")
        .run(launch, code, head.kernel, model, head.gpu ? head.gpu->driver_version : "", reason);
    return;
  }
  const auto* abandoned = std::get_if<Abandoned>(&trial.outcome);
  const bool was_launched = abandoned && abandoned->so_far.time_ms.median > 0;
  if (was_launched || std::holds_alternative<Measurement>(trial.outcome)) {
    Statement(database, "DELETE FROM quarantine WHERE launch_key = ? AND code_identity = ?").run(launch, code);
  }
}

std::map<std::string, Quarantined> read_quarantine(Database& database, const std::string& launch_key) {
  Statement select(database,
                   "SELECT code_identity, reason, driver_version, since FROM quarantine WHERE launch_key = ?");
  select.bind(launch_key);
  std::map<std::string, Quarantined> codes;
  while (select.step()) {
    const std::string driver = select.text(2);
    codes[select.text(0)] = {select.text(1) + (driver.empty() ? "" : " (driver " + driver + ")"), select.text(3)};
  }
  return codes;
}

}  // namespace regtune
