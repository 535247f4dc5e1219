#pragma once
// How codes are launched and timed on the GPU: the reference run, which decides how samples are taken, the check of a
// candidate, and its samples, warm or cold. Lives in the child process that owns the GPU; answers the requests of
// device.cpp. What a code does wrong is in the reply; Error is thrown for what no candidate is to blame for.
#include <map>
#include <optional>
#include <string>

#include "bench.hpp"
#include "driver.hpp"
#include "launch_data.hpp"
#include "module_variables.hpp"
#include "nvml.hpp"
#include "worker.hpp"
#include "workload.hpp"

namespace regtune {

class DeviceSampling {
 public:
  // All outlive it. `l2_bytes`: of the GPU's L2 cache.
  DeviceSampling(const Driver& driver, LaunchData& data, const NvmlClocks& clocks, std::int64_t l2_bytes)
      : driver_(driver), data_(data), variables_(driver), clocks_(clocks), l2_bytes_(l2_bytes) {}

  // After the buffers were made: takes what is left of the memory for flushing L2. Without it there are no cold
  // samples.
  void prepare_flushing();

  // From now on all blocks of a launch are resident together. `cuts_grid`: of each code's grid, no more than fit on the
  // GPU; else a code of which not all fit cannot be launched.
  void launch_cooperatively(bool cuts_grid) {
    cooperative_ = true;
    cuts_grid_ = cuts_grid;
  }
  // From now on launches are in clusters. Throws Error(gpu_failed) where the GPU or its driver has none.
  void launch_in_clusters(const ClusterPlan& cluster);
  // From now on a timed launch finds what the one before left.
  void never_restore() { never_restore_ = true; }

  Message load(const Message& request);
  Message unload(int id);
  Message reference(int id);
  // Of the reference. The request holds what an earlier warm-up found, if there was one: samples go on as before.
  Message warm_up(const Message& request);
  Message check(int id);
  Message launch_once(int id);
  Message sample(int id);
  Message sample_cold(int id);
  // Bytes read and written per second by the fastest of a few copies on the device.
  Message copy_bandwidth() const;

  // Unloads every code and frees what was allocated here: for a context that goes on without us.
  void release();

 private:
  struct Loaded {
    LoadedKernel kernel;
    LaunchShape shape;
    LaunchGraph graph;
    ModuleVariables::OfCode variables;
  };

  // The time of one launch, or the reply that says why there is none.
  struct Timed {
    double ms = 0;
    std::optional<Message> failure;
  };
  std::optional<Message> why_no_cluster_fits(const LoadedKernel& loaded, const LaunchShape& shape) const;
  std::optional<Message> cut_to_resident(const LoadedKernel& loaded, LaunchShape& shape) const;
  CudaStatus launch(const Loaded& candidate) const;
  void restore(Loaded& candidate);
  Timed time_launches(const Loaded& candidate, int launches);
  Timed time_graph(Loaded& candidate);
  Timed time_warm(Loaded& candidate);
  Timed stop_and_read(int launches);
  std::optional<Message> make_graph(Loaded& candidate);
  std::optional<Message> run_first(Loaded& candidate);
  std::optional<Message> launch_for(double wanted_ms, Loaded& candidate, double& ms);
  std::optional<Message> choose_way(Loaded& candidate, double& ms);
  void measure_timer(Loaded& candidate);
  void flush() const;
  void read_clocks();
  Message reply_with_time(const Timed& timed);

  const Driver& driver_;
  LaunchData& data_;
  ModuleVariables variables_;
  const NvmlClocks& clocks_;
  std::int64_t l2_bytes_;
  DeviceAddress flushed_ = 0;  // twice the size of L2; 0: no memory for it
  std::map<int, Loaded> candidates_;
  bool cooperative_ = false;
  bool cuts_grid_ = true;
  std::optional<ClusterPlan> cluster_;
  bool never_restore_ = false;
  bool restored_ = false;
  SampleMode mode_ = SampleMode::one_launch;
  int launches_ = 1;
  double gpu_ms_ = 0;  // of all launches that were timed
  double launch_overhead_ms_ = 0;
  double timer_resolution_ms_ = 0;
  Deadline clocks_due_;
  std::optional<ClockReading> reading_;  // taken with the last sample
};

}  // namespace regtune
