#pragma once
// A GPU made of numbers, at the seam of bench.hpp: each code has a time, a noise and perhaps a fault, and the machine
// drifts, switches its clocks and has outliers. Everything is drawn from one seed, so each run can be replayed.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "decide.hpp"
#include "measure.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {

struct FakeCode {
  double ms = 1;
  double noise_below = 0.001;  // standard deviation as a share of ms, on either side of the median
  double noise_above = 0.001;
  std::vector<double> series = {};  // recorded times by round, in place of ms and noise
  std::optional<Shot> at_check = {};
  int fails_at_sample = 0;  // from 1; 0: never
  Shot failure = Faulted{"planted"};
  double cold_ms = 0;                // with nothing in L2; 0: as long as ever
  std::vector<double> factors = {};  // recorded noise, one of which is drawn for each sample, in place of the other
};

struct FakeGpu {
  double drift = 0;         // amplitude of a slow wave, as a share
  double outliers = 0;      // share of launches that take 1.1 to 3 times as long
  double clock_gap = 0;     // the slow clock's launches take this share longer
  double clock_switch = 0;  // chance, per launch, that the clock changes
  int launches_per_sample = 1;
  std::vector<double> series =
      {};         // recorded drift by round, as a factor; codes without a series of their own follow it
  int start = 0;  // round of the recorded series at which the run begins
  bool can_flush = true;
  double launch_overhead_ms = 0;  // in every sample of one launch
  double timer_resolution_ms = 0;
  bool restored = false;
  // What is read of the clocks in the nth round; none beyond its end, and none at all when empty.
  std::vector<ClockReading> clocks = {};
};

class FakeBench final : public Bench {
 public:
  FakeBench(std::map<int, FakeCode> codes, FakeGpu gpu, std::uint64_t seed)
      : codes_(std::move(codes)), gpu_(gpu), random_(seed), position_(gpu.start) {}

  double set_reference(const Candidate& reference) override {
    reference_id_ = reference.id;
    return codes_.at(reference.id).ms;
  }

  ReferenceRun warm_up(double ms) override {
    warmed_up_ms = ms;
    const SampleMode mode = gpu_.launches_per_sample > 1 ? SampleMode::graph : SampleMode::one_launch;
    return {time(reference_id_), gpu_.launches_per_sample, gpu_.restored,           mode,
            gpu_.can_flush,      gpu_.launch_overhead_ms,  gpu_.timer_resolution_ms};
  }

  Shot check(const Candidate& candidate) override {
    const FakeCode& code = codes_.at(candidate.id);
    ++launches[candidate.id];
    if (code.at_check) return *code.at_check;
    return spend(time(candidate.id) * 1.02, 1);  // a first launch is cold
  }

  Shot sample(const Candidate& candidate) override {
    const FakeCode& code = codes_.at(candidate.id);
    launches[candidate.id] += gpu_.launches_per_sample;
    if (++samples[candidate.id] == code.fails_at_sample) return code.failure;
    // A code that comes again opens another round.
    if (!in_round_.insert(candidate.id).second) {
      ++position_;
      in_round_ = {candidate.id};
    }
    return spend(time(candidate.id), gpu_.launches_per_sample);
  }

  Shot sample_cold(const Candidate& candidate) override {
    const FakeCode& code = codes_.at(candidate.id);
    ++cold_launches[candidate.id];
    const double factor = code.cold_ms > 0 ? code.cold_ms / code.ms : 1;
    return spend(time(candidate.id) * factor, 1);
  }

  std::vector<ClockReading> take_clock_readings() override {
    // Asked before each round and after it; what is asked before belongs to nobody.
    if (asked_before_ = !asked_before_; asked_before_) return {};
    const auto round = static_cast<std::size_t>(round_++);
    if (round >= gpu_.clocks.size()) return {};
    return {gpu_.clocks[round]};
  }

  std::map<int, int> launches;
  std::map<int, int> cold_launches;
  std::map<int, int> samples;
  double spent_ms = 0;
  double warmed_up_ms = 0;  // as it was asked for

 private:
  double spend(double ms, int launches_now) {
    spent_ms += ms * launches_now;
    return ms;
  }

  double time(int id) {
    const FakeCode& code = codes_.at(id);
    const double drawn = normal_(random_);
    if (!code.series.empty()) return code.series[static_cast<std::size_t>(position_) % code.series.size()];
    double ms = code.ms;
    if (code.factors.empty())
      ms *= 1 + drawn * (drawn < 0 ? code.noise_below : code.noise_above);
    else
      ms *= code.factors[std::uniform_int_distribution<std::size_t>(0, code.factors.size() - 1)(random_)];
    if (!gpu_.series.empty()) ms *= gpu_.series[static_cast<std::size_t>(position_) % gpu_.series.size()];
    ms *= 1 + gpu_.drift * std::sin(0.001 * ++calls_);
    if (chance(gpu_.clock_switch)) slow_clock_ = !slow_clock_;
    if (slow_clock_) ms *= 1 + gpu_.clock_gap;
    if (chance(gpu_.outliers)) ms *= std::uniform_real_distribution<>(1.1, 3)(random_);
    return std::max(ms, code.ms * 0.2);
  }

  bool chance(double share) { return share > 0 && std::uniform_real_distribution<>()(random_) < share; }

  std::map<int, FakeCode> codes_;
  FakeGpu gpu_;
  std::mt19937_64 random_;
  std::normal_distribution<> normal_;
  int reference_id_ = 0;
  std::set<int> in_round_;
  int position_ = 0;
  int calls_ = 0;
  bool slow_clock_ = false;
  bool asked_before_ = false;
  int round_ = 0;
};

// Keeps everything that the race tells.
class Witness final : public RaceObserver {
 public:
  struct Round {
    RacePhase phase;
    int number;
    std::map<int, double> ms;
  };
  void on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) override {
    rounds.push_back({phase, round, {id_and_ms.begin(), id_and_ms.end()}});
  }
  void on_outcome(int id, const Outcome& outcome) override { outcomes.emplace_back(id, outcome); }
  void on_progress(RacePhase, int, int) override {}

  std::vector<Round> rounds;
  std::vector<std::pair<int, Outcome>> outcomes;
};

// One trial per policy, each its own code; id 0 is the author's.
inline std::vector<Trial> trials_of(const std::vector<RegisterPolicy>& policies) {
  std::vector<Trial> trials;
  for (const RegisterPolicy& policy : policies) {
    const Dim3 block{256, 1, 1};
    StaticFacts facts;
    facts.occupancy = Occupancy{4, 0.5, Limiter::registers};
    trials.push_back({{static_cast<int>(trials.size()), policy, block}, {{1, 1, 1}, block, 0}, facts, NotTimed{}});
  }
  return trials;
}

// Those that collapse left to be timed.
inline std::vector<Entrant> entrants_of(const std::vector<Trial>& trials) {
  std::vector<Entrant> entrants;
  for (const Trial& trial : trials) {
    if (!std::holds_alternative<NotTimed>(trial.outcome)) continue;
    const bool in_source = std::any_of(trials.begin(), trials.end(), [&](const Trial& other) {
      return travels_with_source(other.variant.policy) &&
             timed_trial(trials, other.variant.id).variant.id == trial.variant.id;
    });
    entrants.push_back({{trial.variant.id, "k", "", trial.shape}, in_source});
  }
  return entrants;
}

struct SimulatedRun {
  std::vector<Trial> trials;
  RaceResult result;
  Verdict verdict;
};

// Races the trials that are not timed yet, as tune() does, and decides.
inline SimulatedRun run_race(Bench& bench, std::vector<Trial> trials, RaceObserver& observer,
                             MeasureSettings settings = {}) {
  const int reference_id = choose_reference(trials).value();
  const int timed_as = timed_trial(trials, reference_id).variant.id;
  SimulatedRun run{std::move(trials), {}, {}};
  run.result = race(bench, entrants_of(run.trials), timed_as, settings, observer);
  for (const auto& [id, outcome] : run.result.outcomes) run.trials.at(static_cast<std::size_t>(id)).outcome = outcome;
  run.verdict = decide(run.trials, reference_id, run.result.settings);
  return run;
}

// The author's code, no budget, `caps` caps from 24 up, and four launch bounds.
inline std::vector<RegisterPolicy> usual_policies(int caps) {
  std::vector<RegisterPolicy> policies{AuthorsOwn{}, CompilerDefault{}};
  for (int cap = 24; cap < 24 + caps; ++cap) policies.push_back(RegisterCap{cap});
  for (int min_blocks = 0; min_blocks < 4; ++min_blocks) policies.push_back(LaunchBounds{256, min_blocks});
  return policies;
}

}  // namespace regtune
