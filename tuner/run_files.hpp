#pragma once
// The files that a tuning run is asked to leave beside the cache: its record, the report's page, and what other
// programs read of it. Written when the run is over; the cache holds it then, so that a file that could not be written
// can be made again.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record.hpp"

namespace regtune {

struct RunFiles {
  std::optional<std::filesystem::path> record;        // --record
  std::optional<std::filesystem::path> report;        // --report
  std::optional<std::filesystem::path> t4;            // --export-t4
  std::optional<std::filesystem::path> kernel_tuner;  // --export-kernel-tuner
  std::optional<std::filesystem::path> csv;           // --csv
};

// Before the run: that each file can be made, and that none is asked to hold what it cannot. `runs`: how many there
// will be. Throws Error(usage).
void check_run_files(const RunFiles& files, std::size_t runs);

// All but the record, which is written as soon as its run is over. Throws Error(usage) for a file that cannot be
// written, or is to hold one run where there are several.
void write_run_files(const RunFiles& files, const std::vector<TuningRecord>& runs);

// `option` names the file in the message.
void write_text(const std::filesystem::path& file, std::string_view text, std::string_view option);

}  // namespace regtune
