#include "db_command.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <utility>

#include "exported_budget.hpp"
#include "from_ptx.hpp"
#include "policy.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "report.hpp"
#include "store.hpp"
#include "transfer.hpp"
#include "upkeep.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::pair<const char*, DbVerb>, 6> kVerbs{{{"list", DbVerb::list},
                                                                {"show", DbVerb::show},
                                                                {"merge", DbVerb::merge},
                                                                {"prune", DbVerb::prune},
                                                                {"verify", DbVerb::verify},
                                                                {"vacuum", DbVerb::vacuum}}};

Store open_store(const fs::path& cache) {
  std::optional<Store> store = Store::open_existing(cache);
  if (!store)
    throw Error(ErrorKind::file_not_found,
                cache.string() + ": nothing is stored there yet; run regtune on a kernel first");
  return std::move(*store);
}

// The runs of the kernels that were named, or all; the newest first.
std::vector<StoredRun> runs_of(Store& store, const std::vector<std::string>& kernels) {
  if (kernels.empty()) return store.list();
  std::vector<StoredRun> runs;
  for (const std::string& kernel : kernels)
    for (StoredRun& run : store.list(kernel)) runs.push_back(std::move(run));
  return runs;
}

std::string gain_of(const TuningRecord& run) {
  const Verdict& verdict = *run.verdict;
  if (verdict.kind != Verdict::Kind::improved) return std::string(to_string(verdict.kind));
  return fmt::format("{:.2f}x {}{}", verdict.speedup.median, spell_choice(run, verdict.best_id),
                     from_ptx_note(run, ", ", ""));
}

// What `say` says of each finished run of those names.
template <class Say>
DbAnswer answer_of_runs(const DbRequest& request, const fs::path& cache, const Say& say) {
  Store store = open_store(cache);
  DbAnswer answer;
  answer.json = Json::array();
  for (const StoredRun& stored : runs_of(store, request.arguments)) {
    const std::optional<TuningRecord> run = store.load(stored.id);
    if (run && run->verdict) say(stored, *run, answer);
  }
  answer.found = !answer.json.empty();
  if (!answer.found)
    answer.text =
        cache.string() + ": nothing is stored of that name; `regtune db list` lists what is, and a tuning stores it\n";
  return answer;
}

DbAnswer list_runs(const DbRequest& request, const fs::path& cache) {
  return answer_of_runs(request, cache, [](const StoredRun& stored, const TuningRecord& run, DbAnswer& answer) {
    answer.text += fmt::format("{}  {}  {}  {}  {}  {}\n", stored.id, stored.signature, spell_sizes(stored.sizes),
                               stored.gpu.name, stored.started, gain_of(run));
    answer.json.push_back({{"run", stored.id},
                           {"kernel", stored.kernel},
                           {"signature", stored.signature},
                           {"sizes", stored.sizes},
                           {"gpu", stored.gpu.name},
                           {"architecture", stored.architecture},
                           {"started", stored.started},
                           {"verdict", to_string(run.verdict->kind)},
                           {"best", spell_choice(run, run.verdict->best_id)},
                           {"from_ptx", is_from_ptx(run)}});
  });
}

DbAnswer show_runs(const DbRequest& request, const fs::path& cache) {
  return answer_of_runs(request, cache, [](const StoredRun& stored, const TuningRecord& run, DbAnswer& answer) {
    answer.text += fmt::format("{}run {}: {}", answer.text.empty() ? "" : "\n", stored.id, answer_text(run));
    answer.text += fmt::format("source {}, tag {}; tuned on {} by regtune {}, {} budgets\n", run.source_path,
                               run.source_hash, run.host, run.regtune_version, run.trials.size());
    answer.json.push_back(record_json(run));
  });
}

const char* word_of(MergedRun::Fate fate) {
  switch (fate) {
    case MergedRun::Fate::added:
      return "added";
    case MergedRun::Fate::replaced:
      return "takes the place of ours";
    case MergedRun::Fate::kept_ours:
      return "ours stays";
    case MergedRun::Fate::known:
      break;
  }
  return "there already";
}

// A cache file, or one run as --record writes it.
MergeReport merge(const fs::path& file, const fs::path& cache) {
  if (file.extension() != ".json") return merge_file(file, cache);
  std::ifstream in(file);
  if (!in)
    throw Error(ErrorKind::file_not_found,
                file.string() + ": cannot be read; is the path right, and may you read the file?");
  const Json json = Json::parse(in, nullptr, false);
  const TuningRecord run = record_from_json(json, file.string());
  if (!run.gpu || !run.verdict)
    throw Error(ErrorKind::bad_description,
                file.string() + ": a run that timed nothing says nothing to look up; record one beside a GPU");
  return merge_run(run, cache);
}

DbAnswer merge_files(const DbRequest& request, const fs::path& cache) {
  if (request.arguments.empty())
    throw Error(ErrorKind::usage, "no file to take in was named; write regtune import OTHER.db");
  DbAnswer answer;
  answer.json = Json::array();
  for (const std::string& file : request.arguments) {
    const MergeReport report = merge(file, cache);
    for (const MergedRun& merged : report.runs) {
      const std::string reason = merged.reason.empty() ? "" : ": " + merged.reason;
      answer.text +=
          fmt::format("{}: {}, {} on {}, of {}: {}{}\n", file, merged.run.signature, spell_sizes(merged.run.sizes),
                      merged.run.gpu->id.name, merged.run.started, word_of(merged.fate), reason);
      answer.json.push_back({{"file", file},
                             {"signature", merged.run.signature},
                             {"sizes", merged.run.sizes},
                             {"gpu", merged.run.gpu->id.name},
                             {"started", merged.run.started},
                             {"fate", word_of(merged.fate)},
                             {"reason", merged.reason}});
    }
    if (report.damaged > 0)
      answer.text += fmt::format("{}: {} runs are not what was written and were left out\n", file, report.damaged);
    answer.text += fmt::format("{}: {} runs looked at, {} codes taken\n", file, report.runs.size(), report.codes);
  }
  return answer;
}

DbAnswer prune(const DbRequest& request, const fs::path& cache) {
  const Pruned pruned = prune_cache(cache, {request.older_than_days, request.codes, REGTUNE_VERSION});
  return {fmt::format("removed {} runs for their age, {} that were interrupted, {} codes; regtune db vacuum gives the "
                      "room back\n",
                      pruned.runs, pruned.interrupted, pruned.codes),
          {{"runs", pruned.runs}, {"interrupted", pruned.interrupted}, {"codes", pruned.codes}}};
}

DbAnswer verify(const fs::path& file) {
  const Soundness found = verify_cache(file);
  DbAnswer answer;
  for (const std::string& problem : found.problems) answer.text += fmt::format("{}: {}\n", file.string(), problem);
  answer.text += fmt::format("{}: {} runs, {} answers, {} codes: {}\n", file.string(), found.runs, found.answers,
                             found.codes, found.problems.empty() ? "sound" : "damaged");
  answer.json = {{"file", file.string()},
                 {"runs", found.runs},
                 {"answers", found.answers},
                 {"codes", found.codes},
                 {"problems", found.problems}};
  answer.sound = found.problems.empty();
  return answer;
}

DbAnswer verify_files(const DbRequest& request, const fs::path& cache) {
  if (request.arguments.empty()) return verify(cache);
  DbAnswer all;
  all.json = Json::array();
  for (const std::string& file : request.arguments) {
    DbAnswer one = verify(file);
    all.text += one.text;
    all.json.push_back(std::move(one.json));
    all.sound = all.sound && one.sound;
  }
  return all;
}

DbAnswer vacuum(const fs::path& cache) {
  const Vacuumed done = vacuum_cache(cache);
  return {fmt::format("{}: {} KiB before, {} KiB now\n", cache.string(), (done.bytes_before + 1023) / 1024,
                      (done.bytes_after + 1023) / 1024),
          {{"bytes_before", done.bytes_before}, {"bytes_after", done.bytes_after}}};
}

}  // namespace

DbVerb db_verb_from_string(const std::string& name) {
  for (const auto& [known, verb] : kVerbs)
    if (name == known) return verb;
  throw Error(ErrorKind::usage,
              fmt::format("regtune db {}: name one of list, show, merge, prune, verify and vacuum", name));
}

DbAnswer look_after_db(const DbRequest& request) {
  const fs::path cache = request.cache ? *request.cache : default_cache_path();
  switch (request.verb) {
    case DbVerb::list:
      return list_runs(request, cache);
    case DbVerb::show:
      return show_runs(request, cache);
    case DbVerb::merge:
      return merge_files(request, cache);
    case DbVerb::prune:
      return prune(request, cache);
    case DbVerb::verify:
      return verify_files(request, cache);
    case DbVerb::vacuum:
      break;
  }
  return vacuum(cache);
}

}  // namespace regtune
