#include "nvml.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include "dynamic_library.hpp"

namespace regtune {
namespace {

// nvml.h does not come with every toolkit, so the few declarations that are used stand here (NVML API
// reference: nvmlInit_v2, nvmlSystemGetDriverVersion, nvmlDeviceGetComputeRunningProcesses_v3,
// nvmlDeviceGetUtilizationRates, nvmlDeviceGetClockInfo, nvmlDeviceGetCurrentClocksEventReasons, which drivers before
// 535 call nvmlDeviceGetCurrentClocksThrottleReasons).
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
using ClockInfo = int(Device, int, unsigned*);
using ClockReasons = int(Device, unsigned long long*);
constexpr int kSmClock = 1;  // NVML_CLOCK_SM

// nvmlClocksEventReasons: those under which a time is not the code's. The others (0x1 idle, 0x2 application clocks,
// 0x10 synchronized boost, 0x100 display clocks) are how the card is set or used.
struct ClockReason {
  unsigned long long bit;
  const char* name;
};
constexpr std::array<ClockReason, 5> kThrottles{{{0x4, "power cap"},
                                                 {0x8, "hardware slowdown"},
                                                 {0x20, "heat"},
                                                 {0x40, "heat, by the hardware"},
                                                 {0x80, "power brake"}}};

// NVML ready for use, and the GPU in its terms; `device` stays null when either is not to be had.
struct Nvml {
  explicit Nvml(const std::string& pci_bus_id) {
    std::vector<std::string> failures;
    library = DynamicLibrary::open({"libnvidia-ml.so.1"}, failures);
    if (!library) return;
    const auto init = library->find<Init>("nvmlInit_v2");
    ready = init && init() == 0;
    if (!ready) return;
    const auto handle = library->find<HandleByBusId>("nvmlDeviceGetHandleByPciBusId_v2");
    if (!handle || handle(pci_bus_id.c_str(), &device) != 0) device = nullptr;
  }
  std::optional<DynamicLibrary> library;
  bool ready = false;
  Device device = nullptr;
};

}  // namespace

NvmlFacts nvml_facts(const std::string& pci_bus_id) {
  NvmlFacts facts;
  const Nvml nvml(pci_bus_id);
  if (!nvml.ready) return facts;
  const DynamicLibrary* library = &*nvml.library;
  std::array<char, 96> version{};
  if (const auto call = library->find<DriverVersion>("nvmlSystemGetDriverVersion");
      call && call(version.data(), static_cast<unsigned>(version.size())) == 0)
    facts.driver_version = version.data();

  if (!nvml.device) return facts;
  const Device device = nvml.device;
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

struct NvmlClocks::Session {
  explicit Session(const std::string& pci_bus_id) : nvml(pci_bus_id) {
    if (!nvml.device) return;
    clock = nvml.library->find<ClockInfo>("nvmlDeviceGetClockInfo");
    reasons = nvml.library->find<ClockReasons>("nvmlDeviceGetCurrentClocksEventReasons");
    if (!reasons) reasons = nvml.library->find<ClockReasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  Nvml nvml;
  ClockInfo* clock = nullptr;
  ClockReasons* reasons = nullptr;
};

NvmlClocks::NvmlClocks(const std::string& pci_bus_id) : session_(std::make_unique<Session>(pci_bus_id)) {}
NvmlClocks::~NvmlClocks() = default;

std::optional<ClockReading> NvmlClocks::read() const {
  if (!session_->clock) return {};
  const auto began = std::chrono::steady_clock::now();
  unsigned mhz = 0;
  if (session_->clock(session_->nvml.device, kSmClock, &mhz) != 0) return {};
  ClockReading reading{static_cast<int>(mhz)};
  unsigned long long bits = 0;
  if (session_->reasons && session_->reasons(session_->nvml.device, &bits) == 0)
    for (const ClockReason& reason : kThrottles)
      if ((bits & reason.bit) != 0) reading.throttled_by.emplace_back(reason.name);
  reading.cost_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count();
  return reading;
}

}  // namespace regtune
