#pragma once
// The GPU as the supervisor sees it: a child process that owns the context, replaced whenever a candidate
// faults, hangs or kills it. Implements the seam that the race works against.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "compile.hpp"
#include "worker.hpp"
#include "workload.hpp"

namespace regtune {

// The request that compiles regtune's own device code for the element types of `plan`, and the types in the
// order of its name expressions (three for each: fill, compare, show).
NvrtcRequest device_code_request(const WorkloadPlan& plan, const std::string& architecture,
                                 const CompilerIdentity& compiler);

// Throws Error(internal) when it does not compile.
CompiledCode compile_device_code(CompilePool& pool, const WorkloadPlan& plan, const std::string& architecture);

class Device final : public Bench {
 public:
  // Starts the child for GPU `ordinal`; the driver comes up there while the caller goes on. `profiler`: the words of a
  // command under which the child is this program started anew (serve_profiled).
  explicit Device(int ordinal, std::vector<std::string> profiler = {});
  // The GPU as it is in an application that serves us (adopted_worker.hpp) over `application`, which outlives this.
  // There a fault or a hang cannot be made good: Error(gpu_failed).
  explicit Device(Channel& application);

  // Waits for the driver. Empty when there is no GPU; why_not() then says why. Throws Error(usage) when
  // there are GPUs but not that one.
  const std::optional<GpuState>& state();
  const std::string& why_not() const { return why_not_; }

  // Allocates and fills the buffers. `device_code` was compiled from device_code_request. Throws
  // Error(buffer_too_large). `never_restore`: a timed launch finds what the one before left.
  void prepare(const WorkloadPlan& plan, const CompiledCode& device_code, double timeout_ms, bool never_restore);

  double set_reference(const Candidate& reference) override;
  ReferenceRun warm_up(double ms) override;
  Shot check(const Candidate& candidate) override;
  Shot sample(const Candidate& candidate) override;
  Shot sample_cold(const Candidate& candidate) override;
  std::vector<ClockReading> take_clock_readings() override { return std::exchange(clock_readings_, {}); }

  // One launch from the initial data, compared with nothing. Needs no reference.
  Shot launch_once(const Candidate& candidate);

  // Ends the child, which may first do what is left to do, for `limit_ms` at most; nothing can be asked of it then.
  void finish(double limit_ms);

  // Gigabytes per second that a copy on the device reads and writes; 0 when it cannot be measured. After prepare().
  double copy_bandwidth();

  // The variables of its module that the reference writes, by name; false: another value each time, and so compared
  // with nothing.
  const std::map<std::string, bool>& written_variables() const { return written_variables_; }

  // How often the child was replaced.
  int restarts() const { return restarts_; }

 private:
  Channel& channel() { return application_ ? *application_ : worker_->channel(); }
  std::string how_it_ended();
  double moving_ms() const { return captured_ms_ + variables_ms_; }
  Message ask(const Message& request, double limit_ms);
  void start();
  Message ask_for_plan();
  void restart(const std::string& why);
  std::optional<Shot> load(const Candidate& candidate);
  Shot launch(const char* what, const Candidate& candidate);
  double run_reference();
  ReferenceRun run_warm_up(double ms);
  Message ask_of_reference(Message request);

  int ordinal_;
  std::vector<std::string> profiler_;
  std::unique_ptr<Worker> worker_;
  Channel* application_ = nullptr;  // in place of the child
  bool asked_ = false;
  std::optional<GpuState> state_;
  std::string why_not_;
  Message plan_request_;
  int captured_file_ = -1;      // of a captured launch; -1: none
  bool in_new_layout_ = false;  // the child is a program that was started anew
  double timeout_ms_ = 10000;
  double captured_ms_ = 0;   // what moving all of a captured launch's memory to or from the host may take
  double variables_ms_ = 0;  // likewise, all variables of a module
  std::optional<Candidate> reference_;
  double warm_up_ms_ = 0;                      // how long the reference was launched for; 0: not yet
  std::optional<ReferenceRun> reference_run_;  // the first warm-up; later ones go on as it did
  std::map<int, bool> loaded_;
  std::map<std::string, bool> written_variables_;
  int restarts_ = 0;
  std::vector<ClockReading> clock_readings_;
};

// The child that a profiler starts: `arguments` of this program, as Device gave them. Empty: they are somebody else's.
std::optional<int> serve_profiled(const std::vector<std::string>& arguments);

}  // namespace regtune
