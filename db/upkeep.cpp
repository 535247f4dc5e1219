#include "upkeep.hpp"

#include <set>
#include <system_error>

#include "answer.hpp"
#include "answer_rows.hpp"
#include "key.hpp"
#include "past_rows.hpp"
#include "regtune/error.hpp"
#include "run_rows.hpp"
#include "schema.hpp"
#include "sqlite.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

Database open_cache(const fs::path& file, Database::Mode mode) {
  std::error_code error;
  if (!fs::exists(file, error))
    throw Error(
        ErrorKind::file_not_found,
        file.string() +
            ": there is no cache there yet; tune a kernel, which makes one, or name another file with --cache FILE");
  Database database = Database::open(file, mode);
  if (mode == Database::Mode::read_write_create) bring_forward(database);
  if (schema_state(database) != SchemaState::current)
    database.refuse("holds nothing, or is of an earlier version: tune into it once, which brings it forward");
  return database;
}

void check_runs(Database& database, Soundness& found) {
  Statement select(database,
                   "SELECT r.id, r.signature, a.checksum, a.finish_order FROM tuning_run r LEFT JOIN answer a ON "
                   "a.run_id = r.id WHERE r.finish_order IS NOT NULL AND r.id IN (SELECT run_id FROM verdict)");
  while (select.step()) {
    ++found.runs;
    const std::string named = "run " + std::to_string(select.integer(0)) + " (" + select.text(1) + ")";
    try {
      const std::optional<TuningRecord> record = read_run(database, select.integer(0));
      std::optional<TunedPolicy> answer = record ? answer_of(*record) : std::nullopt;
      if (answer) {
        answer->run = select.integer(0);
        answer->finish_order = select.integer(3);
      }
      if (!answer && !select.is_null(2)) found.problems.push_back(named + " no longer gives the answer that is stored");
      if (answer && select.is_null(2)) found.problems.push_back(named + " has no answer");
      if (answer && !select.is_null(2) && checksum_of(*answer) != select.text(2))
        found.problems.push_back(named + " is not what was written");
    } catch (const Error& unreadable) {
      found.problems.push_back(named + ": " + unreadable.what());
    }
  }
}

void check_answers(Database& database, Soundness& found) {
  std::set<std::string> names;
  for (const char* table : {"answer", "answer_group"}) {
    Statement select(database, std::string("SELECT DISTINCT kernel_name FROM ") + table);
    while (select.step()) names.insert(select.text(0));
  }
  for (const std::string& name : names) {
    const StoredAnswers stored = read_answers(database, name);
    found.answers += stored.answers.size();
    if (stored.damaged) found.problems.push_back("the answers of " + name + " are not those that were written");
  }
}

void check_codes(Database& database, Soundness& found) {
  Statement select(database, "SELECT id, content_hash, cubin FROM code");
  while (select.step()) {
    ++found.codes;
    if (content_hash(select.text(2)) != select.text(1))
      found.problems.push_back("code " + std::to_string(select.integer(0)) + " does not match its hash");
  }
}

std::size_t changed_rows(Database& database) {
  Statement select(database, "SELECT changes()");
  select.step();
  return static_cast<std::size_t>(select.integer(0));
}

std::size_t prune_codes(Database& database, const PruneRequest& request) {
  if (request.codes)
    Statement(database, "DELETE FROM compile_key").run();
  else
    Statement(database, "DELETE FROM compile_key WHERE regtune_version <> ?").run(request.regtune_version);
  Statement(
      database,
      "DELETE FROM code WHERE id NOT IN (SELECT code_id FROM compile_result WHERE code_id IS NOT NULL) AND id NOT "
      "IN (SELECT code_id FROM compiled_source)")
      .run();
  return changed_rows(database);
}

std::size_t prune_old_runs(Database& database, int days) {
  const std::string old =
      "finish_order IS NOT NULL AND begun_s < CAST(strftime('%s', 'now') AS INTEGER) - 86400 * " + std::to_string(days);
  std::set<std::string> names;
  Statement select(database, "SELECT kernel_name FROM tuning_run WHERE " + old);
  while (select.step()) names.insert(select.text(0));
  Statement(database, "DELETE FROM tuning_run WHERE " + old).run();
  const std::size_t removed = changed_rows(database);
  for (const std::string& name : names) seal_answers(database, name);
  return removed;
}

}  // namespace

Soundness verify_cache(const fs::path& file) {
  Soundness found;
  Database database = open_cache(file, Database::Mode::read_only);
  try {
    database.require_soundness();
    Transaction reading(database, Transaction::Kind::read);
    check_runs(database, found);
    check_answers(database, found);
    check_codes(database, found);
  } catch (const DamagedFile& damaged) {
    found.problems.emplace_back(damaged.what());
  }
  return found;
}

Pruned prune_cache(const fs::path& file, const PruneRequest& request) {
  Database database = open_cache(file, Database::Mode::read_write_create);
  Transaction transaction(database);
  Pruned pruned;
  std::set<std::string> keys;
  Statement running(database, "SELECT run_key FROM tuning_run WHERE state = 'running'");
  while (running.step()) keys.insert(running.text(0));
  for (const std::string& key : keys)
    for (const std::int64_t run : interrupted_runs(database, key)) {
      Statement(database, "DELETE FROM tuning_run WHERE id = ?").run(run);
      ++pruned.interrupted;
    }
  if (request.older_than_days) pruned.runs = prune_old_runs(database, *request.older_than_days);
  pruned.codes = prune_codes(database, request);
  transaction.commit();
  return pruned;
}

Vacuumed vacuum_cache(const fs::path& file) {
  Vacuumed done;
  done.bytes_before = fs::exists(file) ? fs::file_size(file) : 0;
  Database database = open_cache(file, Database::Mode::read_write_create);
  database.execute("VACUUM");
  database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  done.bytes_after = fs::file_size(file);
  return done;
}

}  // namespace regtune
