#include "race_field.hpp"

#include <algorithm>
#include <cmath>

#include "regtune/error.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

// Of a reference that has nobody to be compared with.
constexpr double kWarmUpAloneMs = 10;

}  // namespace

bool is_of(const Runner& runner, WinnerKind kind) {
  if (kind == WinnerKind::any) return true;
  return kind == WinnerKind::own_name ? runner.entrant.own_name : runner.entrant.in_source;
}

RaceField::RaceField(Bench& bench, const Entrant& reference_entrant, MeasureSettings settings, RaceObserver& observer,
                     const EarlierRun& earlier)
    : bench_(bench), settings_(settings), observer_(observer), earlier_(earlier), random_(settings.seed) {
  enter(reference_entrant);
  reference_ms_ = bench_.set_reference(reference_entrant.candidate);
}

void RaceField::warm_up() {
  if (warm_) return;
  warm_ = true;
  const ReferenceRun run = bench_.warm_up(runners_.size() > 1 ? kWarmUpMs : kWarmUpAloneMs);
  launches_per_warm_sample_ = run.launches_per_sample;
  can_flush_ = run.can_flush;
  settings_.restored = run.restored;
  reference_ms_ += run.gpu_ms;
  settings_.launches_per_sample = settings_.cold ? 1 : run.launches_per_sample;
  settings_.sample_mode = settings_.cold ? SampleMode::one_launch : run.sample_mode;
  settings_.launch_overhead_ms = run.launch_overhead_ms;
  settings_.timer_resolution_ms = run.timer_resolution_ms;
  // A cold time is compared with cold ones only.
  reference().first_ms = settings_.cold ? sample(reference()).value_or(run.ms) : run.ms;
}

int RaceField::running() const {
  return static_cast<int>(std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.running; }));
}

std::vector<Runner*> RaceField::running_others() {
  std::vector<Runner*> others;
  for (Runner& runner : runners_)
    if (runner.running && !is_reference(runner)) others.push_back(&runner);
  return others;
}

Runner& RaceField::enter(Entrant entrant) {
  Runner& runner = runners_.emplace_back();
  runner.entrant = std::move(entrant);
  return runner;
}

void RaceField::leave(Runner& runner, Outcome outcome) {
  runner.running = false;
  const int id = runner.entrant.candidate.id;
  observer_.on_outcome(id, outcome);
  outcomes_.insert_or_assign(id, std::move(outcome));
}

void RaceField::take_back(Runner& runner) {
  runner.running = true;
  outcomes_.erase(runner.entrant.candidate.id);
}

std::optional<double> RaceField::time_of(Runner& runner, const Shot& shot, int launches) {
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

std::optional<double> RaceField::check(Runner& runner) {
  return time_of(runner, bench_.check(runner.entrant.candidate), 1);
}

std::optional<double> RaceField::sample(Runner& runner) {
  return sample(runner, settings_.cold);
}

std::optional<double> RaceField::sample(Runner& runner, bool cold) {
  const Candidate& candidate = runner.entrant.candidate;
  if (cold) return time_of(runner, bench_.sample_cold(candidate), 1);
  return time_of(runner, bench_.sample(candidate), launches_per_warm_sample_);
}

bool RaceField::take_round(RacePhase phase, std::vector<Runner*> taking_part) {
  const int round = rounds_[phase] + 1;
  tell_progress(phase, round);
  if (phase == RacePhase::race && take_up_round(round, taking_part)) {
    rounds_[phase] = round;
    return true;
  }
  std::shuffle(taking_part.begin(), taking_part.end(), random_);
  const bool cold = settings_.cold != (phase == RacePhase::other_way);
  bench_.take_clock_readings();  // those of what went before
  std::vector<std::pair<Runner*, double>> taken;
  for (Runner* runner : taking_part)
    if (const std::optional<double> ms = sample(*runner, cold)) taken.emplace_back(runner, *ms);
  if (!watch_.keeps_round(bench_.take_clock_readings())) return false;
  rounds_[phase] = round;
  std::vector<std::pair<int, double>> times;
  for (const auto& [runner, ms] : taken) {
    std::vector<Sample>& samples = phase == RacePhase::race           ? runner->race
                                   : phase == RacePhase::confirmation ? runner->confirmation
                                                                      : runner->other_way;
    samples.push_back({round, ms});
    times.emplace_back(runner->entrant.candidate.id, ms);
  }
  observer_.on_round(phase, round, times);
  return true;
}

// It is judged as if it were timed now. False: the interrupted run timed fewer.
bool RaceField::take_up_round(int round, const std::vector<Runner*>& taking_part) {
  if (static_cast<std::size_t>(round) > earlier_.race.size()) return false;
  const EarlierRun::Round& times = earlier_.race[static_cast<std::size_t>(round) - 1];
  for (Runner* runner : taking_part) {
    const auto time = times.find(runner->entrant.code);
    if (time != times.end()) runner->race.push_back({round, time->second});
  }
  return true;
}

int RaceField::take_up_confirmation(const std::vector<Runner*>& finalists) {
  int taken_up = 0;
  for (const EarlierRun::Round& times : earlier_.confirmation) {
    const bool same = times.size() == finalists.size() &&
                      std::all_of(finalists.begin(), finalists.end(),
                                  [&](const Runner* runner) { return times.contains(runner->entrant.code); });
    if (!same) continue;
    ++taken_up;
    const int round = ++rounds_[RacePhase::confirmation];
    for (Runner* runner : finalists) runner->confirmation.push_back({round, times.at(runner->entrant.code)});
  }
  return taken_up;
}

std::optional<double> RaceField::earlier_first_ms(const Runner& runner) const {
  const auto known = earlier_.first_ms.find(runner.entrant.code);
  return known == earlier_.first_ms.end() ? std::nullopt : std::optional(known->second);
}

double RaceField::budget_left_ms(double share) const {
  return share * settings_.budget_s * 1000 - spent_ms_;
}

void RaceField::tell_progress(RacePhase phase, int done) const {
  observer_.on_progress(phase, done, running());
}

Measurement measured(Measurement samples, const Measurement& reference, double confidence, std::size_t finalists) {
  Measurement m{std::move(samples.race), std::move(samples.confirmation), {}, {}, std::move(samples.other_way)};
  const bool confirmed = !m.confirmation.empty();
  const std::vector<Sample>& own = confirmed ? m.confirmation : m.race;
  std::vector<double> times;
  for (const Sample& sample : own) times.push_back(sample.ms);
  if (times.empty()) return m;
  m.time_ms = median_interval(times, confidence);
  const std::size_t chances = std::max<std::size_t>(finalists, 2) - 1;
  const double error = (1 - confidence) / static_cast<double>(chances * kLooks.size());
  const std::vector<double> ratios = paired_ratios(confirmed ? reference.confirmation : reference.race, own);
  if (!ratios.empty()) m.speedup = median_interval(ratios, 1 - error);
  return m;
}

Measurement RaceField::measurement(const Runner& runner) const {
  const auto finalists = std::count_if(runners_.begin(), runners_.end(), [](const Runner& r) { return r.finalist; });
  const Runner& reference = runners_.front();
  return measured({runner.race, runner.confirmation, {}, {}, runner.other_way},
                  {reference.race, reference.confirmation, {}, {}, {}}, settings_.confidence,
                  static_cast<std::size_t>(finalists));
}

RaceResult RaceField::result() {
  for (const Runner& runner : runners_)
    if (runner.running) {
      Outcome outcome = measurement(runner);
      observer_.on_outcome(runner.entrant.candidate.id, outcome);
      outcomes_.insert_or_assign(runner.entrant.candidate.id, std::move(outcome));
    }
  return {std::move(outcomes_), settings_, watch_.summary(), (reference_ms_ + spent_ms_) / 1000};
}

}  // namespace regtune
