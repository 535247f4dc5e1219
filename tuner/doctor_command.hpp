#pragma once
// `regtune doctor`: what tuning needs and what is nice to have, each as it was found on this machine, and for what is
// missing the command that installs it. Changes nothing, creates no cache. Fails for nothing: what is wrong is a
// finding.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

struct DoctorRequest {
  std::optional<std::filesystem::path> cache;
};

enum class Health {
  good,
  absent,  // something that can be done without: what then is not possible is told
  bad,     // tuning does not work so
};

struct PartHealth {
  std::string name;  // "NVRTC"
  Health health = Health::good;
  std::string text;  // version and file, or what is wrong
  std::string cure;  // a command, or what to do; empty where nothing is wrong
};

struct Diagnosis {
  std::vector<PartHealth> findings;
  int exit_code = 0;  // 0: tuning can work here; else that of what stands in its way
  std::string verdict;
};

Diagnosis examine(const DoctorRequest& request);

std::string doctor_text(const Diagnosis& diagnosis);
nlohmann::json doctor_json(const Diagnosis& diagnosis);

// Of the text of /proc/driver/nvidia/params: only root may read the GPU's counters.
bool counters_are_for_root(std::string_view driver_parameters);

}  // namespace regtune
