#pragma once
// NVIDIA's management library, opened at run time where it is there: the driver package's version and who
// else uses the GPU. Reads only; no setting of a card is ever changed. Everything is optional: without the
// library the answers are empty.
#include <string>
#include <vector>

namespace regtune {

struct NvmlFacts {
  std::string driver_version;            // "580.159.04"; empty: not known
  std::vector<std::string> other_users;  // one line each
};

// `pci_bus_id` as the driver spells it.
NvmlFacts nvml_facts(const std::string& pci_bus_id);

}  // namespace regtune
