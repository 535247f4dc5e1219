#include "transfer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "answer.hpp"
#include "answer_rows.hpp"
#include "key.hpp"
#include "regtune/error.hpp"
#include "run_rows.hpp"
#include "schema.hpp"
#include "sqlite.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::string bare_name_of(const TuningRecord& run) {
  return bare_kernel_name(run.signature.empty() ? run.kernel : run.signature);
}

const Trial& timed_as(const TuningRecord& run, int id) {
  const Trial& trial = run.trials.at(static_cast<std::size_t>(id));
  const auto* same = std::get_if<SameCodeAs>(&trial.outcome);
  return same ? run.trials.at(static_cast<std::size_t>(same->variant_id)) : trial;
}

// Of the code that the verdict is about; 0 where nothing was confirmed.
std::size_t confirmed_rounds(const TuningRecord& run) {
  const auto rounds = [&](int id) -> std::size_t {
    const auto* measured = std::get_if<Measurement>(&timed_as(run, id).outcome);
    return measured ? measured->confirmation.size() : 0;
  };
  return std::max(rounds(run.verdict->best_id), rounds(run.verdict->reference_id));
}

bool is_conclusive(const TuningRecord& run) {
  return run.verdict->kind != Verdict::Kind::inconclusive;
}

bool is_same_run(const TuningRecord& a, const TuningRecord& b) {
  return a.started == b.started && a.host == b.host;
}

// What both must share for one of them to be enough.
std::string question_of(const TuningRecord& run) {
  FieldHash hash;
  hash.add("kernel", run.kernel).add("sizes", hash_of(run.sizes)).add("options", hash_of_options(run.options));
  hash.add("source", run.source_hash).add("architecture", run.architecture).add("compiler", run.compiler);
  hash.add("gpu", gpu_model_key(run.gpu->id.name)).add("driver", run.gpu->driver_version);
  hash.add("cold", run.settings.cold ? 1 : 0);
  return hash.hex();
}

// The run, if its answer is what was written.
std::optional<TuningRecord> sound_run(Database& database, std::int64_t run) {
  try {
    Statement select(database, "SELECT checksum, finish_order FROM answer WHERE run_id = ?");
    if (!select.bind(run).step()) return std::nullopt;
    std::optional<TuningRecord> record = read_run(database, run);
    std::optional<TunedPolicy> answer = record && record->verdict ? answer_of(*record) : std::nullopt;
    if (!answer) return std::nullopt;
    answer->run = run;
    answer->finish_order = select.integer(1);
    return checksum_of(*answer) == select.text(0) ? std::move(record) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  } catch (const std::out_of_range&) {
    return std::nullopt;  // a verdict about trials that are not there
  }
}

std::int64_t order_at(Database& database, const char* which) {
  Statement select(database, std::string("SELECT coalesce(") + which + "(finish_order), 0) FROM tuning_run");
  select.step();
  return select.integer(0);
}

// What a look-up would find today of this kernel, sizes and model of GPU: when it was begun.
std::string newest_of_its_kind(Database& database, const TuningRecord& run) {
  Statement select(database,
                   "SELECT coalesce(max(started), '') FROM tuning_run WHERE kernel = ? AND sizes_hash = ? AND "
                   "gpu_model = ? AND finish_order IS NOT NULL AND id IN (SELECT run_id FROM verdict)");
  select.bind(run.kernel, hash_of(run.sizes), gpu_model_key(run.gpu->id.name)).step();
  return select.text(0);
}

// Newer than what is there answers before it; older comes behind everything.
std::int64_t write_run(Database& database, const TuningRecord& run) {
  const bool is_newest = run.started >= newest_of_its_kind(database, run);
  const std::int64_t order =
      is_newest ? order_at(database, "max") + 1 : std::min<std::int64_t>(0, order_at(database, "min")) - 1;
  const std::int64_t id = write_finished_run(database, 0, run, order);
  seal_answers(database, bare_name_of(run));
  return id;
}

void remove_run(Database& database, std::int64_t id, const TuningRecord& run) {
  Statement(database, "DELETE FROM tuning_run WHERE id = ?").run(id);
  seal_answers(database, bare_name_of(run));
}

// The kept codes of one file, on their way into another: by hashes, since of the options no more is known.
class CodeCopy {
 public:
  CodeCopy(Database& from, Database& to)
      : from_(from),
        to_(to),
        results_(from,
                 "SELECT k.source_hash, k.options_hash, k.compiler, k.architecture, k.kernel, k.regtune_version, "
                 "c.choice_hash, c.renamed, c.register_usage_level, c.instance, r.policy, r.policy_first, "
                 "r.policy_second, r.registers_per_thread, r.register_ceiling, r.spill_store_bytes, "
                 "r.spill_load_bytes, r.shared_spill_store_bytes, r.shared_spill_load_bytes, r.stack_frame_bytes, "
                 "r.static_shared_bytes, r.max_threads_per_block, r.required_threads_per_block, r.code_hash, "
                 "r.budget_status, r.budget_asked, r.budget_note, "
                 "r.log_excerpt, r.entry, r.code_id, r.choice_id FROM compile_result r JOIN compile_key k ON k.id = "
                 "r.key_id JOIN source_choice c ON c.id = r.choice_id WHERE k.source_hash = ? AND k.architecture = ? "
                 "AND k.kernel = ? AND r.code_hash = ? AND r.code_id IS NOT NULL") {}

  // Every kept result that is the code of a variant of `run`. Returns how many came.
  std::size_t copy(const TuningRecord& run) {
    std::set<std::string> hashes;
    for (const Trial& trial : run.trials)
      if (trial.facts) hashes.insert(trial.facts->code_hash);
    std::size_t copied = 0;
    for (const std::string& hash : hashes) {
      results_.bind(run.source_hash, run.architecture, run.kernel, hash);
      while (results_.step()) copied += copy_one(run) ? 1 : 0;
    }
    return copied;
  }

 private:
  // Those that the run names: other budgets of the same code are of no use to anybody.
  bool is_wanted(const TuningRecord& run) const {
    return std::any_of(run.trials.begin(), run.trials.end(), [&](const Trial& trial) {
      return trial.facts && trial.facts->code_hash == results_.text(23) &&
             (results_.integer(30) == 0 ? trial.variant.choice.is_authors()
                                        : hash_of(trial.variant.choice) == results_.text(6));
    });
  }

  bool copy_one(const TuningRecord& run) {
    if (!is_wanted(run)) return false;
    Statement code(from_, "SELECT content_hash, cubin FROM code WHERE id = ?");
    if (!code.bind(results_.integer(29)).step()) return false;
    const std::string cubin = code.text(1);
    if (content_hash(cubin) != code.text(0)) return false;
    Statement put(to_,
                  "INSERT INTO code (content_hash, cubin) VALUES (?, ?) ON CONFLICT (content_hash) DO UPDATE SET cubin "
                  "= excluded.cubin RETURNING id");
    put.bind(code.text(0), Statement::Blob{cubin}).step();
    const std::int64_t code_id = put.integer(0);
    put.step();
    const auto t = [&](int column) { return results_.text(column); };
    const auto n = [&](int column) { return results_.integer(column); };
    Statement(to_,
              "INSERT OR REPLACE INTO compile_result VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
              "NULL, ?, ?, ?)")
        .run(key_id(), choice_id(), t(10), n(11), n(12), n(13), n(14), n(15), n(16), n(17), n(18), n(19), n(20), n(21),
             n(22), t(23), t(24), n(25), t(26), t(27), t(28), code_id);
    return true;
  }

  std::int64_t key_id() {
    const auto t = [&](int column) { return results_.text(column); };
    Statement(to_,
              "INSERT OR IGNORE INTO compile_key (source_hash, options_hash, compiler, architecture, kernel, "
              "regtune_version) VALUES (?, ?, ?, ?, ?, ?)")
        .run(t(0), t(1), t(2), t(3), t(4), t(5));
    Statement find(to_,
                   "SELECT id FROM compile_key WHERE source_hash = ? AND options_hash = ? AND compiler = ? AND "
                   "architecture = ? AND kernel = ? AND regtune_version = ?");
    find.bind(t(0), t(1), t(2), t(3), t(4), t(5)).step();
    return find.integer(0);
  }

  // The choice is one of the run's, whose trials are written by now, so it is there with its macros.
  std::int64_t choice_id() {
    if (results_.integer(30) == 0) return 0;
    Statement find(to_, "SELECT id FROM source_choice WHERE choice_hash = ?");
    if (!find.bind(results_.text(6)).step())
      to_.refuse("misses a source choice that was just written; is another program changing it? Merge it again");
    return find.integer(0);
  }

  Database& from_;
  Database& to_;
  Statement results_;
};

// The stored runs that answer what `run` answers, the newest first.
std::vector<std::pair<std::int64_t, TuningRecord>> same_question(Database& database, const TuningRecord& run) {
  Statement select(database,
                   "SELECT id FROM tuning_run WHERE kernel = ? AND sizes_hash = ? AND finish_order IS NOT NULL AND id "
                   "IN (SELECT run_id FROM verdict) ORDER BY finish_order DESC");
  select.bind(run.kernel, hash_of(run.sizes));
  std::vector<std::pair<std::int64_t, TuningRecord>> found;
  while (select.step()) {
    std::optional<TuningRecord> ours = read_run(database, select.integer(0));
    if (ours && ours->gpu && ours->verdict && question_of(*ours) == question_of(run))
      found.emplace_back(select.integer(0), std::move(*ours));
  }
  return found;
}

MergedRun merge_one(Database& into, const TuningRecord& run) {
  MergedRun merged;
  merged.run = run;
  merged.run.trials.clear();
  const auto ours = same_question(into, run);
  for (const auto& [id, other] : ours) {
    if (is_same_run(run, other) && run.trials.size() <= other.trials.size()) {
      merged.fate = MergedRun::Fate::known;
      return merged;
    }
    merged.reason = is_same_run(run, other) ? "it is the same run with more of its codes" : better_founded(run, other);
    if (merged.reason.empty()) {
      merged.fate = MergedRun::Fate::kept_ours;
      merged.reason = better_founded(other, run);
      return merged;
    }
  }
  for (const auto& [id, other] : ours) remove_run(into, id, other);
  if (!ours.empty()) merged.fate = MergedRun::Fate::replaced;
  write_run(into, run);
  return merged;
}

Database open_foreign(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error))
    throw Error(ErrorKind::file_not_found, file.string() + ": is not there; name a cache file");
  Database database = Database::open(file, Database::Mode::read_only);
  if (schema_state(database) != SchemaState::current)
    throw Error(
        ErrorKind::file_not_found,
        file.string() + ": holds nothing, or is of an earlier schema version; tune into it once with this regtune");
  return database;
}

std::vector<std::int64_t> finished_runs(Database& database) {
  Statement select(database,
                   "SELECT id FROM tuning_run WHERE finish_order IS NOT NULL AND id IN (SELECT run_id FROM verdict) "
                   "ORDER BY finish_order");
  std::vector<std::int64_t> runs;
  while (select.step()) runs.push_back(select.integer(0));
  return runs;
}

Database open_for_writing(const fs::path& file) {
  std::error_code ignored;
  if (!file.parent_path().empty()) fs::create_directories(file.parent_path(), ignored);
  Database database = Database::open(file, Database::Mode::read_write_create);
  bring_forward(database);
  return database;
}

}  // namespace

TuningRecord winners_only(const TuningRecord& run) {
  TuningRecord trimmed = run;
  trimmed.trials.clear();
  Verdict& verdict = *trimmed.verdict;
  std::map<int, int> new_ids;
  const auto keep = [&](int& id) {
    const auto [place, is_new] = new_ids.try_emplace(id, static_cast<int>(trimmed.trials.size()));
    if (is_new) {
      Trial trial = run.trials.at(static_cast<std::size_t>(id));
      trial.outcome = timed_as(run, id).outcome;
      if (auto* measured = std::get_if<Measurement>(&trial.outcome)) measured->race.clear();
      trial.variant.id = place->second;
      trimmed.trials.push_back(std::move(trial));
    }
    id = place->second;
  };
  int authors = 0;  // every record begins with the author's code
  keep(authors);
  keep(verdict.reference_id);
  keep(verdict.best_id);
  keep(verdict.best_in_source_id);
  if (verdict.best_renamed_id) keep(*verdict.best_renamed_id);
  if (verdict.best_other_way_id) keep(*verdict.best_other_way_id);
  if (trimmed.counters) {
    std::map<int, Counters> of_variant;
    for (const auto& [id, counters] : trimmed.counters->of_variant)
      if (const auto found = new_ids.find(id); found != new_ids.end()) of_variant[found->second] = counters;
    trimmed.counters->of_variant = std::move(of_variant);
  }
  if (trimmed.nvcc) {
    std::vector<NvccCode> kept;
    for (NvccCode code : trimmed.nvcc->codes)
      if (const auto found = new_ids.find(code.variant_id); found != new_ids.end()) {
        code.variant_id = found->second;
        kept.push_back(std::move(code));
      }
    trimmed.nvcc->codes = std::move(kept);
  }
  return trimmed;
}

std::string better_founded(const TuningRecord& a, const TuningRecord& b) {
  if (is_conclusive(a) != is_conclusive(b)) return is_conclusive(a) ? "its verdict is conclusive" : "";
  const std::size_t rounds_a = confirmed_rounds(a);
  const std::size_t rounds_b = confirmed_rounds(b);
  // Not every round more is worth another result.
  if (rounds_a > rounds_b + rounds_b / 4) return "it was confirmed in more rounds";
  if (rounds_b > rounds_a + rounds_a / 4) return "";
  return a.started > b.started ? "it is newer" : "";
}

void export_runs(const fs::path& cache, const std::vector<std::int64_t>& runs, const fs::path& file) {
  Database from = open_foreign(cache);
  fs::path fresh = file;
  fresh += ".new";
  std::error_code ignored;
  fs::remove(fresh, ignored);
  {
    Database to = open_for_writing(fresh);
    to.use_journal(Database::Journal::rollback);
    {
      Transaction transaction(to);
      CodeCopy codes(from, to);
      for (const std::int64_t id : runs) {
        const std::optional<TuningRecord> run = sound_run(from, id);
        if (!run) from.refuse("holds a run that is damaged; regtune db verify says which");
        const TuningRecord winners = winners_only(*run);
        write_run(to, winners);
        codes.copy(winners);
      }
      transaction.commit();
    }
    to.execute("VACUUM");
  }
  std::error_code failure;
  fs::rename(fresh, file, failure);
  if (failure)
    throw Error(ErrorKind::cache_read_only, file.string() + ": cannot be written (" + failure.message() +
                                                "); name a file in a folder that you may write in");
}

MergeReport merge_file(const fs::path& from_file, const fs::path& into_file) {
  Database from = open_foreign(from_file);
  std::error_code error;
  if (fs::equivalent(from_file, into_file, error))
    throw Error(ErrorKind::usage,
                from_file.string() + ": cannot be merged into itself; name another file, or another --cache");
  Database into = open_for_writing(into_file);
  MergeReport report;
  Transaction transaction(into);
  CodeCopy codes(from, into);
  for (const std::int64_t id : finished_runs(from)) {
    const std::optional<TuningRecord> run = sound_run(from, id);
    if (!run) {
      ++report.damaged;
      continue;
    }
    report.runs.push_back(merge_one(into, *run));
    const MergedRun::Fate fate = report.runs.back().fate;
    if (fate == MergedRun::Fate::added || fate == MergedRun::Fate::replaced)
      report.codes += codes.copy(winners_only(*run));
  }
  transaction.commit();
  return report;
}

MergeReport merge_run(const TuningRecord& run, const fs::path& into_file) {
  Database into = open_for_writing(into_file);
  MergeReport report;
  Transaction transaction(into);
  report.runs.push_back(merge_one(into, run));
  transaction.commit();
  return report;
}

}  // namespace regtune
