#pragma once
// What interrupted runs of one key have left, as plain values: the rounds that were timed, in the order in which they
// were, and what need not be found out again. By the identity of the codes (key.hpp), since the ids of variants
// depend on the order in which codes arrive. Holds no verdict: an interrupted run has none.
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "record.hpp"

namespace regtune {

struct EarlierRun {
  using Round = std::map<std::string, double>;  // ms per launch, by code

  std::string started;  // of the newest; UTC, ISO 8601
  std::size_t codes = 0;
  std::vector<Round> race;
  std::vector<Round> confirmation;
  std::map<std::string, double> first_ms;  // codes that left after their first launch: it took so long
  std::map<std::string, Outcome> failed;   // Faulted, TimedOut, WrongResult

  bool empty() const { return race.empty() && confirmation.empty() && first_ms.empty() && failed.empty(); }
};

}  // namespace regtune
