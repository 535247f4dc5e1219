#include "throttle_watch.hpp"

#include <algorithm>

namespace regtune {
namespace {

constexpr int kDroppedAhead = 8;

}  // namespace

bool ThrottleWatch::keeps_round(std::span<const ClockReading> readings) {
  bool throttled = throttled_ && readings.empty();
  for (const ClockReading& reading : readings) {
    sm_mhz_.push_back(reading.sm_mhz);
    throttled = throttled || !reading.throttled_by.empty();
    for (const std::string& reason : reading.throttled_by)
      if (std::find(seen_.throttled_by.begin(), seen_.throttled_by.end(), reason) == seen_.throttled_by.end())
        seen_.throttled_by.push_back(reason);
  }
  if (!readings.empty()) throttled_ = !readings.back().throttled_by.empty();
  if (throttled && seen_.rounds_dropped >= kept_ + kDroppedAhead) seen_.gave_up_dropping = true;
  if (!throttled || seen_.gave_up_dropping) {
    ++kept_;
    return true;
  }
  ++seen_.rounds_dropped;
  return false;
}

std::optional<ClockWatch> ThrottleWatch::summary() const {
  if (sm_mhz_.empty()) return {};
  ClockWatch watch = seen_;
  std::vector<int> sorted = sm_mhz_;
  std::sort(sorted.begin(), sorted.end());
  watch.readings = static_cast<int>(sorted.size());
  watch.min_sm_mhz = sorted.front();
  watch.median_sm_mhz = sorted[sorted.size() / 2];
  watch.max_sm_mhz = sorted.back();
  return watch;
}

}  // namespace regtune
