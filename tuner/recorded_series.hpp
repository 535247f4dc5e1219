#pragma once
// A sweep that was recorded code by code, with the times of its rounds: read from JSON, and played back as a GPU. Its
// rounds stay what they were, so that drift comes back as it was and pairing can be seen to matter. Times that were
// not recorded are made of the code's median and the drift of the reference; nothing is drawn at random.
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bench.hpp"
#include "record.hpp"

namespace regtune {

struct RecordedCode {
  double median_ms = 0;
  double low_ms = 0;           // 10th percentile
  double high_ms = 0;          // 90th
  std::vector<double> series;  // by round; empty: it left early, and only the others are given
};

struct RecordedSweep {
  TuningRecord record;                  // its trials are those that collapse leaves
  int reference_id = 0;                 // of the trial that is timed for the author's code, or its stand-in
  std::map<int, RecordedCode> codes;    // by the id of the trial that is timed
  std::vector<double> reference_drift;  // by round, over the median of the first five; empty: no rounds were kept
};

// Tells a file of this kind from a record of regtune's own.
bool is_recorded_sweep(const nlohmann::json& json);
// Throws Error(bad_description) for what is incomplete or cannot be; `file` is what the message calls it.
RecordedSweep recorded_sweep_from_json(const nlohmann::json& json, const std::string& file);

class RecordedDevice final : public Bench {
 public:
  explicit RecordedDevice(const RecordedSweep& sweep) : sweep_(sweep) {}

  double set_reference(const Candidate& reference) override;
  ReferenceRun warm_up(double ms) override;
  Shot check(const Candidate& candidate) override { return time(candidate.id); }
  Shot sample(const Candidate& candidate) override;
  Shot sample_cold(const Candidate& candidate) override;  // refused: nothing was recorded with an empty cache

  // More rounds were asked for than were recorded: from there on they come again from the first.
  bool repeated() const { return round_ >= sweep_.reference_drift.size(); }

 private:
  double time(int id) const;

  const RecordedSweep& sweep_;
  int reference_id_ = 0;
  std::set<int> in_round_;
  std::size_t round_ = 0;
};

}  // namespace regtune
