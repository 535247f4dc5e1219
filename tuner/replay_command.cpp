#include "replay_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "decide.hpp"
#include "measure.hpp"
#include "policy.hpp"
#include "record_json.hpp"
#include "recorded_series.hpp"
#include "regtune/error.hpp"
#include "terminal.hpp"
#include "time_plot.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

Measurement* measurement_in(Outcome& outcome) {
  if (auto* measured = std::get_if<Measurement>(&outcome)) return measured;
  auto* abandoned = std::get_if<Abandoned>(&outcome);
  return abandoned ? &abandoned->so_far : nullptr;
}

// Race, confirmation, and L2 in the other state, each by round: the order in which they were taken. Round 0 of the race
// is the first launch.
enum Part { race_rounds, confirmation_rounds, other_way_rounds };
using RoundNumber = std::pair<Part, int>;

std::map<RoundNumber, double> gpu_ms_by_round(std::vector<Trial>& trials, int launches_per_sample) {
  std::map<RoundNumber, double> cost;
  for (Trial& trial : trials) {
    const Measurement* m = measurement_in(trial.outcome);
    if (!m || !(m->time_ms.median > 0)) continue;
    cost[{race_rounds, 0}] += m->time_ms.median;
    for (const Sample& sample : m->race)
      if (sample.round > 0) cost[{race_rounds, sample.round}] += sample.ms * launches_per_sample;
    for (const Sample& sample : m->confirmation)
      cost[{confirmation_rounds, sample.round}] += sample.ms * launches_per_sample;
    for (const Sample& sample : m->other_way) cost[{other_way_rounds, sample.round}] += sample.ms;
  }
  return cost;
}

// A round that has begun is finished, as in a run.
void keep_what_a_budget_holds(std::vector<Trial>& trials, double budget_ms, int launches_per_sample) {
  RoundNumber last{race_rounds, -1};
  double spent_ms = 0;
  for (const auto& [round, ms] : gpu_ms_by_round(trials, launches_per_sample)) {
    if (spent_ms >= budget_ms) break;
    spent_ms += ms;
    last = round;
  }
  for (Trial& trial : trials)
    if (Measurement* m = measurement_in(trial.outcome)) {
      std::erase_if(m->race, [&](const Sample& s) { return RoundNumber(race_rounds, s.round) > last; });
      std::erase_if(m->confirmation, [&](const Sample& s) { return RoundNumber(confirmation_rounds, s.round) > last; });
      std::erase_if(m->other_way, [&](const Sample& s) { return RoundNumber(other_way_rounds, s.round) > last; });
    }
}

Json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    throw Error(ErrorKind::file_not_found,
                file.string() + ": cannot be read; is the path right, and may you read the file?");
  try {
    return Json::parse(in);
  } catch (const Json::exception& failure) {
    throw Error(ErrorKind::bad_description, fmt::format("{}: not JSON: {}", file.string(), failure.what()));
  }
}

MeasureSettings with_changes(MeasureSettings settings, const ReplayRequest& request) {
  settings.margin = request.margin.value_or(settings.margin);
  settings.confidence = request.confidence.value_or(settings.confidence);
  settings.budget_s = request.budget_s.value_or(settings.budget_s);
  return settings;
}

std::string named(const TuningRecord& record) {
  const Verdict& v = *record.verdict;
  if (v.kind != Verdict::Kind::improved) return std::string(to_string(v.kind));
  return fmt::format("{}, in the source {}", spell_choice(record, v.best_id),
                     v.best_in_source_id == v.reference_id ? "nothing" : spell_choice(record, v.best_in_source_id));
}

Replay of_record(TuningRecord record, const ReplayRequest& request) {
  if (!record.gpu || !record.verdict)
    throw Error(ErrorKind::bad_description, request.file.string() +
                                                ": nothing was timed in that run, so there is nothing to decide; "
                                                "record one on a machine with a GPU (--record)");
  const std::string then = named(record);
  const double recorded_s = record.settings.budget_s;
  const MeasureSettings settings = with_changes(record.settings, request);
  Replay replay{decide_again(std::move(record), settings), "", {}};
  if (named(replay.record) != then) replay.then = then;
  if (settings.budget_s > recorded_s)
    replay.notes.push_back(fmt::format("the run had {:g} s of GPU time; a longer one cannot be replayed", recorded_s));
  return replay;
}

// Nothing happens that anybody waits for.
class Unheard final : public RaceObserver {
  void on_round(RacePhase, int, std::span<const std::pair<int, double>>) override {}
  void on_outcome(int, const Outcome&) override {}
  void on_progress(RacePhase, int, int) override {}
};

std::vector<Entrant> entrants_of(const std::vector<Trial>& trials) {
  std::vector<Entrant> entrants;
  for (const Trial& trial : trials) {
    if (!std::holds_alternative<NotTimed>(trial.outcome)) continue;
    const bool in_source = std::any_of(trials.begin(), trials.end(), [&](const Trial& other) {
      return travels_with_source(other.variant) && timed_trial(trials, other.variant.id).variant.id == trial.variant.id;
    });
    entrants.push_back({{trial.variant.id, "", "", trial.shape}, in_source});
  }
  return entrants;
}

Replay of_series(RecordedSweep sweep, const ReplayRequest& request) {
  if (sweep.reference_drift.empty())
    throw Error(ErrorKind::bad_description, request.file.string() +
                                                ": holds medians and no rounds (raw_ms), and medians of different "
                                                "rounds must not be compared; record the run with --record");
  RecordedDevice device(sweep);
  Unheard unheard;
  TuningRecord record = sweep.record;
  const RaceResult result =
      race(device, entrants_of(record.trials), sweep.reference_id, with_changes(record.settings, request), unheard);
  record.settings = result.settings;
  for (const auto& [id, outcome] : result.outcomes) record.trials.at(static_cast<std::size_t>(id)).outcome = outcome;
  record.verdict = decide(record.trials, choose_reference(record.trials).value(), record.settings);
  Replay replay{std::move(record), "", {}};
  if (device.repeated())
    replay.notes.push_back(
        fmt::format("more rounds were wanted than the {} that were recorded: they were used more than once, so the "
                    "intervals are narrower than they should be",
                    sweep.reference_drift.size()));
  return replay;
}

}  // namespace

TuningRecord decide_again(TuningRecord record, const MeasureSettings& settings) {
  const int reference_id = record.verdict ? record.verdict->reference_id : choose_reference(record.trials).value_or(0);
  if (settings.budget_s < record.settings.budget_s)
    keep_what_a_budget_holds(record.trials, settings.budget_s * 1000, settings.launches_per_sample);
  record.settings = settings;
  const Outcome& timed = timed_trial(record.trials, reference_id).outcome;
  Measurement reference;
  if (const auto* measured = std::get_if<Measurement>(&timed)) reference = *measured;
  const auto finalists = std::count_if(record.trials.begin(), record.trials.end(), [](const Trial& trial) {
    return std::holds_alternative<Measurement>(trial.outcome);
  });
  for (Trial& trial : record.trials)
    if (Measurement* m = measurement_in(trial.outcome))
      *m = measured(std::move(*m), reference, settings.confidence, static_cast<std::size_t>(finalists));
  record.verdict = decide(record.trials, reference_id, settings);
  return record;
}

Replay replay(const ReplayRequest& request) {
  const Json json = read_json(request.file);
  const std::string file = request.file.string();
  return is_recorded_sweep(json) ? of_series(recorded_sweep_from_json(json, file), request)
                                 : of_record(record_from_json(json, file), request);
}

std::optional<FileReplay> replay_of_file(const ReplayRequest& request) {
  const Json json = read_json(request.file);
  if (!json.is_object() || !json.contains("format") || json["format"] != "regtune file") return {};
  const std::string file = request.file.string();
  if (!json.contains("format_version") || json["format_version"] != 1 || !json.contains("kernels") ||
      !json["kernels"].is_array() || json["kernels"].empty())
    throw Error(ErrorKind::bad_description,
                file + ": not a regtune file of format version 1 with kernels in it; name what --record wrote");
  FileReplay replay;
  std::vector<TuningRecord> records;
  for (const Json& kernel : json["kernels"]) {
    replay.kernels.push_back(of_record(record_from_json(kernel, file), request));
    records.push_back(replay.kernels.back().record);
  }
  replay.cap = file_wide_cap(records);
  return replay;
}

std::string replay_text(const Replay& replay, const ReportStyle& style) {
  const TuningRecord& record = replay.record;
  const MeasureSettings& settings = record.settings;
  std::string text = fmt::format(
      "replayed, no GPU used | {}, {} | margin {:g} %, confidence {:g} %, budget {:g} s\n{}\n", record.gpu->id.name,
      record.architecture, settings.margin * 100, settings.confidence * 100, settings.budget_s, record.signature);
  text += table_of_codes(record, style);
  if (style.plot) text += time_plot(record, style);
  text += "\n" + verdict_in_words(record);
  if (!replay.then.empty()) text += fmt::format("the run itself said: {}\n", replay.then);
  return fitted(text, style.columns);
}

}  // namespace regtune
