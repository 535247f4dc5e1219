#include "store.hpp"

#include <cstdlib>

#include "key.hpp"
#include "past_rows.hpp"
#include "record_rows.hpp"
#include "regtune/error.hpp"
#include "schema_sql.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr int schema_version = 1;
constexpr int our_application_id = 0x7265674e;  // "regN", so that `file` and we can tell whose database it is

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

// True when the schema is there, false when the database is empty. Throws for anything that is not ours.
bool has_schema(Database& database) {
  const int application = database.application_id();
  const int version = database.user_version();
  if (application == our_application_id && version == schema_version) return true;
  if (application == our_application_id) {
    database.refuse("has schema version " + std::to_string(version) + ", and this regtune knows version " +
                    std::to_string(schema_version) +
                    ": use the regtune that wrote it (a newer one), or name another file with --cache FILE");
  }
  Statement tables(database, "SELECT count(*) FROM sqlite_schema");
  if (application != 0 || version != 0 || (tables.step() && tables.integer(0) != 0)) {
    database.refuse(
        "is not a regtune cache (it is a SQLite database of another program): name another file with --cache FILE");
  }
  return false;
}

void create_folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error || fs::is_directory(folder)) return;
  const bool denied = error == std::errc::permission_denied || error == std::errc::read_only_file_system ||
                      error == std::errc::operation_not_permitted;
  throw Error(denied ? ErrorKind::cache_read_only : ErrorKind::cache_unusable,
              "the folder " + folder.string() + " of the cache cannot be created (" + error.message() +
                  "): create it, or name another file with --cache FILE");
}

void create_schema(Database& database) {
  database.use_write_ahead_log();
  Transaction transaction(database);
  if (has_schema(database)) return;  // another process was faster
  database.execute(schema_sql_text);
  database.execute(("PRAGMA application_id = " + std::to_string(our_application_id)).c_str());
  database.set_user_version(schema_version);
  transaction.commit();
}

std::optional<TuningRecord> read_run(Database& database, std::int64_t run) {
  auto record = read_head(database, run);
  if (!record) return std::nullopt;
  record->trials = read_trials(database, run);
  record->verdict = read_verdict(database, run);
  return record;
}

void require_running(Database& database, std::int64_t run) {
  Statement select(database, "SELECT state FROM tuning_run WHERE id = ?");
  if (!select.bind(run).step()) {
    database.refuse("no longer holds run " + std::to_string(run) + " (was the file replaced?): tune again");
  }
  if (select.text(0) != "running") database.refuse("holds run " + std::to_string(run) + " as finished already");
}

}  // namespace

fs::path default_cache_path() {
  if (const char* file = variable("REGTUNE_CACHE")) return file;
  const char* cache = variable("XDG_CACHE_HOME");
  // The XDG specification has relative paths ignored.
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "regtune" / "regtune.db";
  if (const char* home = variable("HOME")) return fs::path(home) / ".cache" / "regtune" / "regtune.db";
  throw Error(ErrorKind::cache_unusable,
              "there is no place for the cache: none of REGTUNE_CACHE, XDG_CACHE_HOME and HOME is set. Name a file "
              "with --cache FILE");
}

Store Store::open(const fs::path& file) {
  create_folder_of(file);
  Database database = Database::open(file, Database::Mode::read_write_create);
  if (!has_schema(database)) create_schema(database);
  return Store(std::move(database));
}

std::optional<Store> Store::open_existing(const fs::path& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (!fs::status_known(status)) {
    throw Error(ErrorKind::cache_unusable, "cache " + file.string() + " cannot be reached (" + error.message() +
                                               "): check the path, or name another file with --cache FILE");
  }
  Database database = Database::open(file, Database::Mode::read_only);
  if (!has_schema(database)) return std::nullopt;
  return Store(std::move(database));
}

std::int64_t Store::begin(const TuningRecord& head) {
  Transaction transaction(database_);
  const std::int64_t run = write_head(database_, 0, head, std::nullopt);
  transaction.commit();
  return run;
}

void Store::start_over(std::int64_t run) {
  Transaction transaction(database_);
  require_running(database_, run);
  for (const char* table : {"trial", "sample"}) {
    Statement(database_, std::string("DELETE FROM ") + table + " WHERE run_id = ?").run(run);
  }
  transaction.commit();
}

void Store::add_round(std::int64_t run, Phase phase, int round, std::span<const RoundSample> samples) {
  Transaction transaction(database_);
  require_running(database_, run);
  for (const RoundSample& sample : samples) {
    append_sample(database_, run, sample.variant_id, phase, {round, sample.ms});
  }
  transaction.commit();
}

void Store::set_outcome(std::int64_t run, const Trial& trial) {
  Transaction transaction(database_);
  require_running(database_, run);
  write_trial(database_, run, trial);
  if (trial.facts) {
    if (const auto head = read_head(database_, run)) update_quarantine(database_, *head, trial);
  }
  transaction.commit();
}

void Store::finish(std::int64_t run, const TuningRecord& record) {
  Transaction transaction(database_);
  require_running(database_, run);
  Statement last(database_, "SELECT coalesce(max(finish_order), 0) FROM tuning_run");
  last.step();
  const std::int64_t order = last.integer(0) + 1;
  Statement begun(database_, "SELECT run_key FROM tuning_run WHERE id = ?");
  begun.bind(run).step();
  const std::string begun_key = begun.text(0);
  begun = Statement(database_, "DELETE FROM tuning_run WHERE id = ?");
  begun.run(run);
  write_head(database_, run, record, order);
  for (const Trial& trial : record.trials) {
    write_trial(database_, run, trial);
    write_samples(database_, run, trial);
  }
  if (record.verdict) write_verdict(database_, run, *record.verdict);
  // A run without a verdict answers nothing, so it must not take the place of one that does.
  if (record.verdict) {
    Statement(database_, "DELETE FROM tuning_run WHERE run_key = ? AND state = 'finished' AND id <> ?")
        .run(run_key(record), run);
  }
  // What interrupted runs left behind, which this one took up: under this key, or under the key as it was when they
  // were begun, before the trials were known, which are part of it.
  for (const std::string& key : {run_key(record), begun_key}) {
    for (const std::int64_t interrupted : interrupted_runs(database_, key)) {
      Statement(database_, "DELETE FROM tuning_run WHERE id = ?").run(interrupted);
    }
  }
  transaction.commit();
}

void Store::keep_result(const CompileKey& key, const RegisterPolicy& policy, const SourceChoice& choice,
                        const CompileResult& result) {
  const KeptResult one{policy, choice, result};
  keep_results(key, {&one, 1});
}

void Store::keep_results(const CompileKey& key, std::span<const KeptResult> results) {
  Transaction transaction(database_);
  write_compile_results(database_, key, results);
  transaction.commit();
}

std::optional<CompileResult> Store::kept_result(const CompileKey& key, const RegisterPolicy& policy,
                                                const SourceChoice& choice) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_compile_result(database_, key, policy, choice);
}

std::vector<KeptResult> Store::kept_results(const CompileKey& key) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_compile_results(database_, key);
}

void Store::forget_results(const CompileKey& key) {
  Transaction transaction(database_);
  remove_compile_results(database_, key);
  transaction.commit();
}

void Store::keep_source(const CompileKey& key, const KeptSource& source) {
  Transaction transaction(database_);
  write_compiled_source(database_, key, source);
  transaction.commit();
}

std::optional<KeptSource> Store::kept_source(const CompileKey& key) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_compiled_source(database_, key);
}

std::optional<TuningRecord> Store::find(const LookupKey& key) {
  const auto model = key.gpu_name ? std::optional(gpu_model_key(*key.gpu_name)) : std::nullopt;
  Transaction reading(database_, Transaction::Kind::read);
  Statement candidates(database_,
                       "SELECT id, kernel, signature FROM tuning_run WHERE (kernel = ?1 OR kernel_name = ?2) AND "
                       "sizes_hash = ?3 AND (?4 IS NULL OR gpu_model = ?4) AND finish_order IS NOT NULL AND "
                       "id IN (SELECT run_id FROM verdict) ORDER BY finish_order DESC");
  candidates.bind(key.kernel, bare_kernel_name(key.kernel), hash_of(key.sizes), model);
  while (candidates.step()) {
    if (kernel_answers_to(candidates.text(1), candidates.text(2), key.kernel)) {
      return read_run(database_, candidates.integer(0));
    }
  }
  return std::nullopt;
}

std::vector<StoredRun> Store::list(std::string_view kernel) {
  Transaction reading(database_, Transaction::Kind::read);
  Statement select(database_,
                   "SELECT id, kernel, signature, architecture, coalesce(name, ''), started FROM tuning_run LEFT JOIN "
                   "run_gpu ON run_id = id WHERE finish_order IS NOT NULL AND id IN (SELECT run_id FROM verdict) "
                   "ORDER BY finish_order DESC");
  std::vector<StoredRun> runs;
  while (select.step()) {
    if (!kernel.empty() && !kernel_answers_to(select.text(1), select.text(2), kernel)) continue;
    const std::int64_t id = select.integer(0);
    runs.push_back({id, select.text(1), select.text(2), select.text(3), select.text(4), select.text(5),
                    read_sizes(database_, id)});
  }
  return runs;
}

std::optional<TuningRecord> Store::load(std::int64_t run) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_run(database_, run);
}

EarlierRun Store::interrupted(const TuningRecord& head) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_earlier(database_, interrupted_runs(database_, run_key(head)));
}

std::map<std::string, Quarantined> Store::quarantine(const TuningRecord& head) {
  Transaction reading(database_, Transaction::Kind::read);
  return read_quarantine(database_, launch_key(head));
}

std::optional<double> Store::copy_bandwidth(const GpuState& gpu) {
  Statement select(database_, "SELECT gb_per_s FROM copy_bandwidth WHERE gpu_model = ? AND driver_version = ?");
  select.bind(gpu_model_key(gpu.id.name), gpu.driver_version);
  return select.step() ? std::optional(select.real(0)) : std::nullopt;
}

void Store::keep_copy_bandwidth(const GpuState& gpu, double gb_per_s) {
  Transaction transaction(database_);
  Statement(database_, "INSERT OR REPLACE INTO copy_bandwidth VALUES (?, ?, ?)")
      .run(gpu_model_key(gpu.id.name), gpu.driver_version, gb_per_s);
  transaction.commit();
}

std::vector<Sample> Store::samples(std::int64_t run, int variant_id, Phase phase) {
  return read_samples(database_, run, variant_id, phase);
}

}  // namespace regtune
