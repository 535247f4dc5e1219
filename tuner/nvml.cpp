#include "nvml.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "dynamic_library.hpp"

namespace regtune {
namespace {

// nvml.h does not come with every toolkit, so the few declarations that are used stand here (NVML API
// reference: nvmlInit_v2, nvmlSystemGetDriverVersion, nvmlDeviceGetComputeRunningProcesses_v3,
// nvmlDeviceGetUtilizationRates).
using Device = void*;
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
struct Utilization {
  unsigned gpu_percent;
  unsigned memory_percent;
};
// NVML's figure covers up to a second that is past: a few per cent may be our own last run.
constexpr unsigned kBusyPercent = 10;
using Init = int();
using DriverVersion = int(char*, unsigned);
using HandleByBusId = int(const char*, Device*);
using RunningProcesses = int(Device, unsigned*, ProcessInfo*);
using UtilizationRates = int(Device, Utilization*);

}  // namespace

NvmlFacts nvml_facts(const std::string& pci_bus_id) {
  NvmlFacts facts;
  std::vector<std::string> failures;
  const auto library = DynamicLibrary::open({"libnvidia-ml.so.1"}, failures);
  if (!library) return facts;
  Init* const init = library->find<Init>("nvmlInit_v2");
  if (!init || init() != 0) return facts;

  std::array<char, 96> version{};
  if (const auto call = library->find<DriverVersion>("nvmlSystemGetDriverVersion");
      call && call(version.data(), static_cast<unsigned>(version.size())) == 0)
    facts.driver_version = version.data();

  Device device = nullptr;
  const auto handle = library->find<HandleByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
  if (!handle || handle(pci_bus_id.c_str(), &device) != 0) return facts;
  std::array<ProcessInfo, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  if (const auto call = library->find<RunningProcesses>("nvmlDeviceGetComputeRunningProcesses_v3");
      call && call(device, &count, processes.data()) == 0) {
    for (unsigned i = 0; i < count; ++i)
      if (processes[i].pid != static_cast<unsigned>(getpid()))
        facts.other_users.push_back(fmt::format("process {}", processes[i].pid));
  }
  Utilization use{};
  if (const auto call = library->find<UtilizationRates>("nvmlDeviceGetUtilizationRates");
      call && call(device, &use) == 0 && use.gpu_percent >= kBusyPercent && facts.other_users.empty())
    facts.other_users.push_back(fmt::format("the GPU was {} % busy before anything was launched", use.gpu_percent));
  return facts;
}

}  // namespace regtune
