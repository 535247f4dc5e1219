#pragma once
// How one run of a kernel differs from another of the same kernel: what it was run under, what each budget's code came
// to, how long the codes took, and whether the winner changed. Values only: no file and no text. Two runs were never
// timed side by side: a difference of times counts only where the intervals lie apart, and where the author's code is
// the same machine code in both, every other code is compared by its time beside that one's.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// Something beside the codes: the driver, the compiler, the source.
struct Change {
  std::string what;
  std::string before;
  std::string after;
};

// Registers and spills of one budget's code in both runs.
struct FactDrift {
  Variant variant;
  int registers_before = 0;
  int registers_after = 0;
  std::int64_t spills_before = 0;  // stores and loads together, bytes
  std::int64_t spills_after = 0;
};

// A budget that failed in one of the runs: "timed" before, "faulted" after.
struct FateDrift {
  Variant variant;
  std::string before;
  std::string after;
};

struct TimeDrift {
  enum class Kind { within_noise, faster, slower, too_few_samples };
  Kind kind = Kind::within_noise;
  Variant variant;
  Interval ratio;               // the later time over the earlier one; its ends from those of both intervals
  bool beside_authors = false;  // of times in units of the author's code, which leaves out what moved all alike
  double ms_before = 0;
  double ms_after = 0;
};

// What became of the earlier run's winner.
struct WinnerDrift {
  bool changed = false;           // another one is best, or there is one where there was none, and the reverse
  std::optional<Variant> before;  // empty: the author's code was to be left alone
  std::optional<Variant> after;
  // In the later run, the time of the earlier winner over that of the best: 1.02 costs 2 %. Paired by round where both
  // were confirmed. Empty: it has no time there.
  std::optional<Interval> cost_of_keeping;
  bool cost_is_known = false;  // its whole interval lies above 1
};

struct RecordDiff {
  std::vector<Change> changes;
  std::vector<FactDrift> facts;  // of the budgets that differ
  std::vector<FateDrift> fates;  // likewise
  std::vector<TimeDrift> times;  // of the author's code, both winners, and whatever else was confirmed in both
  WinnerDrift winner;
  std::size_t in_both = 0;  // budgets
  std::size_t only_before = 0;
  std::size_t only_after = 0;
  std::size_t other_code = 0;  // budgets of the same registers and spills whose code is another
  bool timed_in_both = false;
  // The author's code is the same code on the same GPU under the same driver: what its time does is the machine's own
  // drift (*measured* on H200: 0.5 % from one run to the next), and no difference of the runs.
  bool authors_drift_is_the_machines = false;
  // Registers, spills, fates, times and the winner are what they were. What the runs were made under, and the code
  // itself, may differ.
  bool same() const;
};

RecordDiff record_diff(const TuningRecord& before, const TuningRecord& after);

}  // namespace regtune
