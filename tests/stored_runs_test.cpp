// Runs in the cache: which one answers, which replaces which, what interrupted ones leave, quarantine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "store_fixture.hpp"

namespace regtune {
namespace {

TEST_F(StoreTest, FindsByAnyNameTheSizesAndAnySpellingOfTheGpu) {
  const TuningRecord record = sample_record();
  Store store = Store::open(file());
  store_finished(store, record);
  for (const char* name :
       {"decayWide", " decayWide", "_Z9decayWidePKfPfm", "decayWide(const float*,float*,unsigned long)"}) {
    EXPECT_TRUE(store.find(key(name, record.sizes))) << name;
    EXPECT_TRUE(store.find(key(name, record.sizes, "nvidia  h200"))) << name;
  }
  EXPECT_EQ(text_of(*store.find(key("decayWide", record.sizes, "H200"))), text_of(record));
  EXPECT_FALSE(store.find(key("decay", record.sizes)));
  EXPECT_FALSE(store.find(key("decayWide", record.sizes, "NVIDIA H100")));
  EXPECT_FALSE(store.find(key("decayWide", {})));
  EXPECT_FALSE(store.find(key("decayWide", {{"n", 1 << 24}})));
  EXPECT_FALSE(store.find(key("decayWide", {{"n", 1 << 24}, {"m", -1}, {"k", 0}})));
}

TEST_F(StoreTest, ListsWhatIsStoredSoThatAMissCanSayIt) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  store_finished(store, record);
  record.sizes = {{"n", 7}};
  record.gpu->id.name = "NVIDIA H100";
  store_finished(store, record);
  record.kernel = "_Z5otherv";
  record.signature = "other()";
  store_finished(store, record);
  store.begin(record);
  ASSERT_EQ(store.list("decayWide").size(), 2u);
  EXPECT_EQ(store.list("decayWide")[0].sizes, (Sizes{{"n", 7}})) << "newest first";
  EXPECT_EQ(store.list("decayWide")[0].gpu.name, "NVIDIA H100");
  EXPECT_EQ(store.list("decayWide")[1].gpu.name, "NVIDIA H200");
  EXPECT_EQ(store.list().size(), 3u);
  EXPECT_TRUE(store.list("nothing").empty());
}

TEST_F(StoreTest, AFinishedRunReplacesTheOlderOfItsKeyOnly) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t old_run = store_finished(store, record);
  record.gpu->driver_version = "590";
  const std::int64_t other_driver = store_finished(store, record);
  record.gpu->driver_version = "580.159.04";
  record.started = "2026-02-02T00:00:00Z";
  record.host = "another";
  const std::int64_t new_run = store_finished(store, record);
  EXPECT_FALSE(store.load(old_run));
  EXPECT_TRUE(store.load(other_driver));
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, "2026-02-02T00:00:00Z");
  EXPECT_EQ(count(file(), "sample WHERE run_id NOT IN (SELECT id FROM tuning_run)"), 0);
  expect_error(ErrorKind::cache_unusable, "finished already", [&] { store.finish(new_run, record); });
}

TEST_F(StoreTest, AnUnfinishedRunNeitherAnswersNorReplaces) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t finished = store_finished(store, record);
  record.started = "later";
  const std::int64_t unfinished = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(unfinished, trial);
  EXPECT_TRUE(store.load(finished));
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, "2026-01-02T03:04:05Z");
  EXPECT_EQ(store.list().size(), 1u);
  record.verdict.reset();
  store.finish(unfinished, record);
  EXPECT_TRUE(store.find(key("decayWide", record.sizes))) << "a run without a verdict replaces nothing";
}

TEST_F(StoreTest, ClearsAwayWhatInterruptedRunsOfTheSameKeyLeft) {
  const TuningRecord record = sample_record();
  ASSERT_TRUE(was_killed(in_killed_child([&] { Store::open(file()).begin(record); })));
  Store store = Store::open(file());
  const std::int64_t alive = store.begin(record);
  const std::int64_t from_elsewhere = store.begin(record);
  const std::int64_t stale_from_elsewhere = store.begin(record);
  Database::open(file(), Database::Mode::read_write_create)
      .execute(("UPDATE tuning_run SET process = 'another machine 1 2' WHERE id >= " + std::to_string(from_elsewhere) +
                "; UPDATE tuning_run SET begun_s = begun_s - 90000 WHERE id = " + std::to_string(stale_from_elsewhere))
                   .c_str());
  store_finished(store, record);
  EXPECT_FALSE(store.load(1)) << "its process has ended";
  EXPECT_TRUE(store.load(alive)) << "this one";
  EXPECT_TRUE(store.load(from_elsewhere)) << "nobody can tell from here";
  EXPECT_FALSE(store.load(stale_from_elsewhere)) << "no run lasts a day";
}

TEST_F(StoreTest, ClearsAwayInterruptedRunsThatWereBegunBeforeTheirTrialsWereKnown) {
  const TuningRecord record = sample_record();
  TuningRecord head = record;
  head.trials.clear();
  ASSERT_NE(run_key(head), run_key(record));
  ASSERT_TRUE(was_killed(in_killed_child([&] { Store::open(file()).begin(head); })));
  Store store = Store::open(file());
  store.finish(store.begin(head), record);
  EXPECT_FALSE(store.load(1));
}

std::string code_of(const Trial& trial) {
  return code_identity(*trial.facts, trial.shape);
}

TEST_F(StoreTest, GivesWhatInterruptedRunsOfTheKeyFoundAsOne) {
  TuningRecord record = sample_record();
  for (Trial& trial : record.trials) trial.outcome = NotTimed{};
  // The ids of the codes 1 and 2 are swapped in the second run: codes came in another order.
  TuningRecord swapped = record;
  std::swap(swapped.trials[1].facts, swapped.trials[2].facts);
  const auto interrupted = [&](const TuningRecord& run_record, int rounds) {
    ASSERT_TRUE(was_killed(in_killed_child([&] {
      Store store = Store::open(file());
      const std::int64_t run = store.begin(run_record);
      for (int id = 0; id < 3; ++id) store.set_outcome(run, run_record.trials[static_cast<std::size_t>(id)]);
      const std::vector<RoundSample> samples{{0, 1.0}, {1, 2.0}, {2, 3.0}};
      for (int round = 1; round <= rounds; ++round) store.add_round(run, Phase::race, round, samples);
      store.add_round(run, Phase::confirmation, 1, samples);
    })));
  };
  interrupted(record, 2);
  interrupted(swapped, 1);
  Store store = Store::open(file());
  const EarlierRun earlier = store.interrupted(record);
  ASSERT_EQ(earlier.race.size(), 3u);
  EXPECT_EQ(earlier.confirmation.size(), 2u);
  EXPECT_EQ(earlier.codes, 3u);
  EXPECT_EQ(earlier.started, record.started);
  EXPECT_EQ(earlier.race[0].at(code_of(record.trials[1])), 2.0);
  EXPECT_EQ(earlier.race[2].at(code_of(record.trials[1])), 3.0) << "by code, not by id";
  record.settings.seed += 1;
  EXPECT_TRUE(store.interrupted(record).empty()) << "another key";
}

TEST_F(StoreTest, GivesTheOutcomesThatNeedNotBeFoundOutAgain) {
  TuningRecord record = sample_record();
  Measurement first_launch;
  first_launch.time_ms = {9, 9, 9};
  record.trials[2].outcome = Abandoned{"its first launch took 9 times the fastest's", first_launch};
  ASSERT_TRUE(was_killed(in_killed_child([&] {
    Store store = Store::open(file());
    const std::int64_t run = store.begin(record);
    for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  })));
  const EarlierRun earlier = Store::open(file()).interrupted(record);
  EXPECT_EQ(earlier.first_ms, (std::map<std::string, double>{{code_of(record.trials[2]), 9.0}}));
  std::map<std::string, std::size_t> failed;
  for (const auto& [code, outcome] : earlier.failed) failed[code] = outcome.index();
  EXPECT_EQ(failed, (std::map<std::string, std::size_t>{{code_of(record.trials[4]), Outcome(Faulted{}).index()},
                                                        {code_of(record.trials[5]), Outcome(TimedOut{}).index()},
                                                        {code_of(record.trials[6]), Outcome(WrongResult{}).index()}}));
}

TEST_F(StoreTest, AFaultOrAHangPutsACodeIntoQuarantineAndAMeasurementTakesItOut) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  const auto kept = store.quarantine(record);
  ASSERT_EQ(kept.size(), 2u) << "a wrong result is no reason";
  EXPECT_EQ(kept.at(code_of(record.trials[4])).reason, "it faulted: illegal address (driver 580.159.04)");
  EXPECT_EQ(kept.at(code_of(record.trials[5])).reason, "it did not end within 123.5 ms (driver 580.159.04)");
  EXPECT_EQ(kept.at(code_of(record.trials[5])).since.size(), std::string("2026-01-02T03:04:05Z").size());

  const auto is_kept_for = [&](auto change) {
    TuningRecord other = record;
    change(other);
    return !store.quarantine(other).empty();
  };
  EXPECT_TRUE(is_kept_for([](TuningRecord& r) { r.gpu->driver_version = "590"; })) << "until it is asked for";
  EXPECT_TRUE(is_kept_for([](TuningRecord& r) { r.source_hash = "edited elsewhere"; })) << "the code is the same";
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.sizes["n"] = 5; })) << "launched on something else";
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.arguments.front() += "!"; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.author_shape.grid.x = 7; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.gpu->id.name = "NVIDIA B200"; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.kernel = "other"; }));

  record.trials[4].outcome = Abandoned{"never launched", {}};
  store.set_outcome(run, record.trials[4]);
  EXPECT_EQ(store.quarantine(record).size(), 2u) << "it was not launched";
  record.trials[4].outcome = sample_measurement();
  store.set_outcome(run, record.trials[4]);
  EXPECT_EQ(store.quarantine(record).size(), 1u);
  store.finish(run, record);
  EXPECT_EQ(store.quarantine(record).size(), 1u) << "belongs to no run";
}

TEST_F(StoreTest, ARunThatStartsOverForgetsItsSamples) {
  const TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  store.add_round(run, Phase::race, 1, std::vector<RoundSample>{{0, 1.0}});
  store.start_over(run);
  EXPECT_EQ(count(file(), "trial"), 0);
  EXPECT_EQ(count(file(), "sample"), 0);
  store.finish(run, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record));
}

TEST_F(StoreTest, ARunOfOtherSourceChoicesIsAnotherRun) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t with_choices = store_finished(store, record);
  for (Trial& trial : record.trials) trial.variant.choice = {};
  const std::int64_t without = store_finished(store, record);
  record.trials[5].variant.choice.macros["UNROLL"] = "8";
  store_finished(store, record);
  record.route = "plain NVRTC: nvJitLink was not found";
  const std::int64_t other_route = store_finished(store, record);
  EXPECT_TRUE(store.load(with_choices));
  EXPECT_TRUE(store.load(without));
  EXPECT_TRUE(store.load(other_route));
  EXPECT_EQ(store.list().size(), 3u) << "the route to the codes changes no answer";
}

TEST_F(StoreTest, InstancesOfATemplateAndTheirGridsAreKeptApart) {
  TuningRecord record = sample_record();
  record.trials[5].variant.choice = {false, -1, {}, "scale<4, float>"};
  Store store = Store::open(file());
  const std::int64_t of_four = store_finished(store, record);
  EXPECT_EQ(store.load(of_four)->trials[5].variant.choice.instance, "scale<4, float>");
  record.trials[5].variant.choice.instance = "scale<8, float>";
  const std::int64_t of_eight = store_finished(store, record);
  record.trials[5].shape.grid.x /= 2;
  const std::int64_t other_grid = store_finished(store, record);
  for (const std::int64_t run : {of_four, of_eight, other_grid}) EXPECT_TRUE(store.load(run)) << run;
}

}  // namespace
}  // namespace regtune
