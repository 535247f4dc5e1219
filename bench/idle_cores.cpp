#include "idle_cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace regtune {
namespace {

using When = IdleInterval::When;

struct Job {
  pid_t process = -1;
  double begin_s = 0;
  double end_s = 0;
  double cpu_s = 0;
  bool ends_process = false;
};

// In the order of their beginning, cut to the stage and counted from its beginning.
std::vector<Job> jobs_in_stage(const CompileUsage& usage, pid_t server, double stage_begin_s, double stage_end_s) {
  std::vector<Job> jobs;
  const auto add = [&](const CompileSpan& span, bool ends_process) {
    if (span.process == server || span.ended_s <= stage_begin_s || span.begun_s >= stage_end_s) return;
    jobs.push_back({span.process, std::max(span.begun_s, stage_begin_s) - stage_begin_s,
                    std::min(span.ended_s, stage_end_s) - stage_begin_s, span.cpu_s, ends_process});
  };
  for (const CompileSpan& span : usage.spans()) add(span, false);
  for (const CompileSpan& span : usage.cut_short()) add(span, true);
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.begin_s < b.begin_s; });
  return jobs;
}

// Each process's jobs in the lane of one that ended before it began, if there is such a lane.
std::vector<std::vector<Job>> lanes_of(const std::vector<Job>& jobs) {
  std::vector<std::vector<Job>> lanes;
  for (const Job& job : jobs) {
    auto lane = std::find_if(lanes.begin(), lanes.end(),
                             [&](const auto& known) { return known.back().process == job.process; });
    if (lane == lanes.end())
      lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& known) {
        return known.back().ends_process && known.back().end_s <= job.begin_s;
      });
    if (lane == lanes.end()) lane = lanes.insert(lane, std::vector<Job>());
    lane->push_back(job);
  }
  return lanes;
}

const char* name_of(When when) {
  switch (when) {
    case When::before_first_job:
      return " (before its first job)";
    case When::between_jobs:
      return "";
    case When::after_last_job:
      return " (after its last job)";
  }
  return "";
}

}  // namespace

double IdleCores::idle_s(When when) const {
  double sum = 0;
  for (const std::vector<IdleInterval>& lane : lanes)
    for (const IdleInterval& interval : lane)
      if (interval.when == when) sum += interval.end_s - interval.begin_s;
  return sum;
}

IdleCores idle_cores(const CompileUsage& usage, pid_t server, int jobs, double stage_begin_s, double stage_end_s) {
  IdleCores idle;
  idle.stage_s = stage_end_s - stage_begin_s;
  for (const std::vector<Job>& lane : lanes_of(jobs_in_stage(usage, server, stage_begin_s, stage_end_s))) {
    std::vector<IdleInterval>& intervals = idle.lanes.emplace_back();
    double free_since_s = 0;
    for (const Job& job : lane) {
      const When when = intervals.empty() && free_since_s == 0 ? When::before_first_job : When::between_jobs;
      if (job.begin_s > free_since_s) intervals.push_back({when, free_since_s, job.begin_s});
      free_since_s = job.end_s;
      (job.ends_process ? idle.cut_short_s : idle.answered_s) += job.end_s - job.begin_s;
      idle.answered_on_cpu_s += job.cpu_s;
    }
    if (free_since_s < idle.stage_s) intervals.push_back({When::after_last_job, free_since_s, idle.stage_s});
  }
  while (idle.lanes.size() < static_cast<std::size_t>(jobs))
    idle.lanes.push_back({{When::before_first_job, 0, idle.stage_s}});
  return idle;
}

std::string idle_text(const IdleCores& idle, double shortest_s) {
  const double all_s = idle.stage_s * static_cast<double>(idle.lanes.size());
  std::string text =
      fmt::format("{} lanes over {:.1f} ms, in % of their time:\n", idle.lanes.size(), idle.stage_s * 1e3);
  const auto row = [&](double seconds, const char* what) {
    fmt::format_to(std::back_inserter(text), "{:6.1f}  {}\n", 100 * seconds / all_s, what);
  };
  row(idle.answered_s, "at jobs that were answered");
  row(idle.answered_on_cpu_s, "  with a core");
  row(idle.cut_short_s, "at jobs that were cut short");
  row(idle.idle_s(When::before_first_job), "idle before the first job");
  row(idle.idle_s(When::between_jobs), "idle between jobs");
  row(idle.idle_s(When::after_last_job), "idle after the last job");
  text += "lane  idle, in ms from the beginning\n";
  for (std::size_t lane = 0; lane < idle.lanes.size(); ++lane) {
    fmt::format_to(std::back_inserter(text), "{:4} ", lane + 1);
    for (const IdleInterval& interval : idle.lanes[lane])
      if (interval.end_s - interval.begin_s >= shortest_s)
        fmt::format_to(std::back_inserter(text), " {:.1f}-{:.1f}{}", interval.begin_s * 1e3, interval.end_s * 1e3,
                       name_of(interval.when));
    text += '\n';
  }
  return text;
}

}  // namespace regtune
