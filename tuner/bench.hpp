#pragma once
// The seam between the race and the GPU: candidates go in, times come out. device.hpp implements it with a
// real GPU in a child process; the tests implement it with recorded landscapes and planted faults.
#include <span>
#include <string>
#include <variant>

#include "record.hpp"

namespace regtune {

// One distinct code with one launch shape. Its id is that of the first variant that gave it.
struct Candidate {
  int id = 0;
  std::string kernel;  // mangled
  std::string cubin;
  LaunchShape shape;
};

// What one timed launch came to: milliseconds per launch, or why there is no time.
using Shot = std::variant<double, NotLaunchable, Faulted, TimedOut, WrongResult>;

struct ReferenceRun {
  double ms = 0;                // one warm launch
  int launches_per_sample = 1;  // more than one for a kernel too short to time alone
  bool restored = false;        // it changes what it reads: outputs are put back before each timed launch
};

class Bench {
 public:
  virtual ~Bench() = default;

  // Runs the reference, keeps its outputs for comparison, warms the GPU up, and decides how samples are
  // taken. Throws Error(gpu_failed) when the reference itself cannot run, Error(bad_description) when its
  // outputs differ from run to run and no tolerance is given.
  virtual ReferenceRun set_reference(const Candidate& reference) = 0;

  // One launch from the initial data; its outputs are compared with the reference's.
  virtual Shot check(const Candidate& candidate) = 0;

  // One sample. The candidate was checked before.
  virtual Shot sample(const Candidate& candidate) = 0;
};

}  // namespace regtune
