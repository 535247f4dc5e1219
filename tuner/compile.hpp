#pragma once
// Compiles one kernel under many register budgets, in child processes side by side. Results come as they
// are ready, in any order. A compiler that crashes or hangs costs the variant it was working on: that child
// is replaced and the rest goes on.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "source.hpp"
#include "worker.hpp"

namespace regtune {

struct CompileJob {
  int id = 0;  // the caller's
  NvrtcRequest request;
};

struct CompiledCode {
  int id = 0;
  bool compiled = false;
  std::string cubin;
  std::string log;      // the compiler's messages, ptxas's report among them
  std::string failure;  // why there is no cubin: the compiler's lines, or how its process died
  std::vector<std::string> lowered_names;
  double seconds = 0;
};

class CompilePool {
 public:
  // `processes` children at most; one compilation may take `limit_s` seconds.
  CompilePool(int processes, double limit_s) : processes_(processes), limit_s_(limit_s) {}

  // Asked in a child, so that the caller never loads a compiler. Throws Error(no_toolkit) with where NVRTC
  // was looked for.
  static CompilerIdentity identify();

  void submit(CompileJob job) { waiting_.push_back(std::move(job)); }
  std::size_t unfinished() const;  // submitted and not yet returned
  // The next result, waiting until `deadline`; empty when none came in time or nothing is left to wait for.
  std::optional<CompiledCode> next(Deadline deadline = {});

 private:
  struct Slot {
    Worker worker;
    std::optional<CompileJob> job;
    std::chrono::steady_clock::time_point started;
  };

  void feed();
  CompiledCode collect(Slot& slot);
  CompiledCode lost(Slot& slot, const std::string& how);

  int processes_;
  double limit_s_;
  std::deque<CompileJob> waiting_;
  std::vector<Slot> slots_;
};

}  // namespace regtune
