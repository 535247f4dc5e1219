#include "measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <map>

#include "confirmation.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// The first launch of a code is cold, so only a wide gap counts there.
constexpr double kHopeless = 1.5;         // after one sample
constexpr double kFarTooSlow = 4;         // after one launch, with no sample at all
constexpr double kShortMs = 1;            // below this a single launch says too little
constexpr std::size_t kFewestRounds = 8;  // the first count whose range covers the median with 99 %
constexpr std::size_t kMostRounds = 60;
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

class Race {
 public:
  Race(Bench& bench, const Entrant& reference, EntrantSource& source, MeasureSettings settings, RaceObserver& observer,
       const EarlierRun& earlier)
      : source_(source), field_(bench, reference, settings, observer, earlier) {}

  RaceResult run() {
    check_each_once();
    bool there_may_be_more = true;
    do {
      readmit();
      thin_out();
      tell_leads();
      run_rounds();
      if (field_.leader_failed()) continue;
      while (there_may_be_more && !field_.leader_failed()) {
        tell_leads();
        there_may_be_more = source_.has_more(racing_ids());
        if (!there_may_be_more) break;
        check_each_once();
        if (thin_out()) run_rounds();
      }
      if (field_.leader_failed()) continue;
      choose_finalists(field_);
      tell_leads();
      confirm(field_);
      if (!field_.leader_failed()) time_other_way(field_);
    } while (field_.leader_failed());
    return field_.result();
  }

 private:
  // What one launch tells already. True: somebody is left who was in no round yet.
  bool thin_out() {
    if (field_.running_others().empty()) return false;
    drop_hopeless();
    keep_affordable();
    const std::vector<Runner*> left = field_.running_others();
    return std::any_of(left.begin(), left.end(), [](const Runner* runner) { return runner->race.empty(); });
  }

  // The fastest first. The reference takes part to the end, but is among them only where none is known to be faster.
  std::vector<int> racing_ids() {
    const std::vector<Runner*> others = field_.running_others();
    const bool reference_is_beaten = std::any_of(others.begin(), others.end(), [](const Runner* runner) {
      return runner->ratio.high > 0 && runner->ratio.high < 1;
    });
    std::vector<const Runner*> racing(others.begin(), others.end());
    if (!reference_is_beaten) racing.insert(racing.begin(), &field_.reference());
    std::stable_sort(racing.begin(), racing.end(),
                     [](const Runner* a, const Runner* b) { return a->ratio.median < b->ratio.median; });
    std::vector<int> ids;
    for (const Runner* runner : racing) ids.push_back(runner->entrant.candidate.id);
    return ids;
  }

  void tell_leads() {
    std::vector<Lead> leads;
    for (const Runner* runner : field_.running_others()) {
      const std::size_t rounds = runner->race.size();
      const double by_first_launch = runner->first_ms / field_.reference().first_ms;
      leads.push_back({runner->entrant.candidate.id, rounds == 0 ? by_first_launch : runner->ratio.median, rounds});
    }
    source_.leads(leads);
  }

  void check_each_once() {
    while (std::optional<Entrant> entrant = source_.next()) {
      Runner& runner = field_.enter(std::move(*entrant));
      field_.warm_up();
      best_first_ms_ = std::min(best_first_ms_, field_.reference().first_ms);
      field_.tell_progress(RacePhase::check, static_cast<int>(field_.runners().size()));
      if (field_.budget_left_ms(kCheckShare) <= 0) {
        field_.leave(runner, Abandoned{fmt::format("never launched: half of the budget of {:g} s of GPU time went by "
                                                   "before its turn; see --budget",
                                                   field_.settings().budget_s),
                                       {}});
        continue;
      }
      // What an interrupted run launched, checked and found far slower is not launched again.
      std::optional<double> ms = field_.earlier_first_ms(runner);
      const bool known = ms && *ms > kHopeless * best_first_ms_;
      if (!known) ms = field_.check(runner);
      if (!ms) continue;
      const bool far_too_slow = known || (*ms > kShortMs && *ms > kFarTooSlow * best_first_ms_);
      if (!far_too_slow && (field_.settings().cold || *ms > kHopeless * best_first_ms_)) ms = field_.sample(runner);
      if (!ms) continue;
      runner.first_ms = *ms;
      best_first_ms_ = std::min(best_first_ms_, *ms);
    }
    // A later budget may have given a code that was here before.
    for (Runner& runner : field_.runners()) {
      runner.entrant.in_source = source_.in_source(runner.entrant.candidate.id);
      runner.entrant.own_name = source_.own_name(runner.entrant.candidate.id);
    }
  }

  // A code that failed after it led has sent others away by times that count for nothing. They come back with what
  // they have, and what was confirmed in its company is forgotten.
  void readmit() {
    field_.forget_failed_leader();
    for (Runner& runner : field_.runners()) {
      runner.finalist = false;
      runner.led = false;
      runner.confirmation.clear();
      runner.other_way.clear();
      std::erase_if(runner.race, [](const Sample& sample) { return sample.round == 0; });
      if (field_.is_reference(runner) || (!runner.failed && runner.first_ms > 0)) field_.take_back(runner);
    }
  }

  void drop_hopeless() {
    Runner* fastest = &field_.reference();
    for (Runner* runner : field_.running_others())
      if (runner->first_ms < fastest->first_ms) fastest = runner;
    fastest->led = true;
    best_first_ms_ = fastest->first_ms;
    for (Runner* runner : field_.running_others()) {
      if (runner->first_ms <= kHopeless * best_first_ms_) continue;
      runner->race.push_back({0, runner->first_ms});
      field_.leave(*runner, Abandoned{fmt::format("its first launch took {:.2f} times the fastest's",
                                                  runner->first_ms / best_first_ms_),
                                      field_.measurement(*runner)});
    }
  }

  // A few codes measured well tell more than many measured too little: the slowest stay out when the budget
  // does not hold the fewest rounds of all.
  void keep_affordable() {
    std::vector<Runner*> by_time = field_.running_others();
    std::sort(by_time.begin(), by_time.end(),
              [](const Runner* a, const Runner* b) { return a->first_ms < b->first_ms; });
    const double ms_per_round =
        field_.budget_left_ms(kRaceShare) / static_cast<double>(kFewestRounds) / field_.settings().launches_per_sample;
    double together = field_.reference().first_ms;
    std::size_t kept = 0;
    for (Runner* runner : by_time) {
      together += runner->first_ms;
      if (together <= ms_per_round || kept < kFinalists[0]) {
        ++kept;
        continue;
      }
      runner->race.push_back({0, runner->first_ms});
      field_.leave(*runner, Abandoned{fmt::format("slower than others on its first launch, and a budget of {:g} s of "
                                                  "GPU time is too short to race all; see --budget",
                                                  field_.settings().budget_s),
                                      field_.measurement(*runner)});
    }
  }

  void run_rounds() {
    if (field_.running_others().empty()) return;
    for (std::size_t rounds = 0; rounds < kMostRounds && field_.budget_left_ms(kRaceShare) > 0;) {
      std::vector<Runner*> taking_part = field_.running_others();
      taking_part.push_back(&field_.reference());
      const bool counts = field_.take_round(RacePhase::race, taking_part);
      if (field_.leader_failed()) return;
      if (!counts) continue;
      ++rounds;
      for (Runner& runner : field_.runners()) {
        const std::vector<double> ratios = paired_ratios(runner.race, field_.reference().race);
        if (runner.running && !ratios.empty()) runner.ratio = median_interval(ratios, field_.settings().confidence);
      }
      drop_beaten();
      if (rounds >= kFewestRounds && settled()) return;
    }
  }

  using OfEachKind = std::array<Runner*, kWinnerKinds.size()>;
  static OfEachKind fastest_of_each_kind(const std::vector<Runner*>& among) {
    OfEachKind fastest{};
    for (std::size_t i = 0; i < kWinnerKinds.size(); ++i)
      for (Runner* runner : among)
        if (is_of(*runner, kWinnerKinds[i]) && (!fastest[i] || runner->ratio.median < fastest[i]->ratio.median))
          fastest[i] = runner;
    return fastest;
  }

  // A code leaves when it can be the best of no kind, or when its interval says that it does not gain by more than the
  // margin. The foremost of each kind stay then, so that there is somebody to confirm that of.
  void drop_beaten() {
    std::vector<Runner*> racing = field_.running_others();
    const OfEachKind foremost = fastest_of_each_kind(racing);
    racing.insert(racing.begin(), &field_.reference());
    const OfEachKind best = fastest_of_each_kind(racing);
    for (Runner* runner : best)
      if (runner) runner->led = true;
    const auto beaten_by = [](const Runner& runner, const Runner* winner) {
      return winner &&
             runner.ratio.low > winner->ratio.high * (1 + guard(std::min(runner.race.size(), winner->race.size())));
    };
    for (Runner* runner : field_.running_others()) {
      bool may_win = false;
      for (std::size_t i = 0; i < kWinnerKinds.size(); ++i)
        may_win = may_win || (is_of(*runner, kWinnerKinds[i]) && (runner == best[i] || !beaten_by(*runner, best[i])));
      if (!may_win)
        leave(*runner, "slower than the fastest");
      else if (gain_is_ruled_out(*runner) && std::find(foremost.begin(), foremost.end(), runner) == foremost.end())
        leave(*runner, fmt::format("gains no more than {:g} %", field_.settings().margin * 100));
    }
  }

  void leave(Runner& runner, const std::string& why) {
    field_.leave(runner,
                 Abandoned{fmt::format("{} after {} rounds", why, runner.race.size()), field_.measurement(runner)});
  }

  bool gain_is_ruled_out(const Runner& runner) {
    return runner.race.size() >= kFewestRounds && runner.ratio.low * (1 + field_.settings().margin) >= 1;
  }

  // Those left are as few as the finalists may be, or equal within the margin.
  bool settled() {
    if (field_.running() <= static_cast<int>(kFinalists[0]) + 1) return true;
    const std::vector<Runner*> others = field_.running_others();
    const Runner* fastest = &field_.reference();
    for (const Runner* runner : others)
      if (runner->ratio.median < fastest->ratio.median) fastest = runner;
    const double bar = fastest->ratio.low * (1 + field_.settings().margin);
    return std::all_of(others.begin(), others.end(), [&](const Runner* runner) { return runner->ratio.high <= bar; });
  }

  EntrantSource& source_;
  RaceField field_;
  double best_first_ms_ = std::numeric_limits<double>::infinity();
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
                RaceObserver& observer, const EarlierRun& earlier) {
  return Race(bench, reference, source, settings, observer, earlier).run();
}

RaceResult race(Bench& bench, const std::vector<Entrant>& entrants, int reference_id, MeasureSettings settings,
                RaceObserver& observer, const EarlierRun& earlier) {
  const auto reference =
      std::find_if(entrants.begin(), entrants.end(), [&](const Entrant& e) { return e.candidate.id == reference_id; });
  assert(reference != entrants.end());
  Given source(entrants, reference_id);
  return race(bench, *reference, source, settings, observer, earlier);
}

}  // namespace regtune
