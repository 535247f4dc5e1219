#pragma once
// What happens during a run, told to the cache and to the progress line as it happens: a run that is killed
// has lost at most one round.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "measure.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

class RunLog final : public RaceObserver {
 public:
  // Of `run`, which was begun in `store`; 0: begins one. No store: nothing is stored. All outlive the log.
  RunLog(const TuningRecord& record, Store* store, Progress& progress, std::int64_t run = 0);

  void on_compiled(std::size_t done, std::size_t of);
  // Its code is about to be launched: from here on samples of that id may come.
  void on_entered(int id);
  // All codes are compiled again by another way: what was told so far counts for nothing.
  void start_over();
  void on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) override;
  void on_outcome(int id, const Outcome& outcome) override;
  void on_progress(RacePhase phase, int done, int left_in_race) override;
  void finish();
  // What the next run of the same need not do again: a sentence without its end; empty: nothing.
  std::string kept() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string spell_stage() const;
  std::string spell_best() const;
  std::string spell_time_left() const;
  void show_race();

  const TuningRecord& record_;
  Progress& progress_;
  Store* store_;
  std::int64_t run_ = 0;
  std::size_t compiled_ = 0;
  std::size_t to_compile_ = 0;
  Clock::time_point began_ = Clock::now();
  std::optional<Clock::time_point> all_compiled_;
  std::optional<RacePhase> phase_;  // empty: nothing was launched yet
  int done_ = 0;
  int left_ = 0;
  int rounds_ = 0;
  int reference_ = -1;                                   // the code that entered first
  std::map<int, std::pair<double, int>> speedups_ = {};  // of each code: the sum over its rounds, and how many they are
};

}  // namespace regtune
