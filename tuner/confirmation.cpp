#include "confirmation.hpp"

#include <algorithm>
#include <utility>

namespace regtune {
namespace {

constexpr int kOtherWayRounds = kLooks.front();

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
  for (int rounds = 0; rounds < kOtherWayRounds;) {
    if (field.budget_left_ms(1) <= 0) return;
    const bool counts = field.take_round(RacePhase::other_way, finalists_of(field));
    if (field.leader_failed()) return;
    rounds += counts ? 1 : 0;
  }
}

}  // namespace regtune
