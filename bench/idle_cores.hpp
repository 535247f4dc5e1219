#pragma once
// When the workers of a compile pool had nothing to do, from what the pool noted of their jobs. A lane is what one core
// could have been at: a worker, and after it the one that was forked in its place. Says when, not why; that a worker
// waited for a core while it was at a job is no idleness here, and told apart.
#include <string>
#include <vector>

#include "compile_usage.hpp"

namespace regtune {

struct IdleInterval {
  enum class When { before_first_job, between_jobs, after_last_job };
  When when = When::between_jobs;
  double begin_s = 0;  // of the stage
  double end_s = 0;
};

struct IdleCores {
  double stage_s = 0;
  double answered_s = 0;         // all lanes together, at jobs that were answered
  double answered_on_cpu_s = 0;  // the part of it in which they had a core
  double cut_short_s = 0;        // at jobs that were not
  std::vector<std::vector<IdleInterval>> lanes;

  double idle_s(IdleInterval::When when) const;
};

// Jobs of `server` are left out. At least `jobs` lanes: one that nobody was forked for is idle throughout, before its
// first job. Times as in the spans.
IdleCores idle_cores(const CompileUsage& usage, pid_t server, int jobs, double stage_begin_s, double stage_end_s);

// Sums, then a line for each lane with its intervals of at least `shortest_s`.
std::string idle_text(const IdleCores& idle, double shortest_s);

}  // namespace regtune
