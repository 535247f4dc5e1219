#include "diff_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "exported_budget.hpp"
#include "key.hpp"
#include "record_input.hpp"
#include "regtune/error.hpp"
#include "size_arguments.hpp"

namespace regtune {
namespace {

RecordFilter filter_of(const DiffRequest& request, bool superseded) {
  RecordFilter filter;
  filter.cache = request.cache;
  filter.sizes = sizes_from(request.sizes, "--set");
  filter.gpu = request.gpu;
  filter.superseded = superseded;
  return filter;
}

std::vector<TuningRecord> records_of(const std::string& subject, const RecordFilter& filter) {
  NamedRecords found = records_named(subject, filter);
  if (found.records.empty()) throw Error(ErrorKind::file_not_found, found.miss);
  return std::move(found.records);
}

std::string about(const TuningRecord& record) {
  return fmt::format("{} with {} on {}, {}", record.signature, spell_sizes(record.sizes),
                     record.gpu ? record.gpu->id.name : record.architecture, record.started);
}

std::string gpu_key(const TuningRecord& record) {
  return record.gpu ? gpu_model_key(record.gpu->id.name) : record.architecture;
}

// How well two runs answer one question; 0: not at all. A kernel whose parameters changed is still that kernel, the
// same GPU is preferred, and what is another is a change to tell.
int likeness(const TuningRecord& a, const TuningRecord& b) {
  const bool one_kernel = a.kernel == b.kernel;
  if (!one_kernel && bare_kernel_name(a.signature) != bare_kernel_name(b.signature)) return 0;
  return 1 + (one_kernel ? 8 : 0) + (a.sizes == b.sizes ? 4 : 0) + (gpu_key(a) == gpu_key(b) ? 2 : 0);
}

// Of the same kernel; where each side has several, of the same sizes too.
DiffResult paired(std::vector<TuningRecord> before, std::vector<TuningRecord> after) {
  const bool single = before.size() == 1 && after.size() == 1;
  DiffResult result;
  for (TuningRecord& later : after) {
    auto best = before.end();
    int most = 0;
    for (auto earlier = before.begin(); earlier != before.end(); ++earlier) {
      // Two records that are named by hand are compared whatever their sizes.
      const int like = likeness(*earlier, later);
      if ((single || earlier->sizes == later.sizes) && like > most) {
        most = like;
        best = earlier;
      }
    }
    if (best == before.end()) {
      result.only_after.push_back(about(later));
      continue;
    }
    RecordDiff diff = record_diff(*best, later);
    result.compared.push_back({std::move(*best), std::move(later), std::move(diff)});
    before.erase(best);
  }
  for (const TuningRecord& earlier : before) result.only_before.push_back(about(earlier));
  return result;
}

// The newest run and the one before it, of the same kernel and sizes.
DiffResult newest_two(const std::string& subject, const DiffRequest& request) {
  std::vector<TuningRecord> records = records_of(subject, filter_of(request, true));
  const TuningRecord newest = records.front();
  const auto earlier = std::find_if(std::next(records.begin()), records.end(), [&](const TuningRecord& record) {
    return record.kernel == newest.kernel && record.sizes == newest.sizes && gpu_key(record) == gpu_key(newest);
  });
  if (earlier == records.end())
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: there is one run alone ({}); name two, or tune it again after the change", subject,
                            about(newest)));
  return paired({*earlier}, {newest});
}

}  // namespace

bool DiffResult::same() const {
  return only_before.empty() && only_after.empty() &&
         std::all_of(compared.begin(), compared.end(), [](const ComparedRuns& runs) { return runs.diff.same(); });
}

DiffResult compare_runs(const DiffRequest& request) {
  if (request.subjects.size() == 1) return newest_two(request.subjects.front(), request);
  const RecordFilter filter = filter_of(request, false);
  DiffResult result = paired(records_of(request.subjects[0], filter), records_of(request.subjects[1], filter));
  if (result.compared.empty())
    throw Error(
        ErrorKind::file_not_found,
        fmt::format("{} and {} hold no run of one kernel and sizes; choose others with --set or --kernel:\n  {}\n  {}",
                    request.subjects[0], request.subjects[1], fmt::join(result.only_before, "\n  "),
                    fmt::join(result.only_after, "\n  ")));
  return result;
}

}  // namespace regtune
