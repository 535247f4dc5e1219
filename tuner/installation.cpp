#include "installation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>

#include "child_program.hpp"
#include "driver.hpp"
#include "dynamic_library.hpp"
#include "ncu.hpp"
#include "nvcc.hpp"
#include "nvjitlink.hpp"
#include "nvrtc.hpp"
#include "ptxas.hpp"
#include "regtune/error.hpp"
#include "sqlite.hpp"
#include "toolkit.hpp"
#include "worker.hpp"

namespace regtune {
namespace {

constexpr double kProbeLimitMs = 20000;

// What `look` answers in a child process, or how that one ended.
Message in_child(const std::function<Message()>& look) {
  Worker worker([&](Channel& channel) { channel.send(look()); });
  const Channel::Received received = worker.channel().receive(after_ms(kProbeLimitMs));
  if (received.state == Channel::State::message) return received.message;
  if (received.state == Channel::State::timed_out)
    return {{"missing", fmt::format("it did not answer within {:g} s", kProbeLimitMs / 1000)}};
  return {{"missing", fmt::format("the process that opened it {}", worker.end())}};
}

InstalledPart part(const std::string& name, const std::function<Message()>& look) {
  const Message reply = in_child(look);
  return {name, reply.value("version", ""), reply.value("file", ""), reply.value("missing", "")};
}

Message missing(const std::vector<std::string>& failures) {
  return {{"missing", fmt::format("{}", fmt::join(failures, "\n"))}};
}

std::string spell_cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

InstalledPart installed_driver() {
  return part("driver", [] {
    std::vector<std::string> failures;
    const auto library = DynamicLibrary::open(library_candidates(cuda_driver_library()), failures);
    if (!library) return missing(failures);
    int version = 0;
    const auto ask = library->find<int(int*)>("cuDriverGetVersion");
    if (!ask || ask(&version) != 0)
      return missing({fmt::format("{} does not tell its version", library->path().string())});
    return Message{{"version", spell_cuda_version(version)}, {"file", library->path().string()}};
  });
}

InstalledPart installed_nvml() {
  return part("NVML", [] {
    std::vector<std::string> failures;
    const auto library = DynamicLibrary::open({"libnvidia-ml.so.1"}, failures);
    if (!library) return missing(failures);
    const auto init = library->find<int()>("nvmlInit_v2");
    const auto ask = library->find<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
    std::array<char, 80> version{};
    if (!init || !ask || init() != 0 || ask(version.data(), version.size()) != 0)
      return missing({fmt::format("{} does not start: no driver is loaded", library->path().string())});
    return Message{{"version", version.data()}, {"file", library->path().string()}};
  });
}

InstalledPart installed_nvrtc() {
  return part("NVRTC", []() -> Message {
    try {
      const Nvrtc nvrtc = Nvrtc::open();
      return {{"version", nvrtc.version()}, {"file", nvrtc.library_path()}};
    } catch (const Error& failure) {
      return missing({failure.what()});
    }
  });
}

InstalledPart installed_nvjitlink() {
  return part("nvJitLink", []() -> Message {
    std::string why_not;
    const std::optional<NvJitLink> linker = NvJitLink::open(why_not);
    if (!linker) return missing({why_not});
    const LinkerFacts facts = linker->facts();
    return {{"version", facts.version()}, {"file", facts.library_path}};
  });
}

InstalledPart installed_cupti() {
  return part("CUPTI", []() -> Message {
    std::vector<std::string> failures;
    const auto library = DynamicLibrary::open(library_candidates(cupti_library()), failures);
    if (!library) return missing(failures);
    std::uint32_t version = 0;
    const auto ask = library->find<int(std::uint32_t*)>("cuptiGetVersion");
    if (!ask || ask(&version) != 0)
      return missing({fmt::format("{} does not tell its version", library->path().string())});
    return {{"version", std::to_string(version)}, {"file", library->path().string()}};
  });
}

InstalledPart installed_nvcc() {
  return part("nvcc", []() -> Message {
    std::string why_not;
    const std::optional<Nvcc> nvcc = Nvcc::open("", why_not);
    if (!nvcc) return missing({why_not});
    return {{"version", nvcc->version()}, {"file", nvcc->file()}};
  });
}

InstalledPart installed_ptxas() {
  return part("ptxas", []() -> Message {
    std::string why_not;
    const std::optional<Ptxas> ptxas = Ptxas::open(why_not);
    if (!ptxas) return missing({why_not});
    return {{"version", ptxas->version()}, {"file", ptxas->file()}};
  });
}

InstalledPart installed_cuobjdump() {
  return part("cuobjdump", []() -> Message {
    const std::vector<std::filesystem::path> found = program_candidates(cuobjdump_program());
    if (found.empty())
      return missing(
          {"no cuobjdump in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* and NVIDIA's wheels, nor named by "
           "REGTUNE_CUOBJDUMP"});
    const ProgramRun run = run_program({.words = {found.front().string(), "--version"}, .limit_s = 10});
    if (!run.succeeded) return missing({fmt::format("{} --version {}", found.front().string(), run.how)});
    return {{"version", nvcc_release(run.output)}, {"file", found.front().string()}};
  });
}

InstalledPart installed_ncu() {
  return part("ncu", []() -> Message {
    const auto file = find_ncu();
    if (!file)
      return missing({"no ncu in CUDA_HOME, CUDA_PATH, PATH or /usr/local/cuda/bin, nor named by REGTUNE_NCU"});
    const ProgramRun run = run_program({.words = {file->string(), "--version"}, .limit_s = 10});
    if (!run.succeeded) return missing({fmt::format("{} --version {}", file->string(), run.how)});
    // "Version 2025.3.1.0 (build 36398880) (public-release)"
    const std::size_t at = run.output.find("Version ");
    const std::size_t begin = at == std::string::npos ? run.output.size() : at + 8;
    return {{"version", run.output.substr(begin, run.output.find_first_of(" \n", begin) - begin)},
            {"file", file->string()}};
  });
}

VisibleGpus visible_gpus() {
  const Message reply = in_child([]() -> Message {
    std::string why_not;
    const std::unique_ptr<Driver> driver = Driver::open(why_not);
    if (!driver) return {{"missing", why_not}};
    Message gpus = Message::array();
    for (int ordinal = 0; ordinal < driver->device_count(); ++ordinal) {
      GpuState state;
      if (!driver->describe(ordinal, state).ok()) continue;
      gpus.push_back({{"ordinal", ordinal},
                      {"name", state.id.name},
                      {"architecture", fmt::format("sm_{}{}", state.id.compute_major, state.id.compute_minor)},
                      {"pci_bus_id", driver->pci_bus_id(ordinal)}});
    }
    return {{"gpus", gpus}};
  });
  VisibleGpus found;
  found.why_none = reply.value("missing", "");
  for (const Message& gpu : reply.value("gpus", Message::array()))
    found.gpus.push_back({gpu.at("ordinal"), gpu.at("name"), gpu.at("architecture"), gpu.at("pci_bus_id")});
  if (found.gpus.empty() && found.why_none.empty()) found.why_none = "the driver sees no GPU";
  return found;
}

std::string versions_text() {
  std::string text = fmt::format("{:<11}{}\n", "regtune", REGTUNE_VERSION);
  const auto add = [&](const InstalledPart& found, const std::string& version) {
    text += found.missing.empty() ? fmt::format("{:<11}{:<12} {}\n", found.name, version, found.file)
                                  : fmt::format("{:<11}not found; regtune doctor says more\n", found.name);
  };
  for (const InstalledPart& found : {installed_nvrtc(), installed_nvjitlink()}) add(found, found.version);
  const InstalledPart driver = installed_driver();
  const InstalledPart nvml = installed_nvml();
  add(driver, nvml.version.empty() ? "CUDA " + driver.version : nvml.version);
  return text + fmt::format("{:<11}{}\n", "SQLite", sqlite_version());
}

}  // namespace regtune
