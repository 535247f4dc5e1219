// What workers that would idle are given (CapPlateaus::take_likely, take_unchecked), played with a virtual clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <vector>

#include "cap_plateaus.hpp"

namespace regtune {
namespace {

struct Code {
  std::string code;
  int registers = 0;
};
using Codes = std::map<int, Code>;  // by cap

// From 24 to 255; `first_cap_of` gives the lowest cap with the same code, which is also what that code uses.
template <typename FirstCapOf>
Codes codes_of(FirstCapOf first_cap_of) {
  Codes codes;
  for (int cap = 24; cap <= 255; ++cap) codes[cap] = {std::to_string(first_cap_of(cap)), first_cap_of(cap)};
  return codes;
}

std::vector<int> caps_of(const Codes& codes) {
  std::vector<int> caps;
  for (const auto& [cap, code] : codes) caps.push_back(cap);
  return caps;
}

// A sweep's back end in units of one compilation. It keeps the order of Sweep's queue: what others wait for first.
class VirtualSweep {
 public:
  VirtualSweep(const Codes& codes, std::size_t workers, bool guesses, unsigned seed)
      : codes_(codes),
        workers_(workers),
        guesses_(guesses),
        binding_up_to_(codes.rbegin()->second.registers * 3 / 4),
        plateaus_(caps_of(codes), CapPlateaus::Start::coarse_steps, binding_up_to_) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 0.06);
    for (const auto& [cap, code] : codes)
      duration_[cap] = (cap <= binding_up_to_ ? 1.2 : 1.0) * std::exp(noise(random));
    const auto asked = plateaus_.take_to_compile();
    for (const bool decides : {true, false})
      for (const auto& [cap, does] : asked)
        if (does == decides) queue_.push_back(cap);
  }

  // Until nothing that was asked for is left.
  void play() {
    give();
    while (!is_done()) {
      const auto next =
          std::min_element(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) { return a.end < b.end; });
      const Job job = *next;
      jobs_.erase(next);
      now_ = job.end;
      busy_ += job.end - job.begin;
      compiled_.insert(job.cap);
      plateaus_.add(job.cap, codes_.at(job.cap).code, codes_.at(job.cap).registers);
      take_asked();
      give();
    }
  }

  double length() const { return now_; }
  double utilisation() const { return busy_ / static_cast<double>(workers_) / now_; }
  const std::set<int>& compiled() const { return compiled_; }
  const std::map<int, int>& settled() const { return settled_; }

 private:
  struct Job {
    int cap = 0;
    double begin = 0;
    double end = 0;
    bool guess = false;
    bool checks = false;
  };
  static constexpr double kFork = 0.0125;  // half a millisecond of forty

  bool is_done() const {
    return queue_.empty() && std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.guess; });
  }

  void take_asked() {
    for (const auto& [cap, decides] : plateaus_.take_to_compile()) {
      ASSERT_FALSE(compiled_.contains(cap));
      settled_.erase(cap);
      const int asked = cap;
      const auto under_way = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.cap == asked; });
      if (under_way != jobs_.end())
        under_way->guess = under_way->checks = false;
      else if (decides)
        queue_.push_front(cap);
      else
        queue_.push_back(cap);
    }
    for (const auto& [cap, step] : plateaus_.take_settled()) settled_[cap] = step;
    for (const int cap : compiled_) settled_.erase(cap);
  }

  void begin(int cap, bool guess, bool checks) {
    if (jobs_.size() >= forked_) {
      ++forked_;
      forked_until_ = std::max(forked_until_, now_) + kFork;
      jobs_.push_back({cap, forked_until_, forked_until_ + duration_.at(cap), guess, checks});
    } else {
      jobs_.push_back({cap, now_, now_ + duration_.at(cap), guess, checks});
    }
  }

  void give() {
    while (!queue_.empty()) {
      if (jobs_.size() >= workers_) {
        const auto check = std::find_if(jobs_.rbegin(), jobs_.rend(), [](const Job& job) { return job.checks; });
        if (check == jobs_.rend()) return;
        jobs_.erase(std::next(check).base());
        --forked_;  // it was killed
      }
      const int cap = queue_.front();
      queue_.pop_front();
      begin(cap, false, false);
    }
    while (guesses_ && !is_done() && jobs_.size() < workers_) {
      std::optional<int> cap = plateaus_.take_likely();
      const bool checks = !cap;
      if (checks) cap = plateaus_.take_unchecked();
      if (!cap) return;
      EXPECT_FALSE(compiled_.contains(*cap)) << *cap;
      begin(*cap, true, checks);
    }
  }

  const Codes& codes_;
  std::size_t workers_;
  bool guesses_;
  int binding_up_to_;
  CapPlateaus plateaus_;
  std::map<int, double> duration_;
  std::deque<int> queue_;
  std::vector<Job> jobs_;
  std::size_t forked_ = 0;
  double forked_until_ = 0;
  double now_ = 0;
  double busy_ = 0;
  std::set<int> compiled_;
  std::map<int, int> settled_;
};

struct Averages {
  double length = 0;
  double utilisation = 0;
};

constexpr unsigned kRuns = 3;

Averages averages_of(const Codes& codes, std::size_t workers, bool guesses) {
  Averages averages;
  for (unsigned seed = 0; seed < kRuns; ++seed) {
    VirtualSweep sweep(codes, workers, guesses, seed);
    sweep.play();
    averages.length += sweep.length() / kRuns;
    averages.utilisation += sweep.utilisation() / kRuns;
  }
  return averages;
}

Codes recorded_codes(const std::string& kernel) {
  std::ifstream in(std::filesystem::path(REGTUNE_SOURCE_FOLDER) / "tests/data/caps" / (kernel + ".json"));
  const auto ids = nlohmann::json::parse(in).at("codes").at("sm_90").get<std::vector<int>>();
  return codes_of([&](int cap) {
    const int id = ids.at(static_cast<std::size_t>(cap - 24));
    return 24 + static_cast<int>(std::find(ids.begin(), ids.end(), id) - ids.begin());
  });
}

const std::vector<std::string> kKernels{"block_sort",       "decay_bounded", "decay_indexed", "decay_wide",
                                        "matmul_registers", "matmul_tiled",  "nbody",         "saxpy"};

TEST(CapGuesses, NeverLengthenASweepAndFillTheCoresThatWouldIdle) {
  for (const std::string& kernel : kKernels)
    for (const std::size_t workers : {2u, 16u}) {
      const Codes codes = recorded_codes(kernel);
      const Averages without = averages_of(codes, workers, false);
      const Averages with = averages_of(codes, workers, true);
      EXPECT_LE(with.length, without.length * 1.005) << kernel << " on " << workers;
      EXPECT_GE(with.utilisation, without.utilisation * 0.995) << kernel << " on " << workers;
      std::printf("%-16s %2zu workers: %6.2f and %5.1f %% without guesses, %6.2f and %5.1f %% with\n", kernel.c_str(),
                  workers, without.length, 100 * without.utilisation, with.length, 100 * with.utilisation);
    }
}

// 58 compilations on 16 workers are four rounds, of which the last one leaves six without a job.
TEST(CapGuesses, UseTheCoresThatTheLastRoundLeaves) {
  for (const char* kernel : {"decay_wide", "decay_indexed", "nbody"}) {
    const Codes codes = recorded_codes(kernel);
    EXPECT_GT(averages_of(codes, 16, true).utilisation, 1.01 * averages_of(codes, 16, false).utilisation) << kernel;
  }
}

// What is asked for in the end waits for what was asked for before: guesses take a round out of that.
TEST(CapGuesses, ShortenASweepWhoseEndWaitsForHalving) {
  const Codes codes = recorded_codes("matmul_tiled");
  EXPECT_LT(averages_of(codes, 16, true).length, 0.85 * averages_of(codes, 16, false).length);
}

TEST(CapGuesses, ChangeNeitherTheCodesNorWhatIsAskedFor) {
  for (const std::string& kernel : kKernels) {
    const Codes codes = recorded_codes(kernel);
    VirtualSweep without(codes, 16, false, 1);
    without.play();
    for (unsigned seed = 0; seed < 5; ++seed) {
      VirtualSweep with(codes, 16, true, seed);
      with.play();
      EXPECT_TRUE(std::includes(with.compiled().begin(), with.compiled().end(), without.compiled().begin(),
                                without.compiled().end()))
          << kernel;
      for (const auto& [cap, step] : with.settled())
        EXPECT_EQ(codes.at(cap).code, codes.at(step).code) << kernel << cap;
      EXPECT_EQ(with.compiled().size() + with.settled().size(), codes.size()) << kernel;
    }
  }
}

TEST(CapGuesses, BeginWhereOtherCapsWaitAndCheckTheMiddleOfWhatIsInferred) {
  const Codes codes = codes_of([](int cap) { return std::min(cap, 61); });
  CapPlateaus plateaus(caps_of(codes));
  EXPECT_FALSE(plateaus.take_likely()) << "nothing is known";
  EXPECT_FALSE(plateaus.take_unchecked());
  for (const auto& [cap, decides] : plateaus.take_to_compile())
    plateaus.add(cap, codes.at(cap).code, codes.at(cap).registers);
  EXPECT_EQ(plateaus.take_likely(), 60) << "above it begins what uses 61";
  EXPECT_EQ(plateaus.take_likely(), 61);
  std::set<int> likely;
  while (const std::optional<int> cap = plateaus.take_likely()) {
    EXPECT_TRUE(likely.insert(*cap).second) << *cap;
    EXPECT_LT(*cap, 60);
  }
  EXPECT_TRUE(likely.contains(33));
  const int unchecked = plateaus.take_unchecked().value();
  EXPECT_GT(unchecked, 64);
  EXPECT_EQ(unchecked % 16, 8) << "between two coarse steps";
}

// One cap within a plateau has another code, and no step shows it.
TEST(CapGuesses, HaveEveryCapOfAPlateauCompiledThatTheyContradict) {
  Codes codes = codes_of([](int cap) { return std::min(cap, 61); });
  codes[108] = {"odd", 61};
  CapPlateaus plateaus(caps_of(codes));
  std::set<int> settled;
  std::set<int> compiled;
  const auto settle = [&] {
    while (true) {
      const auto asked = plateaus.take_to_compile();
      for (const auto& [cap, step] : plateaus.take_settled()) EXPECT_TRUE(settled.insert(cap).second) << cap;
      if (asked.empty()) return;
      for (const auto& [cap, decides] : asked) {
        settled.erase(cap);
        EXPECT_TRUE(compiled.insert(cap).second) << cap;
        plateaus.add(cap, codes.at(cap).code, codes.at(cap).registers);
      }
    }
  };
  settle();
  ASSERT_TRUE(settled.contains(108));
  EXPECT_TRUE(settled.contains(200));
  settled.erase(108);
  compiled.insert(108);
  plateaus.add(108, "odd", 61);
  settle();
  EXPECT_TRUE(settled.empty());
  EXPECT_EQ(compiled.size(), codes.size());
}

// The guess came before the steps around it.
TEST(CapGuesses, AreHeardBeforeAnythingIsInferred) {
  Codes codes = codes_of([](int cap) { return std::min(cap, 61); });
  codes[108] = {"odd", 61};
  CapPlateaus plateaus(caps_of(codes));
  plateaus.add(108, "odd", 61);
  std::size_t compiled = 1;
  for (auto asked = plateaus.take_to_compile(); !asked.empty(); asked = plateaus.take_to_compile())
    for (const auto& [cap, decides] : asked) {
      plateaus.add(cap, codes.at(cap).code, codes.at(cap).registers);
      ++compiled;
    }
  EXPECT_EQ(compiled, codes.size());
  EXPECT_TRUE(plateaus.take_settled().empty());
}

}  // namespace
}  // namespace regtune
