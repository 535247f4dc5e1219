#pragma once
// What a pool of compiler processes has used: CPU time, memory, and who was at which job when. The pool tells it of
// each answer and of each process that it ends; what is read out of it is for benchmarks and for the pool's own guess
// of how long a job takes.
#include <sys/types.h>

#include <chrono>
#include <map>
#include <vector>

#include "worker.hpp"

namespace regtune {

// One job that a process was at. Times are seconds of the steady clock, which all processes share.
struct CompileSpan {
  int id = 0;
  pid_t process = -1;
  double given_s = 0;  // to the worker, which may have been at another job
  double begun_s = 0;
  double ended_s = 0;
  double collected_s = 0;  // its answer by the pool
  double cpu_s = 0;        // of the process, in between
};

double clock_seconds(std::chrono::steady_clock::time_point at);

class CompileUsage {
 public:
  // `reply`: what the process sends with each code. Collected now.
  void add_answer(const Message& reply, int id, std::chrono::steady_clock::time_point given);
  // Of a process that is about to be ended, or has died and is not reaped yet.
  void add_end(pid_t process);
  // The same of the job that it was at.
  void add_cut_short(pid_t process, int id, std::chrono::steady_clock::time_point given,
                     std::chrono::steady_clock::time_point begun);

  // For jobs that were answered.
  double answered_cpu_s() const { return answered_cpu_s_; }
  // Each process's peak, added up; what a worker has from the server counts there.
  double peak_mib() const { return peak_mib_; }
  // Of processes that were ended: all that they used, as the kernel counts it.
  double ended_cpu_s() const { return ended_cpu_s_; }
  // Of answered jobs, in the order of the answers.
  const std::vector<CompileSpan>& spans() const { return spans_; }
  // Of jobs that were never answered: ended_s is when their process was ended or found dead; cpu_s is not known, and 0.
  const std::vector<CompileSpan>& cut_short() const { return cut_short_; }

 private:
  double answered_cpu_s_ = 0;
  double peak_mib_ = 0;
  double ended_cpu_s_ = 0;
  std::vector<CompileSpan> spans_;
  std::vector<CompileSpan> cut_short_;
  std::map<pid_t, double> peak_mib_of_;
};

}  // namespace regtune
