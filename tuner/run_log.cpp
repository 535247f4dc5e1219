#include "run_log.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace regtune {

namespace {

Phase stored_phase(RacePhase phase) {
  if (phase == RacePhase::confirmation) return Phase::confirmation;
  return phase == RacePhase::other_way ? Phase::other_way : Phase::race;
}

std::size_t codes_so_far(const TuningRecord& record) {
  return static_cast<std::size_t>(std::count_if(record.trials.begin(), record.trials.end(), [](const Trial& trial) {
    return trial.facts && !std::holds_alternative<SameCodeAs>(trial.outcome);
  }));
}

}  // namespace

RunLog::RunLog(const TuningRecord& record, Store* store, Progress& progress, std::int64_t run)
    : record_(record), progress_(progress), store_(store), run_(run) {
  if (store_ && run_ == 0) run_ = store_->begin(record);
}

void RunLog::on_compiled(std::size_t done, std::size_t of) {
  compiled_ = done;
  to_compile_ = of;
  if (done < of) all_compiled_.reset();
  if (done == of && !all_compiled_) all_compiled_ = Clock::now();
  if (phase_) return show_race();
  progress_.update(fmt::format("compiled {} of {}, {} distinct codes", done, of, codes_so_far(record_)), done, of);
}

void RunLog::on_entered(int id) {
  if (reference_ < 0) reference_ = id;
  if (store_) store_->set_outcome(run_, record_.trials.at(static_cast<std::size_t>(id)));
}

void RunLog::start_over() {
  reference_ = -1;
  speedups_.clear();
  phase_.reset();
  if (store_) store_->start_over(run_);
}

void RunLog::on_round(RacePhase phase, int round, std::span<const std::pair<int, double>> id_and_ms) {
  const auto of_reference =
      std::find_if(id_and_ms.begin(), id_and_ms.end(), [&](const auto& pair) { return pair.first == reference_; });
  for (const auto& [id, ms] : id_and_ms) {
    if (phase != RacePhase::race || of_reference == id_and_ms.end() || ms <= 0) continue;
    auto& [sum, count] = speedups_[id];
    sum += of_reference->second / ms;
    ++count;
  }
  ++rounds_;
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
  const bool raced = phase_ && (*phase_ == RacePhase::check || *phase_ == RacePhase::race);
  const bool races = phase == RacePhase::check || phase == RacePhase::race;
  const bool is_new_stage = !phase_ || raced != races || (!races && *phase_ != phase);
  phase_ = phase;
  done_ = done;
  left_ = left_in_race;
  if (is_new_stage) progress_.stage(spell_stage());
  show_race();
}

std::string RunLog::spell_stage() const {
  switch (*phase_) {
    case RacePhase::check:
    case RacePhase::race:
      break;
    case RacePhase::confirmation:
      return fmt::format("confirming {} finalists", left_);
    case RacePhase::other_way:
      return fmt::format("timing {} finalists with the L2 cache {}", left_, record_.settings.cold ? "warm" : "flushed");
  }
  return "racing the codes on the GPU";
}

// The best mean of what was measured in the rounds with the reference: a figure to watch, and no result.
std::string RunLog::spell_best() const {
  double best = 0;
  for (const auto& [id, speedup] : speedups_)
    if (id != reference_) best = std::max(best, speedup.first / speedup.second);
  return best > 0 ? fmt::format(", best so far {:.2f}x", best) : "";
}

// Behind how much is compiled, and short: the whole line is to fit 80 columns. While codes are being compiled the race
// waits for them; from then on what is left of its budget is the most that it can take, and mostly far more than it
// does.
std::string RunLog::spell_time_left() const {
  const auto seconds_since = [](Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  };
  if (compiled_ > 0 && compiled_ < to_compile_) {
    const double each = seconds_since(began_) / static_cast<double>(compiled_);
    return fmt::format(" ({} left)", spell_duration(each * static_cast<double>(to_compile_ - compiled_)));
  }
  const double left_s = record_.settings.budget_s - seconds_since(all_compiled_.value_or(Clock::now()));
  return left_s > 0 ? fmt::format(", {} left at the most", spell_duration(left_s)) : "";
}

void RunLog::show_race() {
  std::string text;
  switch (*phase_) {
    case RacePhase::check:
      text = fmt::format("checking code {}: {} in the race", done_, left_);
      break;
    case RacePhase::race:
      text = fmt::format("racing, round {}: {} left", done_, left_);
      break;
    case RacePhase::confirmation:
    case RacePhase::other_way:
      text = fmt::format("{}, round {}", spell_stage(), done_);
      break;
  }
  text += spell_best();
  if (compiled_ < to_compile_) text += fmt::format(", compiled {} of {}", compiled_, to_compile_);
  text += spell_time_left();
  progress_.update(text);
}

std::string RunLog::kept() const {
  if (!store_) return "";
  const std::string rounds =
      rounds_ == 0 ? "" : fmt::format(" and {} {} of samples", rounds_, rounds_ == 1 ? "round" : "rounds");
  return fmt::format("{} of {} codes{} are kept", compiled_, std::max(compiled_, to_compile_), rounds);
}

void RunLog::finish() {
  if (store_) store_->finish(run_, record_);
}

}  // namespace regtune
