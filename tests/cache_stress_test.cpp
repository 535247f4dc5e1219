// Many processes on one cache file: writers that store runs trial by trial, readers that look up all the while, and
// writers that are killed. The short version runs everywhere; REGTUNE_SOAK=full is 8 writers of 1,000 trials.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "regtune/lookup.hpp"
#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

struct Load {
  int writers = 4;
  int readers = 4;
  int runs = 6;     // of each writer
  int trials = 10;  // of each run
  int kills = 5;
};

Load load() {
  const char* soak = std::getenv("REGTUNE_SOAK");
  if (soak && std::string_view(soak) == "full") return {8, 8, 50, 20, 20};
  return {};
}

TunedAs tuned_as(int writer, int run) {
  TunedAs as;
  as.kernel = "_Z1w" + std::to_string(writer);
  as.signature = "w" + std::to_string(writer) + "(float*)";
  as.sizes = {{"n", run + 1}};
  as.best = RegisterCap{24 + run % 200};
  return as;
}

// As a tuning does it: begin, each trial, a round after each, finish.
void tune_into(Store& store, int writer, int run, int trials) {
  TuningRecord record = tuned_record(tuned_as(writer, run));
  for (int trial = static_cast<int>(record.trials.size()); trial < trials; ++trial) {
    record.trials.push_back(record.trials[static_cast<std::size_t>(trial) % 3]);
    record.trials.back().variant.id = trial;
  }
  record.trials.resize(static_cast<std::size_t>(trials));
  const std::int64_t id = store.begin(record);
  for (int trial = 0; trial < trials; ++trial) {
    store.set_outcome(id, record.trials[static_cast<std::size_t>(trial)]);
    store.add_round(id, Phase::race, trial, std::vector<RoundSample>{{trial, 1.0 + trial}});
  }
  store.finish(id, record);
}

pid_t in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    body();
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
}

bool ended_well(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string soundness(const fs::path& file) {
  Database database = Database::open(file, Database::Mode::read_write_create);
  Statement check(database, "PRAGMA integrity_check");
  return check.step() ? check.text(0) : "no answer";
}

CacheOptions options_for(const fs::path& file) {
  CacheOptions options;
  options.file = file;
  options.system_files.emplace();
  options.check_interval = 1ms;
  return options;
}

// Whatever is answered is what was stored under that key; what was there once stays there.
void read_until_told(const fs::path& file, const fs::path& stop, const Load& load) {
  const Cache cache(options_for(file));
  std::vector<bool> seen(static_cast<std::size_t>(load.writers * load.runs));
  for (std::size_t i = 0; !fs::exists(stop); i = (i + 1) % seen.size()) {
    const int writer = static_cast<int>(i) / load.runs;
    const int run = static_cast<int>(i) % load.runs;
    const TunedAs as = tuned_as(writer, run);
    const Answer answer = cache.find({as.signature, as.sizes}, h200);
    const bool exact = answer.match == Match::exact;
    if (exact && answer->best.policy != as.best) throw std::runtime_error("another run's answer");
    if (seen[i] && !exact) throw std::runtime_error("an answer is gone");
    seen[i] = exact;
    if (!cache.problems().empty()) throw std::runtime_error(cache.problems().front());
    if (i == 0) std::this_thread::sleep_for(1ms);  // the machine has few cores
  }
}

TEST(CacheStress, WritersAndReadersAtOnceLoseNothing) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "cache.db";
  const Load work = load();
  std::vector<pid_t> readers;
  for (int reader = 0; reader < work.readers; ++reader)
    readers.push_back(in_child([&] { read_until_told(file, folder.path() / "stop", work); }));
  std::vector<pid_t> writers;
  for (int writer = 0; writer < work.writers; ++writer) {
    writers.push_back(in_child([&, writer] {
      Store store = Store::open(file);
      for (int run = 0; run < work.runs; ++run) tune_into(store, writer, run, work.trials);
    }));
  }
  for (const pid_t writer : writers) EXPECT_TRUE(ended_well(writer));
  folder.write("stop", "");
  for (const pid_t reader : readers) EXPECT_TRUE(ended_well(reader));
  EXPECT_EQ(soundness(file), "ok");
  EXPECT_EQ(Store::open(file).list().size(), static_cast<std::size_t>(work.writers * work.runs));
  Database database = Database::open(file, Database::Mode::read_write_create);
  Statement trials(database, "SELECT count(*) FROM trial");
  ASSERT_TRUE(trials.step());
  EXPECT_EQ(trials.integer(0), work.writers * work.runs * work.trials);
  const Cache cache(options_for(file));
  for (int writer = 0; writer < work.writers; ++writer) {
    for (int run = 0; run < work.runs; ++run) {
      const TunedAs as = tuned_as(writer, run);
      const Answer answer = cache.find({as.signature, as.sizes}, h200);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer.match, Match::exact);
      EXPECT_EQ(answer->best.policy, as.best);
    }
  }
}

TEST(CacheStress, KilledWritersChangeNothingThatWasStored) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "cache.db";
  const Load work = load();
  {
    Store store = Store::open(file);
    for (int run = 0; run < 5; ++run) tune_into(store, 0, run, 3);
  }
  std::mt19937_64 random(20260103);
  for (int kill_number = 0; kill_number < work.kills; ++kill_number) {
    const pid_t writer = in_child([&] {
      Store store = Store::open(file);
      for (int run = 0;; ++run) tune_into(store, 1, run % 7, 10);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 120));
    kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    ASSERT_EQ(soundness(file), "ok") << kill_number;
    const Cache cache(options_for(file));
    for (int run = 0; run < 5; ++run) {
      const TunedAs as = tuned_as(0, run);
      ASSERT_EQ(cache.find({as.signature, as.sizes}, h200)->best.policy, as.best) << kill_number;
    }
    for (int run = 0; run < 7; ++run) {
      const TunedAs as = tuned_as(1, run);
      const Answer answer = cache.find({as.signature, as.sizes}, h200);
      ASSERT_TRUE(answer.match != Match::exact || answer->best.policy == as.best) << kill_number;
    }
    ASSERT_TRUE(cache.problems().empty()) << cache.problems().front();
  }
}

}  // namespace
}  // namespace regtune
