#pragma once
// NVIDIA's management library, opened at run time where it is there: the driver package's version, who else uses
// the GPU, and what its clocks do. Reads only; no setting of a card is ever changed. Everything is optional: without
// the library the answers are empty.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"

namespace regtune {

struct NvmlFacts {
  std::string driver_version;            // "580.159.04"; empty: not known
  std::vector<std::string> other_users;  // one line each
};

// `pci_bus_id` as the driver spells it.
NvmlFacts nvml_facts(const std::string& pci_bus_id);

// The clocks of one GPU, read again and again. Reads nothing where NVML or the permission is missing.
class NvmlClocks {
 public:
  explicit NvmlClocks(const std::string& pci_bus_id);
  ~NvmlClocks();
  // The SM clock as it is now, and every reason that holds it down but those that are somebody's will (application
  // clocks, an idle GPU).
  std::optional<ClockReading> read() const;

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

}  // namespace regtune
