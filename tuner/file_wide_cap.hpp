#pragma once
// The one --maxrregcount that serves a file best, of which several kernels were tuned: the flag holds for all of a
// file, while a bound travels with its kernel, so this is what a build can have that leaves the source alone. Works on
// records, and measures nothing: a cap counts where its code was timed in every kernel, and a kernel whose own bound
// overrides every cap stays at its author's code.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

// One kernel under the cap.
struct KernelUnderCap {
  std::string signature;
  double weight = 1;       // launches for each launch of the others, as its description says
  double share = 0;        // of the file's time with the author's code, 0 to 1
  std::string own_bound;   // why no cap binds; empty: the cap does
  bool inferred = false;   // the cap was not compiled for it: the caps around it have one code
  std::string best_bound;  // the best that its source can say, spelled
  Interval speedup;        // author's code over the cap's, paired by round
  Interval speedup_of_bound;
  Interval loss;   // of time under the cap against that under the bound: 0.02 is 2 % slower
  int rounds = 0;  // of which `speedup` and `loss` come, the fewer; 0: both are the same code or known without
};

struct FileWideCap {
  int registers_per_thread = 0;
  bool gains = false;          // the file's whole speed-up lies above the margin: else the flag is better left out
  bool enough_rounds = false;  // for the confidence: else the intervals are the ranges of what rounds there are
  std::vector<KernelUnderCap> kernels;
  Interval speedup;  // of the file: its time with the authors' code over that with the cap
  Interval speedup_of_bounds;
  Interval loss;          // against a bound on each kernel
  int caps_compared = 0;  // that were timed in every kernel
  double confidence = 0;  // of each interval, before it is shared among kernels and caps
  double margin = 0;
};

// Either the cap, or one sentence that says why there is none.
struct FileWideChoice {
  std::optional<FileWideCap> cap;
  std::string why_none;
};

// Requires: `records` are of several kernels of one file, tuned on one GPU.
FileWideChoice file_wide_cap(const std::vector<TuningRecord>& records);

std::string file_wide_text(const FileWideChoice& choice);
nlohmann::json file_wide_json(const FileWideChoice& choice);

}  // namespace regtune
