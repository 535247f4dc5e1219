#include "store.hpp"

#include "answer_rows.hpp"
#include "file_system.hpp"
#include "key.hpp"
#include "past_rows.hpp"
#include "record_rows.hpp"
#include "regtune/error.hpp"
#include "run_rows.hpp"
#include "salvage.hpp"
#include "schema.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

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

// A look at all pages takes a second for each GiB: what a tuning can wait for, up to here.
constexpr std::uintmax_t most_bytes_looked_through = 512 << 20;

Database open_sound(const fs::path& file) {
  Database database = Database::open(file, Database::Mode::read_write_create);
  std::error_code error;
  if (fs::file_size(file, error) <= most_bytes_looked_through && !error) database.require_soundness();
  using Journal = Database::Journal;
  database.use_journal(lies_on_network_file_system(file) ? Journal::rollback : Journal::write_ahead_log);
  bring_forward(database);
  return database;
}

void require_running(Database& database, std::int64_t run) {
  Statement select(database, "SELECT state FROM tuning_run WHERE id = ?");
  if (!select.bind(run).step()) {
    database.refuse("no longer holds run " + std::to_string(run) + " (was the file replaced?): tune again");
  }
  if (select.text(0) != "running")
    database.refuse("holds run " + std::to_string(run) + " as finished already: tune again");
}

}  // namespace

Store Store::open(const fs::path& file) {
  create_folder_of(file);
  try {
    return Store(open_sound(file));
  } catch (const DamagedFile&) {
    if (!bears_our_mark(file)) throw;
  }
  const std::string said = set_aside_and_salvage(file);
  Store store(open_sound(file));
  store.mended_ = said;
  return store;
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
  switch (schema_state(database)) {
    case SchemaState::empty:
      return std::nullopt;
    case SchemaState::older:
      database.refuse(
          "is of an earlier schema version, and nothing may be written here: tune into it once, or copy it");
    case SchemaState::current:
      break;
  }
  return Store(std::move(database));
}

std::int64_t Store::begin(const TuningRecord& head) {
  Transaction transaction(database_);
  const std::int64_t run = write_head(database_, 0, head, std::nullopt);
  transaction.commit();
  return run;
}

KeyClaim Store::claim(const TuningRecord& head) {
  Transaction transaction(database_);
  KeyClaim claim;
  claim.other = running_run(database_, run_key(head));
  if (!claim.other) {
    claim.run = write_head(database_, 0, head, std::nullopt);
    transaction.commit();
  }
  return claim;
}

bool Store::is_going_on(std::int64_t run) {
  Transaction reading(database_, Transaction::Kind::read);
  return is_alive(database_, run);
}

std::optional<TuningRecord> Store::finished(std::int64_t run) {
  Transaction reading(database_, Transaction::Kind::read);
  Statement select(database_, "SELECT 1 FROM tuning_run WHERE id = ? AND state = 'finished'");
  if (!select.bind(run).step()) return std::nullopt;
  return read_run(database_, run);
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
  write_finished_run(database_, run, record, order);
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
  // A run without a verdict changes no answer.
  if (record.verdict)
    seal_answers(database_, bare_kernel_name(record.signature.empty() ? record.kernel : record.signature));
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
                   "SELECT id, kernel, signature, architecture, coalesce(name, ''), coalesce(compute_major, 0), "
                   "coalesce(compute_minor, 0), coalesce(sm_count, 0), coalesce(memory_clock_mhz, 0), started FROM "
                   "tuning_run LEFT JOIN run_gpu ON run_id = id WHERE finish_order IS NOT NULL AND id IN (SELECT "
                   "run_id FROM verdict) "
                   "ORDER BY finish_order DESC");
  std::vector<StoredRun> runs;
  while (select.step()) {
    if (!kernel.empty() && !kernel_answers_to(select.text(1), select.text(2), kernel)) continue;
    const std::int64_t id = select.integer(0);
    const auto number = [&](int column) { return static_cast<int>(select.integer(column)); };
    const GpuId gpu{select.text(4), number(5), number(6), number(7), number(8)};
    runs.push_back(
        {id, select.text(1), select.text(2), select.text(3), gpu, select.text(9), read_sizes(database_, id)});
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
