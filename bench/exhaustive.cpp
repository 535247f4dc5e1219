#include "exhaustive.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>

#include "statistics.hpp"

namespace regtune {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// After that many rounds a code stops that was slower than the leader by more than this factor in each of them.
struct Look {
  int rounds;
  double factor;
};
constexpr std::array kLooks = {Look{2, 1.3}, Look{10, 1}, Look{20, 1}, Look{40, 1}, Look{80, 1}, Look{160, 1}};

constexpr double kDropAbove = 1.3;     // of the referee whose GPU time is the measure
constexpr std::size_t kDropAfter = 5;  // rounds

class Exhaustive {
 public:
  Exhaustive(Bench& bench, std::vector<TimedCode>& codes, Deadline deadline)
      : bench_(bench), codes_(codes), deadline_(deadline) {}

  ExhaustiveTiming run(int rounds, int fewest) {
    timing_.warm_up_s = bench_.set_reference(codes_.front().candidate) / 1000;
    const ReferenceRun warm = bench_.warm_up(kWarmUpMs);
    timing_.warm_up_s += warm.gpu_ms / 1000;
    timing_.launches = warm.launches_per_sample;
    std::erase_if(codes_,
                  [&](const TimedCode& code) { return !std::holds_alternative<double>(bench_.check(code.candidate)); });
    racing_.resize(codes_.size());
    std::iota(racing_.begin(), racing_.end(), std::size_t{0});
    while (timing_.rounds < rounds) {
      if (deadline_ && Clock::now() >= *deadline_) break;
      const Clock::time_point before = Clock::now();
      take_round();
      round_s_ = seconds_since(before);
      drop();
      const bool known = timing_.rounds >= kLooks.front().rounds;
      if (deadline_ && known && timing_.rounds < fewest && after_ms(1000 * left_s(fewest)) > deadline_) break;
    }
    if (timing_.rounds < std::min(fewest, rounds)) timing_.needed_s = seconds_since(start_) + left_s(fewest);
    return timing_;
  }

 private:
  void take_round() {
    ++timing_.rounds;
    std::shuffle(racing_.begin(), racing_.end(), random_);
    for (const std::size_t i : racing_)
      if (const Shot shot = bench_.sample(codes_[i].candidate); const double* ms = std::get_if<double>(&shot))
        codes_[i].samples.push_back({timing_.rounds, *ms});
  }

  // Those that are not the best for certain.
  void drop() {
    const auto look =
        std::find_if(kLooks.begin(), kLooks.end(), [this](const Look& l) { return l.rounds == timing_.rounds; });
    if (look == kLooks.end()) return;
    const double before_ms = round_ms();
    const TimedCode& leader = codes_[fastest()];
    std::erase_if(racing_, [&](std::size_t i) {
      if (i == 0 || codes_[i].to_the_end) return false;
      const std::vector<double> ratios = paired_ratios(codes_[i].samples, leader.samples);
      return ratios.empty() || *std::min_element(ratios.begin(), ratios.end()) > look->factor;
    });
    round_s_ *= round_ms() / before_ms;
  }

  // Of those that are left, the one with the least median time over the first code's.
  std::size_t fastest() const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : racing_) {
      const std::vector<double> ratios = paired_ratios(codes_[i].samples, codes_.front().samples);
      if (ratios.empty() || median(ratios) >= least) continue;
      least = median(ratios);
      best = i;
    }
    return best;
  }

  // For the fewest rounds, by what a round of those that are left takes.
  double left_s(int fewest) const { return std::max(0, fewest - timing_.rounds) * round_s_; }

  // One sample of each that is left.
  double round_ms() const {
    double ms = 0;
    for (const std::size_t i : racing_)
      if (!codes_[i].samples.empty()) ms += codes_[i].samples.back().ms;
    return ms;
  }

  Bench& bench_;
  std::vector<TimedCode>& codes_;
  Deadline deadline_;
  Clock::time_point start_ = Clock::now();
  double round_s_ = 0;  // wall time of one round
  ExhaustiveTiming timing_;
  std::vector<std::size_t> racing_;  // indices of codes
  std::mt19937_64 random_{20};
};

}  // namespace

ExhaustiveTiming time_exhaustively(Bench& bench, std::vector<TimedCode>& codes, int rounds, int fewest,
                                   Deadline deadline) {
  const ExhaustiveTiming timing = Exhaustive(bench, codes, deadline).run(rounds, fewest);
  std::erase_if(codes, [](const TimedCode& code) { return code.samples.empty(); });
  for (TimedCode& code : codes) {
    const std::vector<double> ratios = paired_ratios(code.samples, codes.front().samples);
    code.ratio = ratios.empty() ? std::numeric_limits<double>::infinity() : median(ratios);
  }
  return timing;
}

double referee_seconds(const std::vector<TimedCode>& codes, const ExhaustiveTiming& timing, int rounds) {
  const auto median_of_first = [](const TimedCode& code) {
    std::vector<double> first;
    for (const Sample& sample : code.samples)
      if (first.size() < kDropAfter) first.push_back(sample.ms);
    return median(first);
  };
  double best = median_of_first(codes.front());
  for (const TimedCode& code : codes) best = std::min(best, median_of_first(code));
  double ms = 0;
  for (const TimedCode& code : codes) {
    double mean = 0;
    for (const Sample& sample : code.samples) mean += sample.ms / static_cast<double>(code.samples.size());
    const bool stays = median_of_first(code) <= kDropAbove * best;
    ms += mean * (stays ? rounds : static_cast<int>(kDropAfter));
  }
  return timing.warm_up_s + ms * timing.launches / 1000;
}

}  // namespace regtune
