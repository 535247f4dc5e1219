#pragma once
// `regtune verify NAME`: the stored answer for a kernel is measured again, in this process and with codes that were
// compiled for it, and held against what is stored. Refuses a source that has changed since, and a launch that is not
// the one that was tuned. Changes nothing in the cache.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "description.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "referee.hpp"

namespace regtune {

struct VerifyRequest {
  std::string kernel;              // as for lookup
  std::vector<std::string> sizes;  // likewise
  std::optional<std::filesystem::path> cache;
  int device = 0;
  int jobs = 1;
  double budget_s = 60;
};

struct Verification {
  std::optional<TuningRecord> stored;
  std::string miss;  // what was looked for and what there is; empty on a hit
  std::vector<Finding> findings;
  std::optional<ClockWatch> clocks;  // while it was measured again
  bool holds() const;
};

// Throws Error: gpu_failed without a GPU, claim_not_held when the source is no longer the one that was tuned,
// bad_description when the launch is another one. A miss is not an error.
Verification verify(const VerifyRequest& request, Progress& progress);

std::string verification_text(const Verification& verification);
nlohmann::json verification_json(const Verification& verification);

}  // namespace regtune
