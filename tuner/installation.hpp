#pragma once
// What of CUDA, and of what stands beside it, is on this machine: each part's version and file, or why it is not to be
// had. Each is looked at in a process of its own, so that a library which crashes or hangs costs its own line. Judges
// nothing: what a missing part means is the doctor's to say (doctor_command.hpp).
#include <string>
#include <vector>

namespace regtune {

struct InstalledPart {
  std::string name;     // "NVRTC"
  std::string version;  // "13.0.88"; empty: not known
  std::string file;
  std::string missing;  // why it is not to be had, and where it was looked for; empty: it is there
};

InstalledPart installed_driver();  // libcuda; its version is the newest CUDA that it serves, "13.0"
InstalledPart installed_nvml();    // its version is the driver package's, "580.159.04"
InstalledPart installed_nvrtc();
InstalledPart installed_nvjitlink();
InstalledPart installed_cupti();
InstalledPart installed_nvcc();
InstalledPart installed_ptxas();
InstalledPart installed_cuobjdump();
InstalledPart installed_ncu();

struct VisibleGpu {
  int ordinal = 0;
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "sm_90"
  std::string pci_bus_id;
};
struct VisibleGpus {
  std::vector<VisibleGpu> gpus;
  std::string why_none;
};
VisibleGpus visible_gpus();

// What --version prints.
std::string versions_text();

}  // namespace regtune
