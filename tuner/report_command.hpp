#pragma once
// `regtune report`: the page of html_report.hpp for runs that are stored or recorded, one or several side by side.
// Compiles nothing, needs no GPU, and leaves the cache as it is.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

struct ReportRequest {
  std::vector<std::string> subjects;  // as records_named takes them
  std::vector<std::string> sizes;     // "n=1<<24": only runs of these; empty: all
  std::optional<std::string> gpu;
  std::optional<std::filesystem::path> cache;
  std::optional<std::filesystem::path> file;  // "-": standard output; empty: KERNEL.html
};

struct Reported {
  std::string text;  // for standard output; empty: it was written to `file`
  std::filesystem::path file;
  std::vector<std::string> notes;  // for the user
  bool found = true;               // false: nothing is stored of that name; the notes say what is
};

// Throws Error.
Reported report_runs(const ReportRequest& request);

}  // namespace regtune
