#pragma once
// Who is in a race, what each one's samples are, and how they are taken: every launch of a race goes through here,
// so that failures, the budget and the rounds are seen in one place. Who leaves because it is slow is measure.hpp's
// matter, and who is confirmed confirmation.hpp's.
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "earlier_run.hpp"
#include "record.hpp"
#include "throttle_watch.hpp"

namespace regtune {

struct Entrant {
  Candidate candidate;
  bool in_source = false;  // at least one of the budgets that give this code can be written into the source
  bool own_name = true;    // at least one gives it under the kernel's own name
  std::string code = {};   // its identity (key.hpp), by which earlier rounds are found; empty: there are none
};

// other_way: the finalists, with the L2 cache in the other state than in the rounds before.
enum class RacePhase { check, race, confirmation, other_way };

// Told as things happen; the cache and the progress line listen. An outcome that is told again replaces the former:
// who left because of a code that failed later comes back.
class RaceObserver {
 public:
  virtual ~RaceObserver() = default;
  virtual void on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) = 0;
  virtual void on_outcome(int id, const Outcome& outcome) = 0;
  virtual void on_progress(RacePhase phase, int done, int left_in_race) = 0;
};

struct RaceResult {
  std::map<int, Outcome> outcomes;  // one for each entrant
  MeasureSettings settings;         // with what the reference run found out
  std::optional<ClockWatch> clocks;
  double gpu_seconds = 0;  // that launches took, those of the reference run included
};

// Time over the reference's of a code that has no round yet: it is beaten by nothing, and beats nothing.
inline constexpr Interval kUnknownRatio{0, std::numeric_limits<double>::infinity(),
                                        std::numeric_limits<double>::infinity()};

struct Runner {
  Entrant entrant;
  std::vector<Sample> race;
  std::vector<Sample> confirmation;
  std::vector<Sample> other_way;
  bool running = true;  // may still be the fastest
  bool finalist = false;
  bool failed = false;             // refused, faulted, hung or wrong
  bool led = false;                // others left because of its times
  double first_ms = 0;             // its first launch, or the one after where that was slow
  Interval ratio = kUnknownRatio;  // time over the reference's, from the race
};

// The confirmation is looked at after these counts of rounds only. A look after every round would find a false
// win sooner or later; each of these few carries its share of the error.
inline constexpr std::array kLooks = {15, 25, 45, 80, 140, 220, 301};

// The kinds of winner that are looked for: of all, under the kernel's own name, and in the source. Each is a part
// of the one before.
enum class WinnerKind { any, own_name, in_source };
inline constexpr std::array kWinnerKinds{WinnerKind::any, WinnerKind::own_name, WinnerKind::in_source};
inline constexpr std::array<std::size_t, kWinnerKinds.size()> kFinalists{5, 5, 3};  // of each kind
bool is_of(const Runner& runner, WinnerKind kind);

// Intervals of the time and of the speed-up over `reference`, paired by round: from the confirmation, where there is
// one. Of several finalists one is named, and there are several looks: each interval carries its share of the error
// (Bonferroni). `finalists`: how many there are, the reference among them. Only samples of the two are looked at.
Measurement measured(Measurement samples, const Measurement& reference, double confidence, std::size_t finalists);

class RaceField {
 public:
  // Runs the reference, which becomes the first runner. Throws Error(gpu_failed) when it cannot be launched.
  // `earlier` outlives the field.
  RaceField(Bench& bench, const Entrant& reference, MeasureSettings settings, RaceObserver& observer,
            const EarlierRun& earlier);

  const MeasureSettings& settings() const { return settings_; }
  Runner& reference() { return runners_.front(); }
  std::deque<Runner>& runners() { return runners_; }
  bool is_reference(const Runner& runner) const { return &runner == &runners_.front(); }
  int running() const;
  std::vector<Runner*> running_others();  // all but the reference

  // Once, before anything is checked or timed: the settings then say how samples are taken. A reference that is alone
  // is compared with nothing, and is not warmed up for long. Throws Error(gpu_failed) when it cannot be timed,
  // Error(buffer_too_large) when it is to be timed cold and the GPU has no memory for a flush.
  void warm_up();
  Runner& enter(Entrant entrant);
  void leave(Runner& runner, Outcome outcome);
  // Comes back, with the samples that it has.
  void take_back(Runner& runner);

  // The milliseconds, or nothing after the runner has left with its outcome.
  std::optional<double> check(Runner& runner);
  std::optional<double> sample(Runner& runner);  // warm or cold, as the settings say
  // One sample of each of `taking_part`, in an order drawn anew: no code is always the one after a slow one. False:
  // the clocks were held down meanwhile, and the samples are dropped; whoever failed has failed all the same.
  // A round of the race that an interrupted run has timed is taken up instead.
  bool take_round(RacePhase phase, std::vector<Runner*> taking_part);
  // Takes up the rounds in which an interrupted run confirmed exactly these; returns how many.
  int take_up_confirmation(const std::vector<Runner*>& finalists);
  // Of a code that left an interrupted run after its first launch.
  std::optional<double> earlier_first_ms(const Runner& runner) const;
  bool can_take_other_way() const { return settings_.cold || can_flush_; }
  // Of the share of the budget that may be gone by the end of a phase.
  double budget_left_ms(double share) const;
  void tell_progress(RacePhase phase, int done) const;

  // A code that failed after others left because of its times: those times count for nothing.
  bool leader_failed() const { return leader_failed_; }
  void forget_failed_leader() { leader_failed_ = false; }

  // What is known of it by now. From the confirmation where it has been in one.
  Measurement measurement(const Runner& runner) const;
  // Gives those that are still running their measurement as outcome.
  RaceResult result();

 private:
  std::optional<double> time_of(Runner& runner, const Shot& shot, int launches);
  std::optional<double> sample(Runner& runner, bool cold);
  bool take_up_round(int round, const std::vector<Runner*>& taking_part);

  Bench& bench_;
  MeasureSettings settings_;
  int launches_per_warm_sample_ = 1;
  bool warm_ = false;
  bool can_flush_ = false;
  ThrottleWatch watch_;
  RaceObserver& observer_;
  const EarlierRun& earlier_;
  std::mt19937_64 random_;
  std::deque<Runner> runners_;  // which keeps its places while it grows
  std::map<int, Outcome> outcomes_;
  double spent_ms_ = 0;      // of the budget
  double reference_ms_ = 0;  // the reference run and the warm-up, which no budget limits
  bool leader_failed_ = false;
  std::map<RacePhase, int> rounds_;  // that count, so far; they are numbered without a gap
};

}  // namespace regtune
