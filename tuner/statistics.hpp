#pragma once
// Medians and their distribution-free confidence intervals. Nothing here assumes a normal distribution:
// GPU times have outliers, drift and two-humped clocks.
#include <span>
#include <vector>

#include "record.hpp"

namespace regtune {

// Requires: not empty.
double median(std::vector<double> values);

// The median with the interval between two order statistics that covers the true median with at least
// `confidence`, whatever the distribution (David and Nagaraja, Order Statistics, 3rd ed., section 7.1: the
// count of samples below the median is binomial(n, 1/2)). With too few samples for that confidence the
// interval is the whole range, and its coverage is what range_coverage says. Requires: not empty.
Interval median_interval(std::vector<double> values, double confidence);

// Coverage of [min, max] of n samples: 1 - 2^(1-n).
double range_coverage(int n);

// Ratios of samples that share a round: numerator over denominator. Samples whose round has no partner are
// left out, so drift between rounds cancels.
std::vector<double> paired_ratios(std::span<const Sample> numerator, std::span<const Sample> denominator);

}  // namespace regtune
