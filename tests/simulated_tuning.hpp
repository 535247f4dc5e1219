#pragma once
// The order of tune() with a real cache and a GPU made of numbers, where nothing is compiled: what earlier runs have
// left is taken up, every round is stored, and the verdict last. Codes may come in any order, so that ids differ from
// run to run.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "decide.hpp"
#include "key.hpp"
#include "measure.hpp"
#include "past_runs.hpp"
#include "run_log.hpp"
#include "store.hpp"

namespace regtune {

// A run of `codes` distinct codes. Trial i holds the code of the cap 24 + order[i - 1]; trial 0 is the author's.
inline TuningRecord simulated_record(const std::vector<int>& order) {
  TuningRecord record;
  record.regtune_version = "test";
  record.started = "2026-01-02T03:04:05Z";
  record.host = "here";
  record.architecture = "sm_90";
  record.compiler = "none";
  record.source_path = "k.cu";
  record.source_hash = "source";
  record.kernel = record.signature = "k";
  record.sizes = {{"n", 1024}};
  record.arguments = {"in: n floats, random"};
  record.author_shape = {{4, 1, 1}, {256, 1, 1}, 0};
  record.gpu.emplace();
  record.gpu->id = {"NVIDIA Simulated", 9, 0, 132};
  record.gpu->driver_version = "1.2";
  const auto add = [&](const RegisterPolicy& policy, const std::string& code) {
    StaticFacts facts;
    facts.code_hash = code;
    facts.occupancy = Occupancy{4, 0.5, Limiter::registers};
    const int id = static_cast<int>(record.trials.size());
    record.trials.push_back({{id, policy, record.author_shape.block}, record.author_shape, facts, NotTimed{}});
  };
  add(AuthorsOwn{}, "author");
  for (const int code : order) add(RegisterCap{24 + code}, "cap " + std::to_string(24 + code));
  return record;
}

class SimulatedEntrants final : public EntrantSource {
 public:
  SimulatedEntrants(const TuningRecord& record, const PastRuns& past, RunLog& log)
      : record_(record), past_(past), log_(log) {}

  Entrant reference() { return entrant(0); }
  std::optional<Entrant> next() override {
    while (++last_ < static_cast<int>(record_.trials.size())) {
      const std::optional<Outcome> known = past_.outcome_of(record_.trials.at(static_cast<std::size_t>(last_)));
      if (!known) return entrant(last_);
      settled[last_] = *known;
      log_.on_outcome(last_, *known);
    }
    return {};
  }
  bool has_more(const std::vector<int>&) override { return false; }
  bool in_source(int id) const override { return id == 0; }
  bool own_name(int) const override { return true; }

  std::map<int, Outcome> settled;

 private:
  Entrant entrant(int id) {
    const Trial& trial = record_.trials.at(static_cast<std::size_t>(id));
    log_.on_entered(id);
    return {{id, "k", "", trial.shape}, in_source(id), true, code_identity(*trial.facts, trial.shape)};
  }
  const TuningRecord& record_;
  const PastRuns& past_;
  RunLog& log_;
  int last_ = 0;
};

struct SimulatedTuning {
  TuningRecord record;
  std::string told;  // of an interrupted run that was taken up
};

inline SimulatedTuning tune_simulated(Store& store, Bench& bench, TuningRecord record, bool retry = false) {
  Progress progress(true);
  const PastRuns past(store, record, retry);
  SimulatedTuning tuning{std::move(record), past.told()};
  RunLog log(tuning.record, &store, progress);
  SimulatedEntrants entrants(tuning.record, past, log);
  const RaceResult result =
      race(bench, entrants.reference(), entrants, tuning.record.settings, log, past.interrupted());
  tuning.record.settings = result.settings;
  std::map<int, Outcome> outcomes = result.outcomes;
  outcomes.insert(entrants.settled.begin(), entrants.settled.end());
  for (const auto& [id, outcome] : outcomes) tuning.record.trials.at(static_cast<std::size_t>(id)).outcome = outcome;
  tuning.record.verdict = decide(tuning.record.trials, 0, tuning.record.settings);
  log.finish();
  return tuning;
}

}  // namespace regtune
