#pragma once
// Which rounds of a race count, as far as the clocks are concerned: a round in which the driver held them down does
// not, unless hardly any other round is to be had. Reads nothing itself and changes no setting.
#include <optional>
#include <span>
#include <vector>

#include "bench.hpp"
#include "record.hpp"

namespace regtune {

class ThrottleWatch {
 public:
  // Told after each round with what was read during it. False: the round does not count. Readings are rarer than
  // rounds: a throttle lasts until a reading without one. A watch that has dropped as many rounds as it has kept, and
  // eight more, gives up: this is how the kernel runs on this card, and all its codes run so.
  bool keeps_round(std::span<const ClockReading> readings);

  // Empty when nothing was ever read.
  std::optional<ClockWatch> summary() const;

 private:
  std::vector<int> sm_mhz_;
  bool throttled_ = false;
  int kept_ = 0;
  ClockWatch seen_;
};

}  // namespace regtune
