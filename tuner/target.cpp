#include "target.hpp"

#include <fmt/format.h>

#include <utility>

#include "study_scope.hpp"

namespace regtune {

Target choose_target(const std::optional<std::string>& architecture, Device& device, const CompilerIdentity& compiler) {
  std::optional<GpuState> gpu = device.state();
  Target target;
  if (architecture)
    target.architecture = *architecture;
  else
    target.architecture =
        gpu ? fmt::format("sm_{}{}", gpu->id.compute_major, gpu->id.compute_minor) : kDefaultArchitecture;
  target.limits = limits_of_target(target.architecture, compiler);
  const bool can_be_timed = gpu && target.limits.compute_major == gpu->id.compute_major &&
                            target.limits.compute_minor == gpu->id.compute_minor;
  if (can_be_timed) target.limits = gpu->limits;
  if (can_be_timed) target.gpu = std::move(gpu);
  return target;
}

void tell_about_gpu(const Target& target, const Device& device, Progress& progress) {
  if (!target.gpu) {
    progress.note("regtune: nothing will be timed: " +
                  (device.why_not().empty() ? "--arch is not the GPU's" : device.why_not()));
    return;
  }
  for (const std::string& user : target.gpu->other_users)
    progress.note("regtune: the GPU is not idle, which makes times uncertain; end what uses it, or tune again later: " +
                  user);
}

double peak_copy_gb_per_s(const GpuState& gpu, Store& store, Device& device) {
  if (const std::optional<double> known = store.copy_bandwidth(gpu)) return *known;
  const double measured = device.copy_bandwidth();
  if (measured > 0) store.keep_copy_bandwidth(gpu, measured);
  return measured;
}

}  // namespace regtune
