#pragma once
// Compiles one kernel under many register budgets, in child processes side by side. Results come as they are
// ready, in any order. A compiler that crashes or hangs costs the variant it was working on: that child is
// replaced and the rest goes on. All children are forked from one process, the compile server, which has run
// the front end before: its LTO-IR and its precompiled headers are theirs.
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile_request.hpp"
#include "compile_usage.hpp"
#include "fork_server.hpp"
#include "scratch_folder.hpp"
#include "source.hpp"

namespace regtune {

// Two ways to machine code. Plain: the request's compiler makes it. Linked: it makes LTO-IR, once for each distinct
// request, and nvJitLink makes machine code of that.
// For whom a job is done. Each takes its own codes, and what one gives up is nothing to the other.
enum class Asker { sweep, nvcc_builds };

struct CompileJob {
  int id = 0;  // the asker's
  CompilerRequest request;
  std::optional<std::vector<std::string>> link_options;  // linked; the request's output is then LTO-IR
  bool in_server = false;      // by the server itself: slower to come, but with its precompiled headers
  bool others_link_it = true;  // the same LTO-IR serves other jobs: kept
  Asker asker = Asker::sweep;
};

struct CompiledCode {
  int id = 0;
  bool compiled = false;
  std::string cubin;
  std::string log;      // the compiler's messages, ptxas's report among them
  std::string failure;  // why there is no cubin: the compiler's lines, or how its process died
  std::vector<std::string> lowered_names;
  double seconds = 0;
  double link_seconds = 0;  // nvJitLink's part of them
};

// The CPU time of the pool's processes, as the kernel counts it: forks, messages and what was compiled in vain
// included. Left out is what a server used that died, and what nvcc's own processes use.
struct CompileCpu {
  double server_s = 0;
  double workers_s = 0;  // all that there ever were
};

class CompilePool {
 public:
  // `processes` children at most; one compilation may take `limit_s` seconds. `nvcc_file`: which nvcc, where one is
  // wanted; empty: the first that is found.
  CompilePool(int processes, double limit_s, std::string nvcc_file = "");
  // A pool without compilers: it is told who compiled elsewhere, and has what was made there of these sources (by
  // made_key). Any other job fails, and says so. Loads nothing.
  CompilePool(CompilerIdentity compiler, std::map<std::string, CompiledCode> made);
  static std::string made_key(const NvrtcRequest& request);

  // NVRTC. Throws Error(no_toolkit) with where it was looked for.
  const CompilerIdentity& identity();
  // Begins to look for nvcc, so that nvcc() need not wait for it while the server has a job. Requires: it has none now.
  void look_for_nvcc();
  // nullptr where there is no nvcc; why_no_nvcc() then says where it was looked for. Looked for at the first call, if
  // that was not begun.
  const CompilerIdentity* nvcc();
  const std::string& why_no_nvcc() const { return why_no_nvcc_; }
  // Either. Throws Error(no_toolkit).
  const CompilerIdentity& identity(FrontEnd front_end);

  // Runs a job in the server and waits: what it makes and precompiles is there for workers forked later. Requires:
  // no job submitted for the server is unfinished.
  CompiledCode prepare(CompileJob job);

  void submit(CompileJob job);
  // Before those that wait. Not for the server.
  void submit_next(CompileJob job);
  // Gives the workers what they can take. next() does so too; what was submitted begins sooner.
  void feed();
  int processes() const { return processes_; }
  // Those that are not at another asker's jobs.
  int processes_for(Asker asker) const;
  // Then no worker can be forked in the place of one that ends.
  bool server_is_busy() const { return !server_slot_.jobs.empty() || !waiting_for_server_.empty(); }
  std::size_t unfinished(Asker asker = Asker::sweep) const;  // submitted and not yet returned
  // The next result, waiting until `deadline`; empty when none came in time or nothing is left to wait for.
  std::optional<CompiledCode> next(Deadline deadline = {}, Asker asker = Asker::sweep);

  // Forgets what the sweep has asked for and is not compiled yet; jobs under way end with their processes, and what
  // these had been given for others goes to other processes.
  void abandon();
  // The same of one job of the sweep's that is not the server's.
  void drop(int id);

  const CompileUsage& usage() const { return usage_; }
  CompileCpu cpu() const;
  pid_t server() const { return server_.pid(); }

  // Where headers are precompiled for one kind of output: NVRTC does not take those of the other. Gone with the pool;
  // empty where no folder can be made.
  std::string header_folder(NvrtcOutput output) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct GivenJob {
    CompileJob job;
    Clock::time_point given;
  };
  // A worker and what it was given: the first job is under way, the others wait in its channel, so that it does
  // not idle while the caller is busy elsewhere.
  struct Slot {
    ForkedWorker worker;  // without a process: the server's slot
    std::deque<GivenJob> jobs;
    Clock::time_point started;  // the first job
  };

  CompiledCode made_elsewhere(const CompileJob& job) const;
  CompileJob with_limits(CompileJob job) const;
  double limit_s_of(const CompileJob& job) const;
  void fork_workers();
  void load_linker_in_server();
  std::size_t jobs_ahead() const;
  void give(Slot& slot, CompileJob job);
  void give_first(Slot& slot);  // of those that wait
  std::optional<CompiledCode> wait(Deadline deadline, Asker asker);
  void answer(Asker asker, CompiledCode code);
  std::optional<CompiledCode> take_answered(Asker asker);
  void collect(const std::vector<Slot*>& ready);
  Channel& channel_of(Slot& slot);
  void give_up(const std::function<bool(const CompileJob&)>& is_given_up);
  void account_end(const Slot& slot);
  void lose_first(Slot& slot, const std::string& how);

  int processes_;
  double limit_s_;
  std::string nvcc_file_;
  ScratchFolder scratch_;
  ForkServer server_;
  std::optional<CompilerIdentity> identity_;
  std::optional<std::map<std::string, CompiledCode>> made_;  // there are no compilers
  std::map<Asker, std::deque<CompiledCode>> answered_;       // not returned yet
  bool nvcc_looked_for_ = false;
  std::optional<ForkedWorker> nvcc_search_;  // a process that looks for it
  std::optional<CompilerIdentity> nvcc_;
  std::string why_no_nvcc_;
  bool server_has_linker_ = false;
  std::deque<CompileJob> waiting_;
  std::deque<CompileJob> waiting_for_server_;
  std::vector<Slot> slots_;
  Slot server_slot_;
  CompileUsage usage_;
  std::optional<Clock::time_point> left_;  // when the caller had its last answer
  double absence_s_ = 0;                   // how long the caller stays away between answers
};

}  // namespace regtune
