#include "doctor_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cache_path.hpp"
#include "cli_options.hpp"
#include "config_file.hpp"
#include "exit_codes.hpp"
#include "file_system.hpp"
#include "installation.hpp"
#include "nvjitlink.hpp"
#include "regtune/error.hpp"
#include "schema.hpp"
#include "store.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDriverParameters = "/proc/driver/nvidia/params";

std::string exported(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value ? fmt::format(" ({}={})", variable, value) : "";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// A library or program that is there, or how to get it. `variable`: the one that names its file.
PartHealth finding_of(const InstalledPart& part, Health if_missing, const std::string& cure, const char* variable) {
  PartHealth finding{part.name, Health::good, "", ""};
  if (part.missing.empty()) {
    finding.text = fmt::format("{}, {}{}", part.version, part.file, exported(variable));
    return finding;
  }
  finding.health = if_missing;
  finding.text = fmt::format("not found{}: {}", exported(variable), first_line(part.missing));
  finding.cure = cure;
  return finding;
}

PartHealth driver_finding() {
  const InstalledPart driver = installed_driver();
  const InstalledPart nvml = installed_nvml();
  PartHealth finding = finding_of(
      driver, Health::bad,
      "apt install nvidia-driver (Debian) or cuda-drivers (NVIDIA's repository); in a container start it with --gpus "
      "all",
      "REGTUNE_CUDA");
  if (driver.missing.empty())
    finding.text = fmt::format("{}serves CUDA {}, {}{}", nvml.version.empty() ? "" : nvml.version + ", ",
                               driver.version, driver.file, exported("REGTUNE_CUDA"));
  return finding;
}

PartHealth nvml_finding() {
  const InstalledPart nvml = installed_nvml();
  return finding_of(nvml, Health::absent, "it comes with the driver; without it clocks and other users go unseen", "");
}

std::vector<PartHealth> gpu_findings() {
  const VisibleGpus visible = visible_gpus();
  std::vector<PartHealth> findings;
  for (const VisibleGpu& gpu : visible.gpus)
    findings.push_back({fmt::format("GPU {}", gpu.ordinal), Health::good,
                        fmt::format("{}, {}, PCI {}", gpu.name, gpu.architecture, gpu.pci_bus_id), ""});
  if (!findings.empty()) return findings;
  std::string cure =
      "compile and analyse here (regtune analyze), or carry a bundle to a machine with one (regtune bundle)";
  std::error_code error;
  if (std::getenv("CUDA_VISIBLE_DEVICES"))
    cure = "CUDA_VISIBLE_DEVICES is set: name a GPU there, or unset it";
  else if (fs::exists("/dev/nvidiactl", error) && access("/dev/nvidiactl", R_OK | W_OK) != 0)
    cure = "you may not use /dev/nvidia*: usermod -aG video $USER (or render), and log in again";
  return {{"GPU", Health::bad, first_line(visible.why_none) + exported("CUDA_VISIBLE_DEVICES"), cure}};
}

PartHealth nvrtc_finding(const InstalledPart& nvrtc) {
  return finding_of(
      nvrtc, Health::bad,
      "pip install nvidia-cuda-nvrtc nvidia-nvjitlink, or apt install cuda-nvrtc-13-0 (NVIDIA's repository)",
      "REGTUNE_NVRTC");
}

// The numbers of "13.0.88".
std::pair<int, int> numbers_of(const std::string& version) {
  int major = 0;
  int minor = 0;
  std::sscanf(version.c_str(), "%d.%d", &major, &minor);
  return {major, minor};
}

PartHealth nvjitlink_finding(const InstalledPart& nvrtc) {
  const InstalledPart linker = installed_nvjitlink();
  const std::string cure = "pip install nvidia-nvjitlink, or apt install libnvjitlink-13-0 (NVIDIA's repository)";
  PartHealth finding =
      finding_of(linker, Health::absent, cure + "; without it every cap runs the whole compiler", "REGTUNE_NVJITLINK");
  if (!linker.missing.empty() || !nvrtc.missing.empty()) return finding;
  const auto [major, minor] = numbers_of(linker.version);
  const auto [its_major, its_minor] = numbers_of(nvrtc.version);
  if (const auto mismatch = NvJitLink::mismatch(major, minor, its_major, its_minor))
    finding = {linker.name, Health::absent, finding.text + ": " + *mismatch, cure};
  return finding;
}

PartHealth headers_finding(const InstalledPart& nvrtc) {
  const std::vector<fs::path> folders = nvrtc.missing.empty() ? include_folders(nvrtc.file) : std::vector<fs::path>{};
  if (!folders.empty()) return {"headers", Health::good, folders.front().string(), ""};
  return {"headers", Health::absent, "no cuda_fp16.h: sources that include the toolkit's headers do not compile",
          "apt install cuda-cudart-dev-13-0 cuda-cccl-13-0 (NVIDIA's repository), or set CUDA_HOME"};
}

std::vector<PartHealth> tool_findings() {
  return {
      finding_of(installed_nvcc(), Health::absent,
                 "apt install cuda-nvcc-13-0 (NVIDIA's repository); needed for --compiler nvcc, --confirm nvcc and "
                 "what NVRTC does not take",
                 "REGTUNE_NVCC"),
      finding_of(
          installed_ptxas(), Health::absent,
          "apt install cuda-nvcc-13-0 (NVIDIA's repository), or pip install nvidia-cuda-nvcc; needed for PTX, as "
          "regtune run takes it from a program without --source",
          "REGTUNE_PTXAS"),
      finding_of(installed_cuobjdump(), Health::absent,
                 "apt install cuda-cuobjdump-13-0 (NVIDIA's repository), or pip install nvidia-cuda-cuobjdump; needed "
                 "for PTX that is in a fat binary",
                 "REGTUNE_CUOBJDUMP"),
      finding_of(installed_ncu(), Health::absent,
                 "apt install cuda-nsight-compute-13-0 (NVIDIA's repository); needed for --counters", "REGTUNE_NCU"),
      finding_of(installed_cupti(), Health::absent,
                 "apt install cuda-cupti-13-0 (NVIDIA's repository); profilers need it, regtune itself does not",
                 "REGTUNE_CUPTI")};
}

PartHealth counters_finding() {
  std::ifstream in(kDriverParameters);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty())
    return {"counters", Health::absent, "not known who may read them: no driver is loaded", "see the driver above"};
  if (!counters_are_for_root(text) || geteuid() == 0) return {"counters", Health::good, "you may read them", ""};
  return {
      "counters", Health::absent, "only root may read the GPU's counters (RmProfilingAdminOnly: 1): no --counters",
      "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-counters.conf, "
      "and restart"};
}

// The folder that is there, of those that a file would stand in.
fs::path nearest_folder(const fs::path& file) {
  std::error_code error;
  fs::path folder = fs::absolute(file, error).parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

PartHealth cache_finding(const DoctorRequest& request, int& exit_code) {
  const auto bad = [&](ErrorKind kind, const std::string& text, const std::string& cure) {
    exit_code = static_cast<int>(kind);
    return PartHealth{"cache", Health::bad, text, cure};
  };
  const std::optional<fs::path> found = request.cache ? request.cache : find_default_cache_path();
  if (!found)
    return bad(ErrorKind::cache_unusable,
               "there is no place for it: REGTUNE_CACHE, XDG_CACHE_HOME and HOME are not set",
               "set one, or name a file with --cache FILE");
  const fs::path& file = *found;
  const bool shared = lies_on_network_file_system(file);
  const std::string where = shared ? ", on a file system that machines share" : "";
  std::error_code error;
  if (!fs::exists(file, error)) {
    if (access(nearest_folder(file).c_str(), W_OK) != 0)
      return bad(
          ErrorKind::cache_read_only,
          fmt::format("{} cannot be made: {} is not yours to write", file.string(), nearest_folder(file).string()),
          "name a file elsewhere with --cache FILE or REGTUNE_CACHE");
    return {"cache", Health::good, fmt::format("{}, to be made by the first run{}", file.string(), where), ""};
  }
  try {
    const std::optional<Store> store = Store::open_existing(file);
    const std::uintmax_t bytes = fs::file_size(file, error);
    const std::string text = fmt::format("{}, schema {}, {:.1f} MB{}", file.string(), schema_version,
                                         static_cast<double>(error ? 0 : bytes) / 1e6, where);
    if (access(file.c_str(), W_OK) != 0 || access(nearest_folder(file).c_str(), W_OK) != 0)
      return bad(ErrorKind::cache_read_only, text + ", not yours to write",
                 "name a file elsewhere with --cache FILE or REGTUNE_CACHE");
    return {"cache", Health::good, text, ""};
  } catch (const Error& failure) {
    return bad(failure.kind(), failure.what(), "regtune db verify says what is damaged");
  }
}

PartHealth config_finding(int& exit_code) {
  const std::optional<fs::path> file = config_path();
  std::error_code error;
  if (!file || !fs::exists(*file, error))
    return {"config", Health::good, file ? fmt::format("none ({})", file->string()) : "none", ""};
  try {
    require_known(read_config(*file));
    return {"config", Health::good, file->string(), ""};
  } catch (const Error& failure) {
    exit_code = static_cast<int>(failure.kind());
    return {"config", Health::bad, failure.what(), "mend that line; regtune help tune names the options"};
  }
}

bool is_bad(const std::vector<PartHealth>& findings, const std::string& name) {
  for (const PartHealth& finding : findings)
    if (finding.name == name && finding.health == Health::bad) return true;
  return false;
}

// What stands first in the way of a tuning.
void conclude(Diagnosis& diagnosis, int cache_code, int config_code) {
  const auto& findings = diagnosis.findings;
  if (is_bad(findings, "NVRTC")) {
    diagnosis.exit_code = static_cast<int>(ErrorKind::no_toolkit);
    diagnosis.verdict = "nothing can be compiled here: there is no NVRTC";
  } else if (config_code != 0) {
    diagnosis.exit_code = config_code;
    diagnosis.verdict = "the config file is not understood";
  } else if (cache_code != 0) {
    diagnosis.exit_code = cache_code;
    diagnosis.verdict = "what is tuned here cannot be stored: see the cache";
  } else if (is_bad(findings, "driver") || is_bad(findings, "GPU")) {
    diagnosis.exit_code = kExitNoGpu;
    diagnosis.verdict = "kernels can be compiled and analysed here, and nothing can be timed: there is no GPU";
  } else {
    diagnosis.verdict = "tuning can work here";
  }
}

const char* spell(Health health) {
  switch (health) {
    case Health::good:
      return "ok";
    case Health::absent:
      return "absent";
    case Health::bad:
      return "PROBLEM";
  }
  return "";
}

}  // namespace

bool counters_are_for_root(std::string_view driver_parameters) {
  return driver_parameters.find("RmProfilingAdminOnly: 1") != std::string_view::npos;
}

Diagnosis examine(const DoctorRequest& request) {
  Diagnosis diagnosis;
  const auto add = [&](const std::vector<PartHealth>& found) {
    diagnosis.findings.insert(diagnosis.findings.end(), found.begin(), found.end());
  };
  const InstalledPart nvrtc = installed_nvrtc();
  add({driver_finding()});
  add(gpu_findings());
  add({nvml_finding(), nvrtc_finding(nvrtc), nvjitlink_finding(nvrtc), headers_finding(nvrtc)});
  add(tool_findings());
  add({counters_finding()});
  int cache_code = 0;
  int config_code = 0;
  add({cache_finding(request, cache_code), config_finding(config_code)});
  conclude(diagnosis, cache_code, config_code);
  return diagnosis;
}

std::string doctor_text(const Diagnosis& diagnosis) {
  std::string text = fmt::format("regtune {}\n", REGTUNE_VERSION);
  for (const PartHealth& finding : diagnosis.findings) {
    text += fmt::format("{:<8} {:<10} {}\n", spell(finding.health), finding.name, finding.text);
    if (!finding.cure.empty()) text += fmt::format("{:<20}-> {}\n", "", finding.cure);
  }
  return text + "\n" + diagnosis.verdict + "\n";
}

nlohmann::json doctor_json(const Diagnosis& diagnosis) {
  nlohmann::json findings = nlohmann::json::array();
  for (const PartHealth& finding : diagnosis.findings)
    findings.push_back({{"name", finding.name},
                        {"health", finding.health == Health::bad ? "problem" : spell(finding.health)},
                        {"text", finding.text},
                        {"cure", finding.cure}});
  return {{"regtune_version", REGTUNE_VERSION},
          {"exit_code", diagnosis.exit_code},
          {"verdict", diagnosis.verdict},
          {"findings", std::move(findings)}};
}

}  // namespace regtune
