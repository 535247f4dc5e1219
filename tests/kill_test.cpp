// kill -9 of a whole run, supervisor and GPU child, at fifty moments: nothing that was stored is lost, the cache stays
// sound, and the run after the last kill takes up what is there and gives the right answer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "simulated_tuning.hpp"
#include "sqlite.hpp"
#include "temporary_folder.hpp"
#include "worker.hpp"

namespace regtune {
namespace {

constexpr int kCodes = 24;
constexpr int kBestCap = 24 + 13;

double true_ms(const std::string& code) {
  if (code == "author") return 1.1;
  const int cap = std::stoi(code.substr(4));
  return cap == kBestCap ? 0.95 : 1.0 + 0.002 * (cap - 24);
}

// A GPU in a process of its own, as the real one is: it answers with times and takes its time.
class DeviceInAProcess final : public Bench {
 public:
  DeviceInAProcess(const TuningRecord& record, std::uint64_t seed)
      : worker_([record, seed](Channel& channel) {
          std::mt19937_64 random(seed);
          std::normal_distribution<> noise(1, 0.003);
          while (true) {
            const Channel::Received asked = channel.receive();
            if (asked.state != Channel::State::message) return;
            const int id = asked.message.at("id");
            std::this_thread::sleep_for(std::chrono::microseconds(400));
            const std::string& code = record.trials.at(static_cast<std::size_t>(id)).facts->code_hash;
            channel.send({{"ms", true_ms(code) * noise(random)}});
          }
        }) {}

  double set_reference(const Candidate& reference) override {
    reference_ = reference;
    return std::get<double>(ask(reference));
  }
  ReferenceRun warm_up(double) override {
    ReferenceRun run;
    run.ms = std::get<double>(ask(reference_));
    run.can_flush = false;
    return run;
  }
  Shot check(const Candidate& candidate) override { return ask(candidate); }
  Shot sample(const Candidate& candidate) override { return ask(candidate); }
  Shot sample_cold(const Candidate& candidate) override { return ask(candidate); }

 private:
  Shot ask(const Candidate& candidate) {
    worker_.channel().send({{"id", candidate.id}});
    const Channel::Received answer = worker_.channel().receive();
    if (answer.state != Channel::State::message) return Faulted{"the GPU's process is gone"};
    return answer.message.at("ms").get<double>();
  }
  Worker worker_;
  Candidate reference_;
};

// Codes are compiled in another order each time, so that ids mean something else.
void tune_once(const std::filesystem::path& cache, const std::filesystem::path& told_file, std::uint64_t seed) {
  std::vector<int> order(kCodes);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  TuningRecord record = simulated_record(order);
  record.settings.margin = 0;  // so that the confirmation goes on to its last look
  DeviceInAProcess device(record, seed);
  Store store = Store::open(cache);
  const SimulatedTuning tuning = tune_simulated(store, device, record);
  std::ofstream(told_file) << tuning.told;
}

// The leader of a group of its own, so that the whole can be killed as one.
pid_t start(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    body();
    _exit(0);
  }
  setpgid(child, child);
  return child;
}

// Every stored sample by what it is of: code, phase, time.
std::multiset<std::string> stored_samples(const std::filesystem::path& cache) {
  std::multiset<std::string> samples;
  Database database = Database::open(cache, Database::Mode::read_only);
  if (database.user_version() == 0) return samples;
  Statement select(database,
                   "SELECT code_hash, phase, ms FROM sample JOIN trial USING (run_id, variant_id) ORDER BY run_id");
  while (select.step()) {
    std::ostringstream text;
    text << select.text(0) << " " << select.integer(1) << " " << std::hexfloat << select.real(2);
    samples.insert(text.str());
  }
  return samples;
}

int stored_rounds(const std::filesystem::path& cache) {
  Database database = Database::open(cache, Database::Mode::read_only);
  if (database.user_version() == 0) return 0;  // killed before the schema was there
  Statement select(database, "SELECT count(*) FROM (SELECT DISTINCT run_id, phase, round FROM sample)");
  return select.step() ? static_cast<int>(select.integer(0)) : 0;
}

// Of the newest run that came to its end; 0: none did.
int last_finished(const std::filesystem::path& cache) {
  if (!std::filesystem::exists(cache)) return 0;
  Database database = Database::open(cache, Database::Mode::read_only);
  if (database.user_version() == 0) return 0;
  Statement select(database, "SELECT coalesce(max(finish_order), 0) FROM tuning_run");
  return select.step() ? static_cast<int>(select.integer(0)) : 0;
}

std::string integrity(const std::filesystem::path& cache) {
  Database database = Database::open(cache, Database::Mode::read_write_create);
  Statement check(database, "PRAGMA integrity_check");
  return check.step() ? check.text(0) : "no answer";
}

TEST(Kill, FiftyTimesLosesNothingAndTheNextRunTakesItUp) {
  const TemporaryFolder folder;
  const std::filesystem::path cache = folder.path() / "cache.db";
  const std::filesystem::path told = folder.path() / "told.txt";
  std::mt19937_64 random(20260101);
  std::uniform_real_distribution<> share;
  double latest_ms = 45;  // follows the machine: late enough for some rounds, too early for all of them
  std::multiset<std::string> before;
  int rounds = 0;
  int killed = 0;
  int finished = 0;
  int last_seen = 0;
  for (std::uint64_t attempt = 0; killed < 50 || rounds == 0; ++attempt) {
    ASSERT_LT(attempt, 100u) << "hardly anything is stored: is the machine too slow?";
    const pid_t child = start([&] { tune_once(cache, told, attempt); });
    const double part = share(random);
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(latest_ms * part));
    ASSERT_EQ(kill(-child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    // It was over before, perhaps by so little that it had not told so yet: that kill does not count.
    const int newest = last_finished(cache);
    if (std::filesystem::remove(told) || newest != last_seen) {
      ASSERT_LE(++finished, 5);
      last_seen = newest;
      before.clear();
      rounds = 0;
      continue;
    }
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ++killed;
    if (!std::filesystem::exists(cache)) {
      if (part > 0.5) latest_ms *= 1.5;
      continue;
    }
    ASSERT_EQ(integrity(cache), "ok") << attempt;
    const std::multiset<std::string> after = stored_samples(cache);
    ASSERT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end())) << attempt;
    before = after;
    const int all_rounds = stored_rounds(cache);
    if (all_rounds == rounds && part > 0.5) latest_ms *= 1.3;
    if (all_rounds > rounds + 2) latest_ms *= 0.6;
    rounds = all_rounds;
  }
  RecordProperty("rounds", rounds);

  const pid_t last = start([&] { tune_once(cache, told, 1000); });
  int status = 0;
  ASSERT_EQ(waitpid(last, &status, 0), last);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(integrity(cache), "ok");
  std::ifstream in(told);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("taking up a run that was interrupted"), std::string::npos) << text;
  EXPECT_NE(text.find("25 codes compiled"), std::string::npos) << text;

  Store store = Store::open(cache);
  const auto record = store.find({"k", {{"n", 1024}}, "NVIDIA Simulated"});
  ASSERT_TRUE(record);
  ASSERT_EQ(record->verdict->kind, Verdict::Kind::improved);
  const Trial& best = record->trials.at(static_cast<std::size_t>(record->verdict->best_id));
  EXPECT_EQ(best.variant.policy, RegisterPolicy(RegisterCap{kBestCap}));
  EXPECT_NEAR(record->verdict->speedup.median, 1.1 / 0.95, 0.005);
  // The samples of the interrupted runs are the finished one's now, and those runs are gone.
  const std::multiset<std::string> after = stored_samples(cache);
  for (const Sample& sample : std::get<Measurement>(best.outcome).race) EXPECT_GT(sample.ms, 0);
  std::size_t lost = 0;
  for (const std::string& sample : before) lost += sample.starts_with("author 0") && !after.contains(sample) ? 1 : 0;
  EXPECT_EQ(lost, 0u) << "race samples of the author's code";
  Database database = Database::open(cache, Database::Mode::read_only);
  Statement unfinished(database, "SELECT count(*) FROM tuning_run WHERE state = 'running'");
  ASSERT_TRUE(unfinished.step());
  EXPECT_EQ(unfinished.integer(0), 0);
}

TEST(Kill, ARunThatIsStillAliveIsNotTakenUp) {
  const TemporaryFolder folder;
  const std::filesystem::path cache = folder.path() / "cache.db";
  const TuningRecord record = simulated_record({0, 1, 2});
  const std::vector<RoundSample> samples{{0, 1.0}, {1, 2.0}};
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = start([&] {
    Store store = Store::open(cache);
    const std::int64_t run = store.begin(record);
    for (const Trial& trial : record.trials) store.set_outcome(run, trial);
    store.add_round(run, Phase::race, 1, samples);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  });
  char got = 0;
  ASSERT_EQ(read(ready[0], &got, 1), 1);
  Store store = Store::open(cache);
  EXPECT_TRUE(store.interrupted(record).empty());
  ASSERT_EQ(kill(-child, SIGKILL), 0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  const EarlierRun earlier = store.interrupted(record);
  ASSERT_EQ(earlier.race.size(), 1u);
  EXPECT_EQ(earlier.codes, 4u);
  EXPECT_EQ(earlier.race.front().at(code_identity(*record.trials[1].facts, record.trials[1].shape)), 2.0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace regtune
