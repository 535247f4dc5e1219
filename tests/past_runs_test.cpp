// What earlier runs have left, through the real cache and a GPU made of numbers: codes in quarantine are not launched,
// and an interrupted run is taken up.
#include "past_runs.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fake_bench.hpp"
#include "simulated_tuning.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

constexpr int kBad = 3;
constexpr int kBest = 5;

std::map<int, FakeCode> landscape() {
  std::map<int, FakeCode> codes;
  for (int id = 0; id <= 8; ++id) codes[id] = {1.0 + 0.01 * id, 0.002, 0.002};
  codes[0].ms = 1.2;
  codes[kBest].ms = 0.95;
  codes[kBad].ms = 0.1;  // would be the fastest by far
  return codes;
}

FakeBench bench_with(const std::optional<Shot>& at_check, std::uint64_t seed = 1) {
  std::map<int, FakeCode> codes = landscape();
  codes[kBad].at_check = at_check;
  return FakeBench(codes, {}, seed);
}

class PastRunsTest : public testing::Test {
 protected:
  const Outcome& outcome_of_bad(const SimulatedTuning& tuning) const { return tuning.record.trials.at(kBad).outcome; }
  TemporaryFolder folder_;
  Store store_ = Store::open(folder_.path() / "cache.db");
  const TuningRecord record_ = simulated_record({0, 1, 2, 3, 4, 5, 6, 7});
};

class Quarantine : public PastRunsTest, public testing::WithParamInterface<Shot> {};

TEST_P(Quarantine, KeepsACodeFromEveryLaterRunAndTheVerdictIsRight) {
  FakeBench first = bench_with(GetParam());
  tune_simulated(store_, first, record_);
  EXPECT_EQ(first.launches.at(kBad), 1);
  for (std::uint64_t seed = 2; seed <= 3; ++seed) {
    FakeBench later = bench_with(GetParam(), seed);
    const SimulatedTuning tuning = tune_simulated(store_, later, record_);
    EXPECT_FALSE(later.launches.contains(kBad)) << "launched again";
    const auto* kept = std::get_if<Quarantined>(&outcome_of_bad(tuning));
    ASSERT_TRUE(kept);
    EXPECT_NE(kept->reason, "");
    EXPECT_EQ(kept->since.size(), 20u);
    EXPECT_EQ(tuning.record.verdict->best_id, kBest);
    EXPECT_EQ(tuning.told, "") << "no run was interrupted";
  }
}

TEST_P(Quarantine, EndsWhenItIsAskedForAndTheCodeIsMeasured) {
  FakeBench first = bench_with(GetParam());
  tune_simulated(store_, first, record_);
  FakeBench still_bad = bench_with(GetParam());
  tune_simulated(store_, still_bad, record_, true);
  EXPECT_EQ(still_bad.launches.at(kBad), 1);
  FakeBench again = bench_with(GetParam());
  EXPECT_TRUE(std::holds_alternative<Quarantined>(outcome_of_bad(tune_simulated(store_, again, record_))));
  FakeBench cured = bench_with({});
  const SimulatedTuning tuning = tune_simulated(store_, cured, record_, true);
  EXPECT_EQ(tuning.record.verdict->best_id, kBad);
  FakeBench after = bench_with({});
  tune_simulated(store_, after, record_);
  EXPECT_TRUE(after.launches.contains(kBad)) << "it left the quarantine";
}

INSTANTIATE_TEST_SUITE_P(Reasons, Quarantine,
                         testing::Values(Shot(Faulted{"CUDA_ERROR_ILLEGAL_ADDRESS (700)"}),
                                         Shot(Faulted{"the GPU's process was killed by signal 9 (Killed)"}),
                                         Shot(TimedOut{1000})));

TEST_F(PastRunsTest, AWrongResultOrARefusedLaunchIsNoReasonForQuarantine) {
  for (const Shot& shot : {Shot(WrongResult{"out: 1 differs"}), Shot(NotLaunchable{"too many registers"})}) {
    FakeBench first = bench_with(shot);
    tune_simulated(store_, first, record_);
    FakeBench later = bench_with(shot);
    tune_simulated(store_, later, record_);
    EXPECT_EQ(later.launches.at(kBad), 1);
  }
}

TEST_F(PastRunsTest, OtherInputsGiveACodeAnotherChance) {
  FakeBench first = bench_with(Shot(Faulted{"an illegal address"}));
  tune_simulated(store_, first, record_);
  TuningRecord larger = record_;
  larger.sizes["n"] = 2048;
  FakeBench later = bench_with({});
  EXPECT_EQ(tune_simulated(store_, later, larger).record.verdict->best_id, kBad);
}

// A device that ends the whole run, without any clean-up, at the given sample.
class KilledBench final : public Bench {
 public:
  KilledBench(FakeBench& bench, int samples) : bench_(bench), left_(samples) {}
  double set_reference(const Candidate& reference) override { return bench_.set_reference(reference); }
  ReferenceRun warm_up(double ms) override { return bench_.warm_up(ms); }
  Shot check(const Candidate& candidate) override { return bench_.check(candidate); }
  Shot sample_cold(const Candidate& candidate) override { return sample(candidate); }
  Shot sample(const Candidate& candidate) override {
    if (--left_ == 0) kill(getpid(), SIGKILL);
    return bench_.sample(candidate);
  }

 private:
  FakeBench& bench_;
  int left_;
};

TEST_F(PastRunsTest, AnInterruptedRunIsTakenUpWithItsFailures) {
  const pid_t child = fork();
  if (child == 0) {
    Store store = Store::open(folder_.path() / "cache.db");
    FakeBench bench = bench_with(Shot(TimedOut{1000}));
    KilledBench killed(bench, 40);
    tune_simulated(store, killed, record_);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const EarlierRun earlier = store_.interrupted(record_);
  ASSERT_GE(earlier.race.size(), 3u);
  EXPECT_TRUE(earlier.confirmation.empty());
  // The same codes in another order.
  const TuningRecord reordered = simulated_record({7, 6, 5, 4, 3, 2, 1, 0});
  const auto id_now = [](int id) { return id == 0 ? 0 : 9 - id; };
  std::map<int, FakeCode> codes;
  for (const auto& [id, code] : landscape()) codes[id_now(id)] = code;
  FakeBench bench(codes, {}, 2);
  const SimulatedTuning tuning = tune_simulated(store_, bench, reordered);
  EXPECT_EQ(tuning.told, "taking up a run that was interrupted (2026-01-02T03:04:05Z): 9 codes compiled, " +
                             std::to_string(earlier.race.size()) + " rounds kept");
  EXPECT_FALSE(bench.launches.contains(id_now(kBad))) << "it hung then: that need not be found out twice";
  const Outcome& bad = tuning.record.trials.at(static_cast<std::size_t>(id_now(kBad))).outcome;
  EXPECT_TRUE(std::holds_alternative<TimedOut>(bad));
  EXPECT_EQ(tuning.record.verdict->best_id, id_now(kBest));
  const auto& author = std::get<Measurement>(tuning.record.trials.front().outcome);
  EXPECT_EQ(author.race.size() + author.confirmation.size(),
            static_cast<std::size_t>(bench.samples.at(0)) + earlier.race.size());
  EXPECT_TRUE(store_.interrupted(reordered).empty()) << "it is the finished run's now";
}

}  // namespace
}  // namespace regtune
