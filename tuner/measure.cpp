#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <random>

#include "regtune/error.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// The first launch of a code is cold, so only a wide gap counts there.
constexpr double kHopeless = 1.5;     // after one sample
constexpr double kFarTooSlow = 4;     // after one launch, with no sample at all
constexpr double kShortMs = 1;        // below this a single launch says too little
constexpr int kFewestRounds = 8;      // the first count whose range covers the median with 99 %
constexpr int kMostRounds = 60;
constexpr int kFewestConfirmations = 15;
constexpr int kMostConfirmations = 301;
constexpr std::size_t kFinalists = 5;          // of all
constexpr std::size_t kFinalistsInSource = 3;  // of those that can be written into the source

// How much slower than the best a code's interval must be to leave after so few rounds that the interval,
// the range of the samples, covers the median with less than the stated confidence.
double guard(int rounds) {
  if (rounds >= kFewestRounds) return 0;
  if (rounds >= 5) return 0.03;
  if (rounds >= 3) return 0.10;
  return 0.30;
}

struct Runner {
  Entrant entrant;
  std::vector<Sample> race;
  std::vector<Sample> confirmation;
  bool running = true;  // may still be the fastest
  bool finalist = false;
  Interval ratio;       // time over the reference's, from the race
};

class Race {
 public:
  Race(Bench& bench, int reference_id, MeasureSettings settings, RaceObserver& observer)
      : bench_(bench), reference_id_(reference_id), settings_(settings), observer_(observer), random_(settings.seed) {}

  RaceResult run(const std::vector<Entrant>& entrants) {
    for (const Entrant& entrant : entrants) runners_.push_back({entrant, {}, {}, true, false, {}});
    const ReferenceRun reference_run = bench_.set_reference(reference().entrant.candidate);
    settings_.launches_per_sample = reference_run.launches_per_sample;
    settings_.restored = reference_run.restored;
    best_first_ms_ = reference_run.ms;
    check_each_once();
    run_rounds();
    choose_finalists();
    confirm();
    return result();
  }

 private:
  Runner& reference() {
    const auto found = std::find_if(runners_.begin(), runners_.end(),
                                    [this](const Runner& r) { return r.entrant.candidate.id == reference_id_; });
    assert(found != runners_.end());
    return *found;
  }

  bool is_reference(const Runner& runner) const { return runner.entrant.candidate.id == reference_id_; }

  int running() const {
    return static_cast<int>(std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.running; }));
  }

  void leave(Runner& runner, Outcome outcome) {
    runner.running = false;
    const int id = runner.entrant.candidate.id;
    observer_.on_outcome(id, outcome);
    outcomes_.insert_or_assign(id, std::move(outcome));
  }

  // The milliseconds, or nothing after the runner has left with its outcome.
  std::optional<double> time_of(Runner& runner, const Shot& shot) {
    if (const double* ms = std::get_if<double>(&shot)) {
      spent_ms_ += *ms * settings_.launches_per_sample;
      return *ms;
    }
    Outcome outcome;
    std::visit(
        [&](const auto& failed) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(failed)>, double>) outcome = failed;
        },
        shot);
    if (is_reference(runner))
      throw Error(ErrorKind::gpu_failed,
                  "the author's own code ran before and failed now; is another program using the GPU's memory? "
                  "Run it under compute-sanitizer to see whether it reads or writes out of bounds");
    leave(runner, std::move(outcome));
    return {};
  }

  bool over_budget() const { return spent_ms_ > settings_.budget_s * 1000; }

  void check_each_once() {
    int done = 0;
    std::map<int, double> first_ms;
    for (Runner& runner : runners_) {
      observer_.on_progress(RacePhase::check, ++done, running());
      if (is_reference(runner)) continue;
      std::optional<double> ms = time_of(runner, bench_.check(runner.entrant.candidate));
      if (!ms) continue;
      const bool far_too_slow = *ms > kShortMs && *ms > kFarTooSlow * best_first_ms_;
      if (!far_too_slow && *ms > kHopeless * best_first_ms_)
        ms = time_of(runner, bench_.sample(runner.entrant.candidate));
      if (!ms) continue;
      first_ms[runner.entrant.candidate.id] = *ms;
      best_first_ms_ = std::min(best_first_ms_, *ms);
    }
    for (Runner& runner : runners_) {
      const auto first = first_ms.find(runner.entrant.candidate.id);
      if (!runner.running || first == first_ms.end() || first->second <= kHopeless * best_first_ms_) continue;
      runner.race.push_back({0, first->second});
      leave(runner, Abandoned{fmt::format("its first launch took {:.2f} times the fastest's", first->second / best_first_ms_),
                              measurement(runner)});
    }
  }

  // One sample of each of `taking_part`, in an order drawn anew: no code is always the one after a slow one.
  void take_round(RacePhase phase, int round, std::vector<Runner*> taking_part) {
    std::shuffle(taking_part.begin(), taking_part.end(), random_);
    std::vector<std::pair<int, double>> times;
    for (Runner* runner : taking_part) {
      const std::optional<double> ms = time_of(*runner, bench_.sample(runner->entrant.candidate));
      if (!ms) continue;
      times.emplace_back(runner->entrant.candidate.id, *ms);
      (phase == RacePhase::race ? runner->race : runner->confirmation).push_back({round, *ms});
    }
    observer_.on_round(phase, round, times);
  }

  void run_rounds() {
    for (int round = 1; round <= kMostRounds && !over_budget(); ++round) {
      std::vector<Runner*> taking_part;
      for (Runner& runner : runners_)
        if (runner.running) taking_part.push_back(&runner);
      observer_.on_progress(RacePhase::race, round, static_cast<int>(taking_part.size()));
      take_round(RacePhase::race, round, taking_part);
      for (Runner& runner : runners_)
        if (runner.running) runner.ratio = median_interval(paired_ratios(runner.race, reference().race), settings_.confidence);
      drop_beaten(round);
      if (round >= kFewestRounds && settled()) return;
    }
  }

  const Runner* fastest(bool in_source_only) const {
    const Runner* best = nullptr;
    for (const Runner& runner : runners_)
      if (runner.running && (!in_source_only || runner.entrant.in_source))
        if (!best || runner.ratio.median < best->ratio.median) best = &runner;
    return best;
  }

  // A code leaves when it can be neither the best of all nor the best that can be written into the source.
  void drop_beaten(int round) {
    const Runner* best = fastest(false);
    const Runner* best_in_source = fastest(true);
    const auto beaten_by = [&](const Runner& runner, const Runner* winner) {
      return winner && runner.ratio.low > winner->ratio.high * (1 + guard(round));
    };
    for (Runner& runner : runners_) {
      if (!runner.running || is_reference(runner) || &runner == best || &runner == best_in_source) continue;
      if (!beaten_by(runner, best)) continue;
      if (runner.entrant.in_source && !beaten_by(runner, best_in_source)) continue;
      leave(runner, Abandoned{fmt::format("slower than the fastest after {} rounds", round), measurement(runner)});
    }
  }

  // Those left are as few as the finalists may be, or equal within the margin.
  bool settled() const {
    if (running() <= static_cast<int>(kFinalists) + 1) return true;
    const Runner* best = fastest(false);
    return std::all_of(runners_.begin(), runners_.end(), [&](const Runner& runner) {
      return !runner.running || runner.entrant.candidate.id == reference_id_ ||
             runner.ratio.high <= best->ratio.low * (1 + settings_.margin);
    });
  }

  void choose_finalists() {
    std::vector<Runner*> by_time;
    for (Runner& runner : runners_)
      if (runner.running && !is_reference(runner)) by_time.push_back(&runner);
    std::sort(by_time.begin(), by_time.end(),
              [](const Runner* a, const Runner* b) { return a->ratio.median < b->ratio.median; });
    std::size_t of_all = 0;
    std::size_t in_source = 0;
    for (Runner* runner : by_time) {
      runner->finalist = of_all < kFinalists || (runner->entrant.in_source && in_source < kFinalistsInSource);
      ++of_all;
      if (runner->entrant.in_source) ++in_source;
      if (!runner->finalist)
        leave(*runner, Abandoned{"not separated from the fastest, and others were ahead of it", measurement(*runner)});
    }
    reference().finalist = true;
  }

  // Fresh rounds: the samples that chose the finalists flatter them, since the luckiest is chosen.
  void confirm() {
    for (int round = 1; round <= kMostConfirmations; ++round) {
      std::vector<Runner*> taking_part;
      for (Runner& runner : runners_)
        if (runner.finalist && runner.running) taking_part.push_back(&runner);
      observer_.on_progress(RacePhase::confirmation, round, static_cast<int>(taking_part.size()));
      take_round(RacePhase::confirmation, round, taking_part);
      if (round >= kFewestConfirmations && (over_budget() || precise_enough())) return;
    }
  }

  // No finalist's interval holds 1 + margin any more, so each is known to gain or not to gain; and the best
  // one's is narrow against the margin.
  bool precise_enough() {
    const double threshold = 1 + settings_.margin;
    Interval best;
    for (const Runner& runner : runners_) {
      if (!runner.finalist || !runner.running || is_reference(runner)) continue;
      const Interval speedup = measurement(runner).speedup;
      if (speedup.low <= threshold && speedup.high > threshold) return false;
      if (speedup.median > best.median) best = speedup;
    }
    return best.high - best.low <= settings_.margin;
  }

  Measurement measurement(const Runner& runner) {
    Measurement m{runner.race, runner.confirmation, {}, {}};
    const bool confirmed = !runner.confirmation.empty();
    const std::vector<Sample>& samples = confirmed ? runner.confirmation : runner.race;
    const std::vector<Sample>& base = confirmed ? reference().confirmation : reference().race;
    std::vector<double> times;
    for (const Sample& sample : samples) times.push_back(sample.ms);
    if (times.empty()) return m;
    m.time_ms = median_interval(times, settings_.confidence);
    // Several finalists, one of which is named: each interval carries its share of the error (Bonferroni).
    const auto finalists = std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.finalist; });
    const double error = (1 - settings_.confidence) / static_cast<double>(std::max<std::ptrdiff_t>(1, finalists - 1));
    const std::vector<double> ratios = paired_ratios(base, samples);
    if (!ratios.empty()) m.speedup = median_interval(ratios, 1 - error);
    return m;
  }

  RaceResult result() {
    for (const Runner& runner : runners_)
      if (runner.running) {
        Outcome outcome = measurement(runner);
        observer_.on_outcome(runner.entrant.candidate.id, outcome);
        outcomes_.insert_or_assign(runner.entrant.candidate.id, std::move(outcome));
      }
    return {std::move(outcomes_), settings_};
  }

  Bench& bench_;
  int reference_id_;
  MeasureSettings settings_;
  RaceObserver& observer_;
  std::mt19937_64 random_;
  std::vector<Runner> runners_;
  std::map<int, Outcome> outcomes_;
  double best_first_ms_ = 0;
  double spent_ms_ = 0;
};

}  // namespace

RaceResult race(Bench& bench, const std::vector<Entrant>& entrants, int reference_id, MeasureSettings settings,
                RaceObserver& observer) {
  return Race(bench, reference_id, settings, observer).run(entrants);
}

}  // namespace regtune
