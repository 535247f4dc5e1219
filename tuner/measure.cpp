#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "regtune/error.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// The first launch of a code is cold, so only a wide gap counts there.
constexpr double kHopeless = 1.5;         // after one sample
constexpr double kFarTooSlow = 4;         // after one launch, with no sample at all
constexpr double kShortMs = 1;            // below this a single launch says too little
constexpr std::size_t kFewestRounds = 8;  // the first count whose range covers the median with 99 %
constexpr std::size_t kMostRounds = 60;
// The confirmation is looked at after these counts of rounds only. A look after every round would find a false
// win sooner or later; each of these few carries its share of the error.
constexpr std::array kLooks = {15, 25, 45, 80, 140, 220, 301};
constexpr std::array<std::size_t, 3> kFinalists{5, 5, 3};  // of all, under the kernel's own name, in the source
// What of the budget may be gone when a phase ends; the rest is the next one's.
constexpr double kCheckShare = 0.5;
constexpr double kRaceShare = 0.7;

// How much slower than the best a code's interval must be to leave after so few rounds that the interval,
// the range of the samples, covers the median with less than the stated confidence. One round alone drops
// nothing: one sample in a hundred is an outlier, and the best code's may be the first.
double guard(std::size_t rounds) {
  if (rounds >= kFewestRounds) return 0;
  if (rounds >= 5) return 0.03;
  if (rounds >= 3) return 0.10;
  return rounds == 2 ? 0.30 : std::numeric_limits<double>::infinity();
}

struct Runner {
  Entrant entrant;
  std::vector<Sample> race;
  std::vector<Sample> confirmation;
  bool running = true;  // may still be the fastest
  bool finalist = false;
  bool failed = false;  // refused, faulted, hung or wrong
  bool led = false;     // others left because of its times
  double first_ms = 0;  // its first launch, or the one after where that was slow
  Interval ratio;       // time over the reference's, from the race
};

class Race {
 public:
  Race(Bench& bench, EntrantSource& source, MeasureSettings settings, RaceObserver& observer)
      : bench_(bench), source_(source), settings_(settings), observer_(observer), random_(settings.seed) {}

  RaceResult run(const Entrant& reference_entrant) {
    reference_id_ = reference_entrant.candidate.id;
    runners_.emplace_back().entrant = reference_entrant;
    const ReferenceRun reference_run = bench_.set_reference(reference_entrant.candidate);
    settings_.launches_per_sample = reference_run.launches_per_sample;
    settings_.restored = reference_run.restored;
    reference().first_ms = reference_run.ms;
    best_first_ms_ = reference_run.ms;
    check_each_once();
    bool there_may_be_more = true;
    do {
      readmit();
      narrow_down();
      if (leader_failed_) continue;
      while (there_may_be_more && !leader_failed_) {
        there_may_be_more = source_.has_more(racing_ids());
        if (!there_may_be_more) break;
        check_each_once();
        narrow_down();
      }
      if (leader_failed_) continue;
      choose_finalists();
      confirm();
    } while (leader_failed_);
    return result();
  }

 private:
  // The first to enter.
  Runner& reference() { return runners_.front(); }

  void narrow_down() {
    drop_hopeless();
    keep_affordable();
    run_rounds();
  }

  // The fastest first. The reference takes part to the end, but is among them only where none is known to be faster.
  std::vector<int> racing_ids() const {
    const bool reference_is_beaten = std::any_of(runners_.begin(), runners_.end(), [&](const Runner& runner) {
      return runner.running && !is_reference(runner) && runner.ratio.high > 0 && runner.ratio.high < 1;
    });
    std::vector<const Runner*> racing;
    for (const Runner& runner : runners_)
      if (runner.running && !(is_reference(runner) && reference_is_beaten)) racing.push_back(&runner);
    std::stable_sort(racing.begin(), racing.end(),
                     [](const Runner* a, const Runner* b) { return a->ratio.median < b->ratio.median; });
    std::vector<int> ids;
    for (const Runner* runner : racing) ids.push_back(runner->entrant.candidate.id);
    return ids;
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
  std::optional<double> time_of(Runner& runner, const Shot& shot, int launches) {
    Outcome outcome = Faulted{"the GPU's timer gave no time for it; it may not have run at all"};
    if (const double* ms = std::get_if<double>(&shot)) {
      // A code that did not run has the best time of all.
      if (std::isfinite(*ms) && *ms > 0) {
        spent_ms_ += *ms * launches;
        return *ms;
      }
    } else {
      std::visit(
          [&](const auto& failed) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(failed)>, double>) outcome = failed;
          },
          shot);
    }
    if (const auto* hang = std::get_if<TimedOut>(&outcome)) spent_ms_ += hang->limit_ms;
    if (is_reference(runner))
      throw Error(ErrorKind::gpu_failed,
                  "the author's own code ran before and failed now; is another program using the GPU's memory? "
                  "Run it under compute-sanitizer to see whether it reads or writes out of bounds");
    runner.failed = true;
    leader_failed_ = leader_failed_ || runner.led;
    leave(runner, std::move(outcome));
    return {};
  }

  std::optional<double> check(Runner& runner) { return time_of(runner, bench_.check(runner.entrant.candidate), 1); }

  std::optional<double> sample(Runner& runner) {
    return time_of(runner, bench_.sample(runner.entrant.candidate), settings_.launches_per_sample);
  }

  double budget_left_ms(double share) const { return share * settings_.budget_s * 1000 - spent_ms_; }

  void check_each_once() {
    while (std::optional<Entrant> entrant = source_.next()) {
      Runner& runner = runners_.emplace_back();
      runner.entrant = std::move(*entrant);
      observer_.on_progress(RacePhase::check, static_cast<int>(runners_.size()), running());
      if (budget_left_ms(kCheckShare) <= 0) {
        leave(runner, Abandoned{fmt::format("never launched: half of the budget of {:g} s of GPU time went by before "
                                            "its turn; see --budget",
                                            settings_.budget_s),
                                {}});
        continue;
      }
      std::optional<double> ms = check(runner);
      if (!ms) continue;
      const bool far_too_slow = *ms > kShortMs && *ms > kFarTooSlow * best_first_ms_;
      if (!far_too_slow && *ms > kHopeless * best_first_ms_) ms = sample(runner);
      if (!ms) continue;
      runner.first_ms = *ms;
      best_first_ms_ = std::min(best_first_ms_, *ms);
    }
    // A later budget may have given a code that was here before.
    for (Runner& runner : runners_) {
      runner.entrant.in_source = source_.in_source(runner.entrant.candidate.id);
      runner.entrant.own_name = source_.own_name(runner.entrant.candidate.id);
    }
  }

  // A code that failed after it led has sent others away by times that count for nothing. They come back with what
  // they have, and what was confirmed in its company is forgotten.
  void readmit() {
    leader_failed_ = false;
    for (Runner& runner : runners_) {
      runner.running = is_reference(runner) || (!runner.failed && runner.first_ms > 0);
      runner.finalist = false;
      runner.led = false;
      runner.confirmation.clear();
      std::erase_if(runner.race, [](const Sample& sample) { return sample.round == 0; });
      if (runner.running) outcomes_.erase(runner.entrant.candidate.id);
    }
  }

  void drop_hopeless() {
    Runner* fastest = &reference();
    for (Runner* runner : running_others())
      if (runner->first_ms < fastest->first_ms) fastest = runner;
    fastest->led = true;
    best_first_ms_ = fastest->first_ms;
    for (Runner& runner : runners_) {
      if (!runner.running || is_reference(runner) || runner.first_ms <= kHopeless * best_first_ms_) continue;
      runner.race.push_back({0, runner.first_ms});
      leave(runner,
            Abandoned{fmt::format("its first launch took {:.2f} times the fastest's", runner.first_ms / best_first_ms_),
                      measurement(runner)});
    }
  }

  // A few codes measured well tell more than many measured too little: the slowest stay out when the budget
  // does not hold the fewest rounds of all.
  void keep_affordable() {
    std::vector<Runner*> by_time = running_others();
    std::sort(by_time.begin(), by_time.end(),
              [](const Runner* a, const Runner* b) { return a->first_ms < b->first_ms; });
    const double ms_per_round =
        budget_left_ms(kRaceShare) / static_cast<double>(kFewestRounds) / settings_.launches_per_sample;
    double together = reference().first_ms;
    std::size_t kept = 0;
    for (Runner* runner : by_time) {
      together += runner->first_ms;
      if (together <= ms_per_round || kept < kFinalists[0]) {
        ++kept;
        continue;
      }
      runner->race.push_back({0, runner->first_ms});
      leave(*runner, Abandoned{fmt::format("slower than others on its first launch, and a budget of {:g} s of GPU time "
                                           "is too short to race all; see --budget",
                                           settings_.budget_s),
                               measurement(*runner)});
    }
  }

  std::vector<Runner*> running_others() {
    std::vector<Runner*> others;
    for (Runner& runner : runners_)
      if (runner.running && !is_reference(runner)) others.push_back(&runner);
    return others;
  }

  // One sample of each of `taking_part`, in an order drawn anew: no code is always the one after a slow one.
  void take_round(RacePhase phase, int round, std::vector<Runner*> taking_part) {
    std::shuffle(taking_part.begin(), taking_part.end(), random_);
    std::vector<std::pair<int, double>> times;
    for (Runner* runner : taking_part) {
      const std::optional<double> ms = sample(*runner);
      if (!ms) continue;
      times.emplace_back(runner->entrant.candidate.id, *ms);
      (phase == RacePhase::race ? runner->race : runner->confirmation).push_back({round, *ms});
    }
    observer_.on_round(phase, round, times);
  }

  void run_rounds() {
    for (std::size_t rounds = 1; rounds <= kMostRounds && budget_left_ms(kRaceShare) > 0; ++rounds) {
      std::vector<Runner*> taking_part = running_others();
      taking_part.push_back(&reference());
      observer_.on_progress(RacePhase::race, ++race_round_, static_cast<int>(taking_part.size()));
      take_round(RacePhase::race, race_round_, taking_part);
      if (leader_failed_) return;
      for (Runner& runner : runners_)
        if (runner.running)
          runner.ratio = median_interval(paired_ratios(runner.race, reference().race), settings_.confidence);
      drop_beaten();
      if (rounds >= kFewestRounds && settled()) return;
    }
  }

  // The kinds of winner that are looked for: of all, under the kernel's own name, and in the source. Each is a part
  // of the one before.
  enum class Kind { any, own_name, in_source };
  static constexpr std::array kKinds{Kind::any, Kind::own_name, Kind::in_source};

  static bool is_of(const Runner& runner, Kind kind) {
    return kind == Kind::any || (kind == Kind::own_name ? runner.entrant.own_name : runner.entrant.in_source);
  }

  Runner* fastest(Kind kind) {
    Runner* best = nullptr;
    for (Runner& runner : runners_)
      if (runner.running && is_of(runner, kind))
        if (!best || runner.ratio.median < best->ratio.median) best = &runner;
    return best;
  }

  // A code leaves when it can be the best of no kind.
  void drop_beaten() {
    std::array<Runner*, kKinds.size()> best{};
    std::transform(kKinds.begin(), kKinds.end(), best.begin(), [this](Kind kind) { return fastest(kind); });
    for (Runner* runner : best)
      if (runner) runner->led = true;
    const auto beaten_by = [](const Runner& runner, const Runner* winner) {
      return winner &&
             runner.ratio.low > winner->ratio.high * (1 + guard(std::min(runner.race.size(), winner->race.size())));
    };
    for (Runner& runner : runners_) {
      if (!runner.running || is_reference(runner)) continue;
      bool may_win = false;
      for (std::size_t i = 0; i < kKinds.size(); ++i)
        may_win = may_win || (is_of(runner, kKinds[i]) && (&runner == best[i] || !beaten_by(runner, best[i])));
      if (!may_win)
        leave(runner, Abandoned{fmt::format("slower than the fastest after {} rounds", runner.race.size()),
                                measurement(runner)});
    }
  }

  // Those left are as few as the finalists may be, or equal within the margin.
  bool settled() {
    if (running() <= static_cast<int>(kFinalists[0]) + 1) return true;
    const Runner* best = fastest(Kind::any);
    return std::all_of(runners_.begin(), runners_.end(), [&](const Runner& runner) {
      return !runner.running || runner.entrant.candidate.id == reference_id_ ||
             runner.ratio.high <= best->ratio.low * (1 + settings_.margin);
    });
  }

  void choose_finalists() {
    std::vector<Runner*> by_time = running_others();
    std::sort(by_time.begin(), by_time.end(), [](const Runner* a, const Runner* b) {
      return std::pair(a->ratio.median, a->first_ms) < std::pair(b->ratio.median, b->first_ms);
    });
    // A budget too short for the first look at all of them confirms fewer, and the foremost in any case.
    const double ms_per_round = budget_left_ms(1) / kLooks.front() / settings_.launches_per_sample;
    double together = reference().first_ms;
    std::array<std::size_t, kKinds.size()> ahead{};
    for (Runner* runner : by_time) {
      bool foremost = false;
      bool wanted = false;
      for (std::size_t i = 0; i < kKinds.size(); ++i) {
        if (!is_of(*runner, kKinds[i])) continue;
        foremost = foremost || ahead[i] == 0;
        wanted = wanted || ahead[i] < kFinalists[i];
        ++ahead[i];
      }
      runner->finalist = foremost || (wanted && together + runner->first_ms <= ms_per_round);
      if (runner->finalist)
        together += runner->first_ms;
      else
        leave(*runner, Abandoned{"not separated from the fastest, and others were ahead of it", measurement(*runner)});
    }
    reference().finalist = true;
  }

  // Fresh rounds: the samples that chose the finalists flatter them, since the luckiest is chosen. The whole
  // budget may go by; a verdict from fewer rounds than the first look needs is for decide.hpp to refuse.
  void confirm() {
    int rounds = 0;
    for (const int look : kLooks) {
      for (; rounds < look; ++rounds) {
        if (budget_left_ms(1) <= 0) return;
        std::vector<Runner*> taking_part;
        for (Runner& runner : runners_)
          if (runner.finalist && runner.running) taking_part.push_back(&runner);
        observer_.on_progress(RacePhase::confirmation, ++confirmation_round_, static_cast<int>(taking_part.size()));
        take_round(RacePhase::confirmation, confirmation_round_, taking_part);
        if (leader_failed_) return;
      }
      if (precise_enough()) return;
    }
  }

  // Each finalist is known to gain or not to gain; the best one's interval is narrow against the margin, and no other's
  // reaches above it by the margin.
  bool precise_enough() {
    const double threshold = 1 + settings_.margin;
    Interval best;
    double highest = 0;
    for (const Runner& runner : runners_) {
      if (!runner.finalist || !runner.running || is_reference(runner)) continue;
      const Interval speedup = measurement(runner).speedup;
      if (speedup.low <= threshold && speedup.high > threshold) return false;
      if (speedup.median > best.median) best = speedup;
      highest = std::max(highest, speedup.high);
    }
    if (highest <= threshold) return true;
    return best.high - best.low <= settings_.margin && highest <= best.median * threshold;
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
    // Several finalists, one of which is named, and several looks: each interval carries its share of the error
    // (Bonferroni).
    const auto finalists = std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.finalist; });
    const auto chances = std::max<std::ptrdiff_t>(1, finalists - 1) * static_cast<std::ptrdiff_t>(kLooks.size());
    const double error = (1 - settings_.confidence) / static_cast<double>(chances);
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
  EntrantSource& source_;
  int reference_id_ = 0;
  MeasureSettings settings_;
  RaceObserver& observer_;
  std::mt19937_64 random_;
  std::deque<Runner> runners_;  // which keeps its places while it grows
  std::map<int, Outcome> outcomes_;
  double best_first_ms_ = 0;
  double spent_ms_ = 0;
  bool leader_failed_ = false;
  int race_round_ = 0;
  int confirmation_round_ = 0;
};

// All entrants but the reference, from the last to the first: bounds and high caps are seldom slow, and the sooner
// a fast code is known, the more of the slow ones cost a single launch.
class Given final : public EntrantSource {
 public:
  Given(const std::vector<Entrant>& entrants, int reference_id) {
    for (const Entrant& entrant : entrants) {
      given_[entrant.candidate.id] = entrant;
      if (entrant.candidate.id != reference_id) left_.push_back(entrant);
    }
  }
  std::optional<Entrant> next() override {
    if (left_.empty()) return {};
    Entrant entrant = std::move(left_.back());
    left_.pop_back();
    return entrant;
  }
  bool has_more(const std::vector<int>&) override { return false; }
  bool in_source(int id) const override { return given_.at(id).in_source; }
  bool own_name(int id) const override { return given_.at(id).own_name; }

 private:
  std::map<int, Entrant> given_;
  std::vector<Entrant> left_;
};

}  // namespace

RaceResult race(Bench& bench, const Entrant& reference, EntrantSource& source, MeasureSettings settings,
                RaceObserver& observer) {
  return Race(bench, source, settings, observer).run(reference);
}

RaceResult race(Bench& bench, const std::vector<Entrant>& entrants, int reference_id, MeasureSettings settings,
                RaceObserver& observer) {
  const auto reference =
      std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& e) { return e.candidate.id == reference_id; });
  assert(reference != entrants.end());
  Given source(entrants, reference_id);
  return race(bench, *reference, source, settings, observer);
}

}  // namespace regtune
