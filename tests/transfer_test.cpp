// Runs on their way from one cache file to another: what a shipped file holds, and which of two answers stays.
#include "transfer.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "regtune/error.hpp"
#include "regtune/lookup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"
#include "upkeep.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using Fate = MergedRun::Fate;

Measurement confirmed(int rounds) {
  Measurement measured;
  measured.time_ms = {1, 1.1, 1.2};
  measured.speedup = {1.1, 1.12, 1.14};
  measured.race = {{1, 1.1}, {2, 1.1}};
  for (int round = 0; round < rounds; ++round) measured.confirmation.push_back({round, 1.1});
  return measured;
}

// The author's, ten caps of which the verdict names none, and the winner; all confirmed in so many rounds.
TuningRecord long_run(int rounds = 30, const std::string& started = "2026-01-02T03:04:05Z") {
  TunedAs as;
  as.started = started;
  TuningRecord run = tuned_record(as);
  run.trials.resize(1);
  for (int cap = 40; cap < 50; ++cap) {
    Trial trial = run.trials.front();
    trial.variant = {static_cast<int>(run.trials.size()), RegisterCap{cap}, as.block};
    trial.facts->code_hash = content_hash(std::to_string(cap));
    run.trials.push_back(trial);
  }
  Trial winner = run.trials.front();
  winner.variant = {11, LaunchBounds{256, 4}, as.block};
  winner.outcome = SameCodeAs{5};
  run.trials.push_back(winner);
  for (const int id : {0, 5}) run.trials[static_cast<std::size_t>(id)].outcome = confirmed(rounds);
  run.verdict->best_id = 5;
  run.verdict->best_in_source_id = 11;
  return run;
}

class Transfer : public testing::Test {
 protected:
  fs::path store(const std::string& name, const std::vector<TuningRecord>& runs) {
    const fs::path file = folder_.path() / name;
    Store store = Store::open(file);
    for (const TuningRecord& run : runs) store.finish(store.begin(run), run);
    return file;
  }

  std::vector<StoredRun> runs_in(const fs::path& file) {
    std::optional<Store> store = Store::open_existing(file);
    return store ? store->list() : std::vector<StoredRun>();
  }

  Fate merged(const TuningRecord& theirs, const TuningRecord& ours) {
    const fs::path from = store(std::to_string(++files_) + ".db", {theirs});
    const fs::path into = store(std::to_string(++files_) + ".db", {ours});
    const MergeReport report = merge_file(from, into);
    EXPECT_EQ(report.runs.size(), 1u);
    EXPECT_TRUE(verify_cache(into).problems.empty());
    EXPECT_EQ(runs_in(into).size(), 1u) << "one answer to one question";
    return report.runs.at(0).fate;
  }

  TemporaryFolder folder_;
  int files_ = 0;
};

TEST_F(Transfer, WinnersAreWhatTheVerdictNamesAndAreNumberedAnew) {
  const TuningRecord run = long_run();
  const TuningRecord winners = winners_only(run);
  ASSERT_EQ(winners.trials.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(winners.trials[i].variant.id, static_cast<int>(i));
  const auto& best = winners.trials[static_cast<std::size_t>(winners.verdict->best_id)];
  EXPECT_EQ(best.variant.policy, run.trials[5].variant.policy);
  const auto& in_source = winners.trials[static_cast<std::size_t>(winners.verdict->best_in_source_id)];
  EXPECT_EQ(in_source.variant.policy, RegisterPolicy(LaunchBounds{256, 4}));
  const auto* measured = std::get_if<Measurement>(&in_source.outcome);
  ASSERT_TRUE(measured) << "it was timed as another variant, which may not be there any more";
  EXPECT_EQ(measured->confirmation.size(), 30u);
  EXPECT_TRUE(measured->race.empty());
}

TEST_F(Transfer, AnExportedFileAnswersAsItsCacheDoesAndCanBeReadOnly) {
  TunedAs other;
  other.sizes = {{"n", 4096}};
  const fs::path cache = store("cache.db", {long_run(), tuned_record(other)});
  {
    Store kept = Store::open(cache);
    const TuningRecord run = long_run();
    CompileResult code;
    code.facts = run.trials[5].facts;
    code.cubin = "machine code";
    kept.keep_result({run.source_hash, {"--std=c++17"}, run.compiler, "sm_90", run.kernel, "test"}, RegisterCap{44}, {},
                     code);
    code.facts->code_hash = content_hash("of no winner");
    code.cubin = "of no winner";
    kept.keep_result({run.source_hash, {"--std=c++17"}, run.compiler, "sm_90", run.kernel, "test"}, RegisterCap{90}, {},
                     code);
  }
  std::vector<std::int64_t> ids;
  for (const StoredRun& run : runs_in(cache)) ids.push_back(run.id);
  const fs::path shipped = folder_.path() / "shipped.db";
  export_runs(cache, ids, shipped);

  const Soundness sound = verify_cache(shipped);
  EXPECT_EQ(sound.problems, std::vector<std::string>{});
  EXPECT_EQ(sound.runs, 2u);
  EXPECT_EQ(sound.codes, 1u) << "the winner's";
  fs::permissions(shipped, fs::perms(0444));
  for (const char* beside : {"-wal", "-shm", ".new"}) EXPECT_FALSE(fs::exists(shipped.string() + beside)) << beside;

  const auto answer_in = [](const fs::path& file) {
    const Cache lookup({file, std::vector<fs::path>{}});
    const Answer answer = lookup.find({"sgemm", {{"n", 1024}}}, h200);
    return answer ? answer->best.option + " " + answer->in_source.attribute + " " + std::to_string(answer->best.speedup)
                  : "nothing";
  };
  EXPECT_EQ(answer_in(shipped), answer_in(cache));
  EXPECT_NE(answer_in(shipped), "nothing");
}

TEST_F(Transfer, MergingAddsWhatIsNotThere) {
  TunedAs other;
  other.kernel = "_Z4copyPf";
  other.signature = "copy(float*)";
  const fs::path into = store("into.db", {long_run()});
  const MergeReport report = merge_file(store("from.db", {tuned_record(other)}), into);
  ASSERT_EQ(report.runs.size(), 1u);
  EXPECT_EQ(report.runs[0].fate, Fate::added);
  EXPECT_EQ(runs_in(into).size(), 2u);
  EXPECT_TRUE(Cache({into, std::vector<fs::path>{}}).find({"copy", {{"n", 1024}}}, h200));
}

TEST_F(Transfer, TheBetterFoundedOfTwoAnswersStays) {
  EXPECT_EQ(merged(long_run(60, "2026-01-01T00:00:00Z"), long_run(30)), Fate::replaced) << "more rounds";
  EXPECT_EQ(merged(long_run(30, "2026-03-01T00:00:00Z"), long_run(60)), Fate::kept_ours) << "newer, with fewer rounds";
  EXPECT_EQ(merged(long_run(31, "2026-03-01T00:00:00Z"), long_run(30)), Fate::replaced) << "newer";
  EXPECT_EQ(merged(long_run(30, "2025-03-01T00:00:00Z"), long_run(31)), Fate::kept_ours) << "older";
  TuningRecord undecided = long_run(90, "2026-03-01T00:00:00Z");
  undecided.verdict->kind = Verdict::Kind::inconclusive;
  EXPECT_EQ(merged(undecided, long_run(30)), Fate::kept_ours);
  EXPECT_EQ(merged(long_run(30, "2025-03-01T00:00:00Z"), undecided), Fate::replaced);
}

TEST_F(Transfer, TheSameRunIsThereOnceAndWhole) {
  EXPECT_EQ(merged(long_run(), long_run()), Fate::known);
  EXPECT_EQ(merged(winners_only(long_run()), long_run()), Fate::known);
  EXPECT_EQ(merged(long_run(), winners_only(long_run())), Fate::replaced);
}

TEST_F(Transfer, AnOlderRunFromElsewhereDoesNotAnswerBeforeANewerOneOfOurs) {
  TunedAs old_driver;
  old_driver.driver = "550.54";
  old_driver.started = "2025-01-01T00:00:00Z";
  old_driver.best = RegisterCap{99};
  const fs::path into = store("into.db", {long_run()});
  merge_file(store("from.db", {tuned_record(old_driver)}), into);
  ASSERT_EQ(runs_in(into).size(), 2u) << "another driver is another question";
  std::optional<Store> store = Store::open_existing(into);
  EXPECT_EQ(store->find({"sgemm", {{"n", 1024}}, "H200"})->gpu->driver_version, "580.159.04");
  EXPECT_NE(Cache({into, std::vector<fs::path>{}}).find({"sgemm", {{"n", 1024}}}, h200)->best.option,
            "--maxrregcount=99");
}

TEST_F(Transfer, LeavesOutWhatIsNotWhatWasWritten) {
  const fs::path from = store("from.db", {long_run()});
  {
    Database database = Database::open(from, Database::Mode::read_write_create);
    database.execute("UPDATE trial SET policy_first = 99 WHERE policy = 'register_cap'");
  }
  const fs::path into = store("into.db", {});
  const MergeReport report = merge_file(from, into);
  EXPECT_EQ(report.damaged, 1u);
  EXPECT_TRUE(report.runs.empty());
  EXPECT_TRUE(runs_in(into).empty());
  EXPECT_FALSE(verify_cache(from).problems.empty());
}

TEST_F(Transfer, RefusesFilesThatAreNoCaches) {
  const fs::path into = store("into.db", {});
  const fs::path text = folder_.write("text.db", std::string(4096, 'x'));
  EXPECT_THROW(merge_file(text, into), Error);
  EXPECT_THROW(merge_file(folder_.path() / "nothing.db", into), Error);
  EXPECT_THROW(merge_file(into, into), Error);
}

TEST_F(Transfer, PruningRemovesWhatIsOfNoMoreUse) {
  const fs::path cache = store("cache.db", {long_run()});
  {
    Store kept = Store::open(cache);
    CompileResult code;
    code.facts = long_run().trials[5].facts;
    for (const char* version : {"0.0.1", "0.1.0"}) {
      code.cubin = std::string("made by ") + version;
      kept.keep_result({"tag 1", {}, "NVRTC 13.0.88", "sm_90", "_Z5sgemmPf", version}, RegisterCap{44}, {}, code);
    }
  }
  EXPECT_EQ(prune_cache(cache, {{}, false, "0.1.0"}).codes, 1u);
  EXPECT_EQ(verify_cache(cache).codes, 1u);
  EXPECT_EQ(prune_cache(cache, {{}, true, "0.1.0"}).codes, 1u);
  EXPECT_EQ(prune_cache(cache, {30, false, "0.1.0"}).runs, 0u) << "it was stored just now";
  EXPECT_EQ(runs_in(cache).size(), 1u);
  {
    Database database = Database::open(cache, Database::Mode::read_write_create);
    database.execute("UPDATE tuning_run SET begun_s = begun_s - 40 * 86400");
  }
  EXPECT_EQ(prune_cache(cache, {30, false, "0.1.0"}).runs, 1u);
  EXPECT_TRUE(runs_in(cache).empty());
  EXPECT_EQ(verify_cache(cache).problems, std::vector<std::string>{});
  const Vacuumed done = vacuum_cache(cache);
  EXPECT_GT(done.bytes_after, 0u);
}

}  // namespace
}  // namespace regtune
