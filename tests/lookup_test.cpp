#include "regtune/lookup.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "fake_bench.hpp"
#include "simulated_tuning.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// Sets variables of the environment for a test.
class Environment {
 public:
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() {
    for (const auto& [name, value] : before_) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

class Lookup : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "cache.db"; }
  CacheOptions options(std::chrono::milliseconds interval = 0ms) const {
    CacheOptions chosen;
    chosen.file = file();
    chosen.system_files.emplace();
    chosen.check_interval = interval;
    return chosen;
  }
  static KernelKey key(std::int64_t n = 1024) { return {"sgemm", {{"n", n}}}; }
  static int cap_of(const Answer& answer) {
    return answer ? std::get<RegisterCap>(answer->best.policy).registers_per_thread : 0;
  }
  void store(int cap, std::int64_t n = 1024) const {
    Store store = Store::open(file());
    TunedAs as;
    as.best = RegisterCap{cap};
    as.sizes = {{"n", n}};
    store_tuned(store, as);
  }

  TemporaryFolder folder_;
};

TEST_F(Lookup, GivesWhatAFinishedRunFound) {
  store(57);
  const Cache cache(options());
  const Answer answer = cache.find(key(), h200);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.match, Match::exact);
  EXPECT_EQ(answer->best.policy, RegisterPolicy(RegisterCap{57}));
  EXPECT_EQ(answer->in_source.policy, RegisterPolicy(LaunchBounds{256, 4}));
  EXPECT_EQ(answer->best.registers_per_thread, 56);
  EXPECT_EQ(answer->best.speedup, 1.12);
  EXPECT_EQ(answer->verdict, "improved");
  EXPECT_EQ(answer->signature, "sgemm(float*)");
  EXPECT_EQ(answer->driver, "580.159.04");
  EXPECT_EQ(answer->compiler, "NVRTC 13.0.88");
  EXPECT_EQ(answer->options, (std::vector<std::string>{"--std=c++17", "-DX=a b"}));
  EXPECT_EQ(answer->source_tag, "tag 1");
  EXPECT_EQ(answer->file, file());
  EXPECT_GT(answer->run, 0);
  EXPECT_EQ(cache.find({"_Z5sgemmPf", {{"n", 1024}}}, h200)->kernel, "_Z5sgemmPf");
  EXPECT_EQ(cache.find({"nothing", {{"n", 1024}}}, h200).miss, Miss::not_stored);
  EXPECT_EQ(cache.find({"", {{"n", 1024}}}, h200).miss, Miss::bad_key);
  EXPECT_TRUE(cache.problems().empty());
}

TEST_F(Lookup, AnUnfinishedRunIsNoAnswerAndDoesNotReplaceOne) {
  store(57);
  TunedAs as;
  as.best = RegisterCap{99};
  Store writer = Store::open(file());
  writer.begin(tuned_record(as));
  const Cache cache(options());
  EXPECT_EQ(cap_of(cache.find(key(), h200)), 57);
}

TEST_F(Lookup, SeesWhatOtherProcessesStoreAndNoSoonerThanAsked) {
  const Cache every_time(options(0ms));
  const Cache seldom(options(1h));
  EXPECT_EQ(every_time.find(key(), h200).miss, Miss::not_stored) << "there is no file yet";
  EXPECT_EQ(seldom.find(key(), h200).miss, Miss::not_stored);
  store(57);
  const Answer first = every_time.find(key(), h200);
  EXPECT_EQ(cap_of(first), 57);
  EXPECT_FALSE(seldom.find(key(), h200));
  store(60);
  EXPECT_EQ(cap_of(every_time.find(key(), h200)), 60);
  EXPECT_EQ(cap_of(first), 57) << "what was given lives as long as the cache";
}

TEST_F(Lookup, KeepsItsAnswersWhileRoundsAreStored) {
  store(57);
  const Cache cache(options());
  const Answer before = cache.find(key(), h200);
  Store writer = Store::open(file());
  TunedAs as;
  as.sizes = {{"n", 5}};
  const TuningRecord record = tuned_record(as);
  const std::int64_t run = writer.begin(record);
  for (int round = 0; round < 20; ++round) {
    writer.add_round(run, Phase::race, round, std::vector<RoundSample>{{0, 1.0}});
    EXPECT_EQ(cache.find(key(), h200).policy, before.policy) << "read anew for no reason";
  }
  writer.finish(run, record);
  EXPECT_EQ(cache.find(key(), h200).policy, before.policy) << "the same answer is the same";
  EXPECT_TRUE(cache.find(key(5), h200));
}

TEST_F(Lookup, SeesAFileThatTookThePlaceOfAnother) {
  store(57);
  const Cache cache(options());
  EXPECT_EQ(cap_of(cache.find(key(), h200)), 57);
  const fs::path old = folder_.path() / "old.db";
  fs::rename(file(), old);
  EXPECT_FALSE(cache.find(key(), h200)) << "it is gone";
  store(60);
  EXPECT_EQ(cap_of(cache.find(key(), h200)), 60);
}

TEST_F(Lookup, SizesMayComeInAnyOrderAndEachOnce) {
  Store store = Store::open(file());
  TunedAs as;
  as.sizes = {{"a", 1}, {"b", 2}, {"c", 3}};
  store_tuned(store, as);
  const Cache cache(options());
  EXPECT_EQ(cache.find({"sgemm", as.sizes}, h200).match, Match::exact);
  EXPECT_EQ(cache.find({"sgemm", {{"a", 2}, {"b", 1}, {"c", 3}}}, h200).match, Match::nearest_sizes);
  Sizes many;
  for (int i = 0; i < 33; ++i) many["s" + std::to_string(i)] = i;
  EXPECT_EQ(cache.find({"sgemm", many}, h200).miss, Miss::bad_key);
}

TEST_F(Lookup, TheUsersFileStandsAboveThoseOfTheSystem) {
  TunedAs as;
  as.best = RegisterCap{40};
  const auto store_in = [&](const std::string& name) {
    Store store = Store::open(folder_.path() / name);
    store_tuned(store, as);
  };
  store_in("system/b.db");
  as.best = RegisterCap{41};
  store_in("system/a.db");
  folder_.write("system/readme.txt", "no cache");
  CacheOptions chosen = options();
  chosen.system_files = {folder_.path() / "system", folder_.path() / "missing.db"};
  EXPECT_EQ(Cache(chosen).files(),
            (std::vector<fs::path>{file(), folder_.path() / "system/a.db", folder_.path() / "system/b.db",
                                   folder_.path() / "missing.db"}));
  EXPECT_EQ(cap_of(Cache(chosen).find(key(), h200)), 41) << "there is no user's file";
  store(57, 2048);
  EXPECT_EQ(cap_of(Cache(chosen).find(key(), h200)), 41) << "the better rung";
  store(57);
  EXPECT_EQ(cap_of(Cache(chosen).find(key(), h200)), 57);
}

TEST_F(Lookup, FindsItsFilesByTheEnvironmentAndNeedsNoHome) {
  store(57);
  Environment environment;
  environment.set("REGTUNE_CACHE", nullptr);
  environment.set("XDG_CACHE_HOME", nullptr);
  environment.set("HOME", nullptr);
  environment.set("REGTUNE_CACHE_PATH", nullptr);
  EXPECT_FALSE(Cache().find(key(), h200));
  environment.set("REGTUNE_CACHE_PATH", ("/nowhere:" + file().string()).c_str());
  EXPECT_EQ(cap_of(Cache().find(key(), h200)), 57);
  environment.set("REGTUNE_CACHE_PATH", nullptr);
  environment.set("REGTUNE_CACHE", file().c_str());
  EXPECT_EQ(cap_of(Cache().find(key(), h200)), 57);
}

TEST_F(Lookup, AFileThatCannotBeUsedIsAMissAndSaidToBeOne) {
  folder_.write("cache.db", "these are notes, and nobody may lose them");
  const Cache cache(options());
  EXPECT_FALSE(cache.find(key(), h200));
  ASSERT_EQ(cache.problems().size(), 1u);
  EXPECT_NE(cache.problems()[0].find("is not a regtune cache"), std::string::npos) << cache.problems()[0];
  fs::remove(file());
  store(57);
  EXPECT_EQ(cap_of(cache.find(key(), h200)), 57) << "it is tried again";
  EXPECT_TRUE(cache.problems().empty());
}

TEST_F(Lookup, RowsThatWentBadAreAMiss) {
  store(57);
  store(60, 2048);
  const auto change = [&](const char* sql) { Database::open(file(), Database::Mode::read_write_create).execute(sql); };
  for (const char* sql : {"UPDATE answer SET best_policy_first = 24 WHERE best_policy_first = 57",
                          "DELETE FROM answer WHERE id = 2", "UPDATE answer_group SET digest = 'x'",
                          "DELETE FROM answer_group", "UPDATE answer SET in_source_macros = '1:a,1:b,' WHERE id = 1",
                          "UPDATE answer SET best_policy = 'something else' WHERE id = 1"}) {
    const fs::path whole = folder_.path() / "whole.db";
    fs::copy_file(file(), whole, fs::copy_options::overwrite_existing);
    change(sql);
    const Cache cache(options());
    EXPECT_EQ(cache.find(key(), h200).miss, Miss::not_stored) << sql;
    EXPECT_EQ(cache.find(key(2048), h200).miss, Miss::not_stored) << sql << ": not even by the next rung";
    ASSERT_EQ(cache.problems().size(), 1u) << sql;
    EXPECT_NE(cache.problems()[0].find("is damaged"), std::string::npos);
    fs::copy_file(whole, file(), fs::copy_options::overwrite_existing);
  }
}

TEST_F(Lookup, AReadOnlyFolderAnswersToo) {
  store(57);
  const fs::path folder = folder_.path() / "medium";
  fs::create_directory(folder);
  fs::copy_file(file(), folder / "cache.db");
  fs::permissions(folder, fs::perms(0555));
  fs::permissions(folder / "cache.db", fs::perms(0444));
  fs::permissions(folder_.path(), fs::perms(0755));
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(3);
    CacheOptions chosen = options();
    chosen.file = folder / "cache.db";
    const Cache cache(chosen);
    const Answer answer = cache.find(key(), h200);
    _exit(answer && cap_of(answer) == 57 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  fs::permissions(folder, fs::perms(0755));
}

TEST_F(Lookup, ThreadsAskWhileAnotherProcessStores) {
  for (int n = 1; n <= 40; ++n) store(24 + n, n);
  const Cache cache(options(1ms));
  std::atomic<bool> ended{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      for (int i = reader; !ended; ++i) {
        const int n = 1 + i % 40;
        const Answer answer = cache.find(key(n), h200);
        if (cap_of(answer) != 24 + n || answer.match != Match::exact) ++wrong;
      }
    });
  }
  for (int n = 100; n < 120; ++n) store(57, n);
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(cache.find(key(119), h200));
}

TEST_F(Lookup, MoreQuestionsThanAreKeptAreStillAnswered) {
  store(57);
  const Cache cache(options(1h));
  for (std::int64_t n = 1; n <= 17'000; ++n) ASSERT_EQ(cap_of(cache.find(key(n), h200)), 57) << n;
  EXPECT_EQ(cache.find(key(1024), h200).match, Match::exact);
  EXPECT_EQ(cache.find(key(16'999), h200).match, Match::nearest_sizes);
}

// What the program stores, by its own order of things, the library finds.
TEST_F(Lookup, FindsWhatATuningStored) {
  TuningRecord record = simulated_record({0, 1, 2, 3});
  FakeBench bench({{0, {1.1}}, {1, {1.2}}, {2, {1.2}}, {3, {0.9}}, {4, {1.2}}}, {}, 1);
  SimulatedTuning tuning;
  {
    Store store = Store::open(file());
    tuning = tune_simulated(store, bench, record);
  }
  ASSERT_EQ(tuning.record.verdict->kind, Verdict::Kind::improved);
  const Cache cache(options());
  const Answer answer = cache.find({"k", {{"n", 1024}}}, record.gpu->id);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->best.policy, RegisterPolicy(RegisterCap{26}));
  EXPECT_EQ(answer->in_source.policy, RegisterPolicy(AuthorsOwn{}));
  EXPECT_EQ(answer->best.speedup, tuning.record.verdict->speedup.median);
}

}  // namespace
}  // namespace regtune
