#pragma once
// The referee of a stored answer: the winners and the code they were compared with are timed again, longer than in the
// race, and each stored figure is held against what comes out. Works against the seam of bench.hpp alone. Looks for no
// better winner, and changes nothing that is stored.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "record.hpp"

namespace regtune {

// What was stored of one code: how much faster than the reference it is, or that it is not.
struct Claim {
  int variant_id = 0;
  bool gains = true;  // false: the fastest of those that were found not to gain
  Interval speedup;   // as stored
};

// The best, the best in the source and the best under another name; without a winner the fastest that was confirmed.
std::vector<Claim> claims_of(const TuningRecord& record);

struct Finding {
  Claim claim;
  enum class Says { holds, fails, unresolved } says = Says::unresolved;
  Interval speedup;  // now
  int rounds = 0;
  std::string reason;  // one sentence
};

struct RefereeSettings {
  double precision = 0.002;  // width of each interval, as a share
  double confidence = 0.99;
  double margin = 0.005;  // of the stored verdict
  double budget_s = 60;   // of GPU time
  bool cold = false;      // as the stored times are
};

struct Findings {
  std::vector<Finding> of_claims;    // in their order
  std::optional<ClockWatch> clocks;  // empty: they cannot be read
};

// `candidates`: one for each claim, in that order. Rounds go on until every interval is as narrow as wanted, or the
// budget is spent; those in which the clocks were held down are dropped, as in the race. Throws Error(gpu_failed) when
// the reference cannot be timed.
Findings referee(Bench& bench, const Candidate& reference, const std::vector<Claim>& claims,
                 const std::vector<Candidate>& candidates, const RefereeSettings& settings, std::uint64_t seed);

}  // namespace regtune
