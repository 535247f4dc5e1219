#include "run_log.hpp"

#include <fmt/format.h>

namespace regtune {

namespace {

Phase stored_phase(RacePhase phase) {
  if (phase == RacePhase::confirmation) return Phase::confirmation;
  return phase == RacePhase::other_way ? Phase::other_way : Phase::race;
}

}  // namespace

RunLog::RunLog(const TuningRecord& record, Store* store, Progress& progress, std::int64_t run)
    : record_(record), progress_(progress), store_(store), run_(run) {
  if (store_ && run_ == 0) run_ = store_->begin(record);
}

void RunLog::on_compiled(std::size_t done, std::size_t of) {
  progress_.update(fmt::format("compiled {} of {}", done, of));
}

void RunLog::on_entered(int id) {
  if (store_) store_->set_outcome(run_, record_.trials.at(static_cast<std::size_t>(id)));
}

void RunLog::start_over() {
  if (store_) store_->start_over(run_);
}

void RunLog::on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) {
  if (!store_) return;
  std::vector<RoundSample> samples;
  for (const auto& [id, ms] : id_and_ms) samples.push_back({id, ms});
  store_->add_round(run_, stored_phase(phase), round, samples);
}

void RunLog::on_outcome(int id, const Outcome& outcome) {
  if (!store_) return;
  Trial trial = record_.trials.at(static_cast<std::size_t>(id));
  trial.outcome = outcome;
  store_->set_outcome(run_, trial);
}

void RunLog::on_progress(RacePhase phase, int done, int left_in_race) {
  switch (phase) {
    case RacePhase::check:
      progress_.update(fmt::format("checking code {}, {} in the race", done, left_in_race));
      break;
    case RacePhase::race:
      progress_.update(fmt::format("racing, round {}, {} left", done, left_in_race));
      break;
    case RacePhase::confirmation:
      progress_.update(fmt::format("confirming {} finalists, round {}", left_in_race, done));
      break;
    case RacePhase::other_way:
      progress_.update(fmt::format("timing {} finalists with the L2 cache {}, round {}", left_in_race,
                                   record_.settings.cold ? "warm" : "flushed", done));
      break;
  }
}

void RunLog::finish() {
  if (store_) store_->finish(run_, record_);
}

}  // namespace regtune
