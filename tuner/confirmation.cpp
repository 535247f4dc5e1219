#include "confirmation.hpp"

#include <algorithm>
#include <utility>

#include "statistics.hpp"

namespace regtune {
namespace {

// After the first it is seen whether more are needed; its range covers the median with 99 %.
constexpr std::array kOtherWayLooks = {8, kLooks.front()};

std::vector<Runner*> finalists_of(RaceField& field) {
  std::vector<Runner*> finalists;
  for (Runner& runner : field.runners())
    if (runner.finalist && runner.running) finalists.push_back(&runner);
  return finalists;
}

// Each finalist is known to gain or not to gain; the best one's interval is narrow against the margin, and no other's
// reaches above it by the margin.
bool precise_enough(RaceField& field) {
  const double margin = field.settings().margin;
  const double threshold = 1 + margin;
  Interval best;
  double highest = 0;
  for (const Runner* runner : finalists_of(field)) {
    if (field.is_reference(*runner)) continue;
    const Interval speedup = field.measurement(*runner).speedup;
    if (speedup.low <= threshold && speedup.high > threshold) return false;
    if (speedup.median > best.median) best = speedup;
    highest = std::max(highest, speedup.high);
  }
  if (highest <= threshold) return true;
  return best.high - best.low <= margin * best.median && highest <= best.median * threshold;
}

// Whether no finalist can be faster by more than the margin, with L2 in the other state, than one that may be named.
bool other_way_is_settled(RaceField& field, int rounds) {
  if (range_coverage(rounds) < field.settings().confidence) return false;
  const std::vector<Runner*> finalists = finalists_of(field);
  double least_gain = 0;
  for (const Runner* runner : finalists) least_gain = std::max(least_gain, field.measurement(*runner).speedup.low);
  for (const Runner* named : finalists) {
    if (field.measurement(*named).speedup.high < least_gain) continue;
    for (const Runner* other : finalists) {
      const std::vector<double> ratios = paired_ratios(named->other_way, other->other_way);
      if (ratios.empty() || median_interval(ratios, field.settings().confidence).high > 1 + field.settings().margin)
        return false;
    }
  }
  return true;
}

}  // namespace

void choose_finalists(RaceField& field) {
  std::vector<Runner*> by_time = field.running_others();
  std::sort(by_time.begin(), by_time.end(), [](const Runner* a, const Runner* b) {
    return std::pair(a->ratio.median, a->first_ms) < std::pair(b->ratio.median, b->first_ms);
  });
  // A budget too short for the first look at all of them confirms fewer, and the foremost in any case.
  const double ms_per_round = field.budget_left_ms(1) / kLooks.front() / field.settings().launches_per_sample;
  double together = field.reference().first_ms;
  std::array<std::size_t, kWinnerKinds.size()> ahead{};
  for (Runner* runner : by_time) {
    bool foremost = false;
    bool wanted = false;
    for (std::size_t i = 0; i < kWinnerKinds.size(); ++i) {
      if (!is_of(*runner, kWinnerKinds[i])) continue;
      foremost = foremost || ahead[i] == 0;
      wanted = wanted || ahead[i] < kFinalists[i];
      ++ahead[i];
    }
    runner->finalist = foremost || (wanted && together + runner->first_ms <= ms_per_round);
    if (runner->finalist)
      together += runner->first_ms;
    else
      field.leave(*runner,
                  Abandoned{"not separated from the fastest, and others were ahead of it", field.measurement(*runner)});
  }
  field.reference().finalist = true;
}

// The whole budget may go by; a verdict from fewer rounds than the first look needs is for decide.hpp to refuse.
void confirm(RaceField& field) {
  field.warm_up();  // where nobody raced, nothing was timed yet
  int rounds = field.take_up_confirmation(finalists_of(field));
  for (const int look : kLooks) {
    if (rounds > look) continue;  // the interrupted run looked then, and it was not enough
    while (rounds < look) {
      if (field.budget_left_ms(1) <= 0) return;
      const bool counts = field.take_round(RacePhase::confirmation, finalists_of(field));
      if (field.leader_failed()) return;
      rounds += counts ? 1 : 0;
    }
    if (precise_enough(field)) return;
  }
}

void time_other_way(RaceField& field) {
  if (!field.can_take_other_way() || finalists_of(field).size() < 2) return;
  int rounds = 0;
  for (const int look : kOtherWayLooks) {
    while (rounds < look) {
      if (field.budget_left_ms(1) <= 0) return;
      const bool counts = field.take_round(RacePhase::other_way, finalists_of(field));
      if (field.leader_failed()) return;
      rounds += counts ? 1 : 0;
    }
    if (other_way_is_settled(field, rounds)) return;
  }
}

}  // namespace regtune
