#pragma once
// Which of the stored answers serves a kernel on a GPU: the rungs of the look-up ladder, from exact down, over layers
// of files. Pure: no file, no clock. On every rung but the first, and wherever the caller launches another block than
// the answer's, it is computed anew whether the code can be launched; what cannot be, or cannot be known to be, is left
// out.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regtune/tuned_policy.hpp"

namespace regtune {

// The answers of one file whose kernels may be the one that is asked for, newest first.
using Layer = std::vector<const TunedPolicy*>;

// First hit by rung, then by layer. Within these: the nearest GPU, the nearest sizes, one that is not stale, the
// newest.
Answer climb(const KernelKey& key, const GpuId& gpu, std::span<const Layer> layers, bool accept_stale);

// Doublings between the sizes, added up. Empty where they are not the same names, or not comparable (a zero).
std::optional<double> size_distance(const Sizes& asked, const Sizes& measured);

Stale stale_against(const KernelKey& key, const TunedPolicy& answer);

// Empty when both budgets of the answer can be launched on `gpu`.
std::optional<std::string> why_not_legal(const TunedPolicy& answer, const KernelKey& key, const GpuId& gpu);

}  // namespace regtune
