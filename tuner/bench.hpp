#pragma once
// The seam between the race and the GPU: candidates go in, times come out. device.hpp implements it with a
// real GPU in a child process; the tests implement it with recorded landscapes and planted faults.
#include <span>
#include <string>
#include <variant>
#include <vector>

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

// How samples are taken, found out on the reference.
struct ReferenceRun {
  double ms = 0;                // one warm launch
  int launches_per_sample = 1;  // of a warm sample; more than one for a kernel too short to time alone
  bool restored = false;        // it changes what it reads: outputs are put back before each timed launch
  SampleMode sample_mode = SampleMode::one_launch;  // of a warm sample
  bool can_flush = true;                            // cold samples can be taken
  // Of a sample of one launch; 0: not measured (MeasureSettings).
  double launch_overhead_ms = 0;
  double timer_resolution_ms = 0;
  double gpu_ms = 0;  // that the launches of the warm-up took
};

// The SM clock while a sample was taken, and what held it down.
struct ClockReading {
  int sm_mhz = 0;
  std::vector<std::string> throttled_by = {};  // "power cap"; empty: nothing
  double cost_us = 0;                          // of reading it
};

// Clocks of an idle GPU need some work to rise.
inline constexpr double kWarmUpMs = 60;

class Bench {
 public:
  virtual ~Bench() = default;

  // Runs the reference and keeps its outputs for comparison. Returns the milliseconds that its launches took, on a
  // GPU that may be idle: they are compared with nothing. Throws Error(gpu_failed) when the reference itself cannot
  // run, Error(bad_description) when its outputs differ from run to run and no tolerance is given.
  virtual double set_reference(const Candidate& reference) = 0;

  // Launches the reference for so long, once at the least, and decides how samples are taken. Comes before whatever
  // is compared by time. Throws Error(gpu_failed).
  virtual ReferenceRun warm_up(double ms) = 0;

  // One launch from the initial data; its outputs are compared with the reference's.
  virtual Shot check(const Candidate& candidate) = 0;

  // One sample. The candidate was checked before.
  virtual Shot sample(const Candidate& candidate) = 0;

  // One sample of one launch with nothing of its data in the L2 cache. Requires: ReferenceRun::can_flush.
  virtual Shot sample_cold(const Candidate& candidate) = 0;

  // What was read of the clocks since the last call; nothing where they cannot be read.
  virtual std::vector<ClockReading> take_clock_readings() { return {}; }
};

}  // namespace regtune
