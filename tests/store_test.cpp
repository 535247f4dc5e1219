// The cache file: what is written is read back whole, and whatever happens to the file or to its writers is survived.
#include "store.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "store_fixture.hpp"

namespace regtune {
namespace {

TEST_F(StoreTest, ReadsBackEveryFieldAndEveryOutcome) {
  const TuningRecord record = sample_record();
  ASSERT_EQ(std::variant_size_v<Outcome>, 12u);
  std::vector<bool> covered(std::variant_size_v<Outcome>);
  for (const Trial& trial : record.trials) covered[trial.outcome.index()] = true;
  EXPECT_EQ(std::count(covered.begin(), covered.end(), true), 12);
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, record);
  const auto loaded = store.load(run);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(text_of(*loaded), text_of(record));
  EXPECT_FALSE(store.load(run + 1));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, ReadsBackARecordWithoutGpuTrialsAndVerdict) {
  TuningRecord record = sample_record();
  record.gpu.reset();
  record.verdict.reset();
  record.trials.clear();
  record.sizes.clear();
  record.options.clear();
  record.route.clear();
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record));
  EXPECT_FALSE(store.find(key("decayWide", {}))) << "nothing was decided";
  EXPECT_TRUE(store.list().empty());
}

TEST_F(StoreTest, ReadsBackAVerdictWithoutARenamedBest) {
  TuningRecord record = sample_record();
  record.verdict->best_renamed_id.reset();
  record.verdict->speedup_renamed = {};
  Store store = Store::open(file());
  const auto loaded = store.load(store_finished(store, record));
  EXPECT_FALSE(loaded->verdict->best_renamed_id);
  EXPECT_EQ(text_of(*loaded), text_of(record));
}

TEST_F(StoreTest, KeepsWhatIsHandedOverWhileTheRunGoesOn) {
  const TuningRecord record = sample_record();
  TuningRecord head = record;
  head.trials.clear();
  head.verdict.reset();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(head);
  EXPECT_EQ(text_of(*store.load(run)), text_of(head));
  Trial compiled = record.trials[0];
  compiled.outcome = NotTimed{};
  store.set_outcome(run, compiled);
  store.set_outcome(run, record.trials[7]);
  const std::vector<RoundSample> round_one = {{0, 1.5}, {2, 1.25}};
  const std::vector<RoundSample> round_two = {{0, 1.4}};
  store.add_round(run, Phase::race, 1, round_one);
  store.add_round(run, Phase::race, 2, round_two);
  store.add_round(run, Phase::confirmation, 3, round_two);
  EXPECT_EQ(store.samples(run, 0, Phase::race), (std::vector<Sample>{{1, 1.5}, {2, 1.4}}));
  EXPECT_EQ(store.samples(run, 0, Phase::confirmation), (std::vector<Sample>{{3, 1.4}}));
  EXPECT_EQ(store.samples(run, 2, Phase::race), (std::vector<Sample>{{1, 1.25}}));

  Trial outcome = record.trials[0];
  outcome.outcome = Measurement{{}, {}, {1, 2, 3}, {4, 5, 6}};
  store.set_outcome(run, outcome);
  auto loaded = store.load(run);
  ASSERT_EQ(loaded->trials.size(), 2u);
  const auto* measured = std::get_if<Measurement>(&loaded->trials[0].outcome);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->race.size(), 2u);
  EXPECT_EQ(measured->speedup.high, 6);
  EXPECT_TRUE(std::holds_alternative<CompileFailed>(loaded->trials[1].outcome));
  EXPECT_FALSE(loaded->trials[1].facts);

  store.finish(run, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record)) << "the finished record takes the place of its parts";
}

TEST_F(StoreTest, ALookUpCreatesNothing) {
  EXPECT_FALSE(Store::open_existing(file()));
  EXPECT_FALSE(fs::exists(folder_ / "deep"));
  std::ofstream(folder_ / "empty.db");
  EXPECT_FALSE(Store::open_existing(folder_ / "empty.db"));
  EXPECT_EQ(fs::file_size(folder_ / "empty.db"), 0u);
  const TuningRecord record = sample_record();
  {
    Store store = Store::open(file());
    store_finished(store, record);
  }
  auto reader = Store::open_existing(file());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->find(key("decayWide", record.sizes)));
  expect_error(ErrorKind::cache_read_only, "--cache FILE", [&] { reader->begin(record); });
}

TEST_F(StoreTest, RefusesForeignAndNewerFilesAndLeavesThemAlone) {
  const fs::path foreign = folder_ / "foreign.db";
  Database::open(foreign, Database::Mode::read_write_create).execute("CREATE TABLE theirs (a)");
  for (const auto& open :
       {+[](const fs::path& f) { Store::open(f); }, +[](const fs::path& f) { Store::open_existing(f); }}) {
    expect_error(ErrorKind::cache_unusable, "another program", [&] { open(foreign); });
  }
  EXPECT_EQ(count(foreign, "sqlite_schema"), 1);
  Store::open(file());
  Database::open(file(), Database::Mode::read_write_create).set_user_version(2);
  expect_error(ErrorKind::cache_unusable, "newer", [&] { Store::open(file()); });
  expect_error(ErrorKind::cache_unusable, "newer", [&] { Store::open_existing(file()); });
  std::ofstream(folder_ / "text.db") << "not a database, but long enough to be taken for one? "
                                     << std::string(600, '.');
  expect_error(ErrorKind::cache_unusable, "is not a regtune cache", [&] { Store::open(folder_ / "text.db"); });
  expect_error(ErrorKind::cache_unusable, "is a folder", [&] { Store::open(folder_); });
}

TEST_F(StoreTest, SaysWhyTheFolderCannotBeCreated) {
  std::ofstream(folder_ / "file") << "x";
  expect_error(ErrorKind::cache_unusable, "cannot be created", [&] { Store::open(folder_ / "file" / "cache.db"); });
  try {
    Store::open("/proc/regtune/cache.db");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("/proc/regtune"), std::string_view::npos);
  }
}

TEST_F(StoreTest, RefusesValuesItDoesNotKnow) {
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, sample_record());
  Database::open(file(), Database::Mode::read_write_create).execute("UPDATE trial SET limiter = 'clusters'");
  expect_error(ErrorKind::cache_unusable, "\"clusters\"", [&] { store.load(run); });
}

TEST_F(StoreTest, AKilledRunKeepsItsRoundsAndThePreviousAnswer) {
  const TuningRecord record = sample_record();
  {
    Store store = Store::open(file());
    store_finished(store, record);
  }
  const pid_t child = in_killed_child([&] {
    TuningRecord again = record;
    again.started = "never finished";
    Store store = Store::open(file());
    const std::int64_t run = store.begin(again);
    const std::vector<RoundSample> samples = {{0, 1.0}, {1, 2.0}};
    for (int round = 0; round < 50; ++round) store.add_round(run, Phase::race, round, samples);
  });
  ASSERT_TRUE(was_killed(child));
  Store store = Store::open(file());
  EXPECT_EQ(integrity(file()), "ok");
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, record.started);
  EXPECT_EQ(count(file(), "sample JOIN tuning_run ON id = run_id WHERE state = 'running'"), 100);
}

TEST_F(StoreTest, ProcessesWriteAtOnceFromTheFirstMomentOn) {
  constexpr int writers = 4;
  constexpr int runs = 5;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(in_killed_child([&] {
      TuningRecord record = sample_record();
      record.kernel += std::to_string(writer);
      Store store = Store::open(file());  // all of them find no file and create it
      for (int index = 0; index < runs; ++index) {
        record.sizes["n"] = index;
        const std::int64_t run = store.begin(record);
        const std::vector<RoundSample> samples = {{0, 1.0}};
        for (int round = 0; round < 5; ++round) store.add_round(run, Phase::race, round, samples);
        store.finish(run, record);
      }
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(was_killed(child));
  EXPECT_EQ(Store::open(file()).list("decayWide").size(), static_cast<std::size_t>(writers * runs));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST(DefaultCachePath, FollowsTheEnvironment) {
  struct Restore {
    ~Restore() {
      for (const auto& [name, value] : old) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    }
    std::vector<std::pair<const char*, std::optional<std::string>>> old;
  } restore;
  for (const char* name : {"REGTUNE_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    const char* value = std::getenv(name);
    restore.old.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
  }
  setenv("REGTUNE_CACHE", "some/file.db", 1);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_cache_path(), "some/file.db");
  setenv("REGTUNE_CACHE", "", 1);
  EXPECT_EQ(default_cache_path(), "/xdg/regtune/regtune.db");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_path(), "/home/me/.cache/regtune/regtune.db");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_THROW(default_cache_path(), Error);
}

TEST_F(StoreTest, KeepsACopysBandwidthForEachModelAndDriver) {
  GpuState gpu = *sample_record().gpu;
  {
    Store store = Store::open(file());
    EXPECT_FALSE(store.copy_bandwidth(gpu));
    store.keep_copy_bandwidth(gpu, 4000);
    store.keep_copy_bandwidth(gpu, 4123.5);
  }
  Store store = Store::open(file());
  EXPECT_EQ(store.copy_bandwidth(gpu), 4123.5);
  gpu.id.name = "h200";  // the same model
  EXPECT_EQ(store.copy_bandwidth(gpu), 4123.5);
  gpu.driver_version = "999.1";
  EXPECT_FALSE(store.copy_bandwidth(gpu));
}

}  // namespace
}  // namespace regtune
