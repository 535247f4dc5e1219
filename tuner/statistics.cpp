#include "statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <unordered_map>

namespace regtune {

double median(std::vector<double> values) {
  assert(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double range_coverage(int n) {
  return n < 1 ? 0 : 1 - std::exp2(1 - n);
}

Interval median_interval(std::vector<double> values, double confidence) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // The largest k with P(binomial(n, 1/2) < k) <= (1 - confidence) / 2; the interval is [x_(k), x_(n+1-k)].
  const double tail = (1 - confidence) / 2;
  const auto probability = [n](std::size_t i) {  // of exactly i, through logarithms: 2^-n underflows for large n
    const auto size = static_cast<double>(n);
    const auto at = static_cast<double>(i);
    return std::exp(std::lgamma(size + 1) - std::lgamma(at + 1) - std::lgamma(size - at + 1) - size * std::log(2.0));
  };
  double below = probability(0);  // of at most k
  std::size_t k = 0;
  while (k < n / 2 && below <= tail) below += probability(++k);
  const std::size_t first = k == 0 ? 0 : k - 1;
  return {values[first], median(values), values[n - 1 - first]};
}

std::vector<double> paired_ratios(std::span<const Sample> numerator, std::span<const Sample> denominator) {
  std::unordered_map<int, double> by_round;
  for (const Sample& sample : denominator) by_round.emplace(sample.round, sample.ms);
  std::vector<double> ratios;
  for (const Sample& sample : numerator) {
    const auto partner = by_round.find(sample.round);
    if (partner != by_round.end() && partner->second > 0) ratios.push_back(sample.ms / partner->second);
  }
  return ratios;
}

}  // namespace regtune
