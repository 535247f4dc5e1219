#include "run_claim.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "temporary_folder.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

using namespace std::chrono_literals;

class RunClaim : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "cache.db"; }
  // Another process that has begun the run when this returns, and then goes on with `rest`.
  void start_first(const std::function<void(Store&, std::int64_t)>& rest) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    first_ = fork();
    if (first_ == 0) {
      Store store = Store::open(file());
      const KeyClaim claim = store.claim(record_);
      if (claim.run == 0 || write(ready[1], "x", 1) != 1) _exit(1);
      rest(store, claim.run);
      _exit(0);
    }
    char got = 0;
    ASSERT_EQ(read(ready[0], &got, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  void TearDown() override {
    if (first_ <= 0) return;
    kill(first_, SIGKILL);
    waitpid(first_, nullptr, 0);
  }
  ClaimedRun claim(bool serves = true) {
    Store store = Store::open(file());
    Progress progress(true);
    return claim_run(
        store, record_, [=](const TuningRecord&) { return serves; }, progress);
  }

  TemporaryFolder folder_;
  TuningRecord record_ = tuned_record({});
  pid_t first_ = -1;
};

TEST_F(RunClaim, TheFirstGetsTheRun) {
  const ClaimedRun claimed = claim();
  EXPECT_GT(claimed.run, 0);
  EXPECT_FALSE(claimed.finished);
}

TEST_F(RunClaim, TheSecondWaitsForTheFirstAndTakesItsAnswer) {
  start_first([&](Store& store, std::int64_t run) {
    std::this_thread::sleep_for(300ms);
    store.finish(run, record_);
  });
  const auto begun = std::chrono::steady_clock::now();
  const ClaimedRun claimed = claim();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 200ms);
  EXPECT_EQ(claimed.run, 0);
  ASSERT_TRUE(claimed.finished);
  EXPECT_EQ(claimed.finished->verdict->best_id, 1);
}

TEST_F(RunClaim, TheSecondTunesWhereTheFirstsAnswerIsNotWhatItWasAskedFor) {
  start_first([&](Store& store, std::int64_t run) { store.finish(run, record_); });
  const ClaimedRun claimed = claim(false);
  EXPECT_GT(claimed.run, 0);
}

TEST_F(RunClaim, TheSecondGoesOnWhereTheFirstDied) {
  start_first([&](Store& store, std::int64_t run) {
    store.set_outcome(run, record_.trials[0]);
    store.add_round(run, Phase::race, 1, std::vector<RoundSample>{{0, 1.0}});
    std::this_thread::sleep_for(300ms);
    kill(getpid(), SIGKILL);
  });
  std::thread reaper([&] { waitpid(first_, nullptr, 0); });
  const ClaimedRun claimed = claim();
  reaper.join();
  first_ = -1;
  EXPECT_GT(claimed.run, 0);
  EXPECT_FALSE(Store::open(file()).interrupted(record_).empty()) << "what the first left is there to be taken up";
}

TEST_F(RunClaim, AnotherKeyWaitsForNobody) {
  start_first([](Store&, std::int64_t) { pause(); });
  record_.sizes["n"] = 5;
  EXPECT_GT(claim().run, 0);
}

TEST_F(RunClaim, OfTwoThatComeAtOnceOneGetsTheRun) {
  Store first = Store::open(file());
  Store second = Store::open(file());
  EXPECT_GT(first.claim(record_).run, 0);
  EXPECT_GT(second.claim(record_).run, 0) << "this very process: nobody to wait for";
  Database::open(file(), Database::Mode::read_write_create).execute("UPDATE tuning_run SET process = 'elsewhere 1 2'");
  EXPECT_GT(second.claim(record_).run, 0) << "a machine that cannot be seen from here";
}

}  // namespace
}  // namespace regtune
