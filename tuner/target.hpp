#pragma once
// What a tuning compiles for, and whether it can be timed: the GPU of this machine, or an architecture that was named,
// or neither, which leaves a static analysis. Compiles and times nothing.
#include <optional>
#include <string>

#include "device.hpp"
#include "gpu_limits.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

struct Target {
  std::string architecture;     // "sm_90"
  GpuLimits limits;             // the GPU's own, as its driver states them, where it is timed
  std::optional<GpuState> gpu;  // empty: nothing will be timed
};

// `architecture`: what --arch names; empty: the GPU's. Waits for the driver. Throws Error(unknown_architecture).
Target choose_target(const std::optional<std::string>& architecture, Device& device, const CompilerIdentity& compiler);

// That nothing will be timed, and why; or who else is on the GPU.
void tell_about_gpu(const Target& target, const Device& device, Progress& progress);

// What this GPU's memory gives a copy, in GB/s: measured once for each model and driver, and kept. `device` is
// prepared.
double peak_copy_gb_per_s(const GpuState& gpu, Store& store, Device& device);

}  // namespace regtune
