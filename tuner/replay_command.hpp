#pragma once
// `regtune replay FILE`: a recorded run is decided again, under another margin, confidence or budget, with no GPU. A
// record of regtune's own is cut where a smaller budget would have ended it and judged anew; a recorded series is raced
// as if it were a GPU; of several kernels of a file the cap is chosen anew, too. Stores nothing, and never makes up a
// sample.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "file_wide_cap.hpp"
#include "record.hpp"
#include "report.hpp"

namespace regtune {

struct ReplayRequest {
  std::filesystem::path file;
  std::optional<double> margin;      // share; empty: as recorded, or the default
  std::optional<double> confidence;  // likewise
  std::optional<double> budget_s;    // of GPU time; likewise
};

struct Replay {
  TuningRecord record;  // with the verdict of now
  std::string then;     // the verdict that the record holds, in words, when it names others; else empty
  std::vector<std::string> notes;
};

// What --record wrote of several kernels of one file: each, and the cap that they could share.
struct FileReplay {
  std::vector<Replay> kernels;
  FileWideChoice cap;
};

// Both throw Error(file_not_found | bad_description). Of one kernel.
Replay replay(const ReplayRequest& request);
// Empty where the file is no record of several kernels.
std::optional<FileReplay> replay_of_file(const ReplayRequest& request);
std::string replay_text(const Replay& replay, const ReportStyle& style);

// The part of a replay that needs no file: intervals from the samples that a budget of GPU time would have held, in the
// order of rounds, and the verdict from them.
TuningRecord decide_again(TuningRecord record, const MeasureSettings& settings);

}  // namespace regtune
