#include "report_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "html_report.hpp"
#include "key.hpp"
#include "record_input.hpp"
#include "regtune/error.hpp"
#include "run_files.hpp"
#include "size_arguments.hpp"

namespace regtune {
namespace {

// A kernel's name may hold anything; a file's should not.
std::filesystem::path page_of(const TuningRecord& record) {
  constexpr std::size_t kLongest = 64;
  std::string name = bare_kernel_name(record.signature);
  std::erase_if(name, [](char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
  });
  return (name.empty() ? "regtune-report" : name.substr(0, kLongest)) + ".html";
}

}  // namespace

Reported report_runs(const ReportRequest& request) {
  RecordFilter filter;
  filter.cache = request.cache;
  filter.sizes = sizes_from(request.sizes, "--set");
  filter.gpu = request.gpu;
  std::vector<TuningRecord> runs;
  for (const std::string& subject : request.subjects) {
    NamedRecords found = records_named(subject, filter);
    if (found.records.empty()) return {"", "", {found.miss}, false};
    std::move(found.records.begin(), found.records.end(), std::back_inserter(runs));
  }
  const std::string html = html_report(runs);
  Reported reported;
  if (request.file == "-") {
    reported.text = html;
    return reported;
  }
  reported.file = request.file.value_or(page_of(runs.front()));
  write_text(reported.file, html, "-o");
  reported.notes.push_back(fmt::format("{}: {} {}; open it in a browser", reported.file.string(), runs.size(),
                                       runs.size() == 1 ? "run" : "runs"));
  return reported;
}

}  // namespace regtune
