#pragma once
// Which variants are considered: every register cap, every launch bound of every block size, and the
// author's own code. Caps and bounds are alternatives, never a product: a bound makes a cap inert.
#include <vector>

#include "record.hpp"

namespace regtune {

// The author's own code at the first block is id 0. Ids count up from there, and variants that differ in
// the block alone share a policy. Requires: `blocks` is not empty.
std::vector<Variant> search_space(const GpuLimits& limits, const std::vector<Dim3>& blocks);

// The same budgets once more, for the kernel under a name that contains "cutlass": ptxas then allocates registers
// otherwise, to a gain that can exceed any cap's, or to a loss. Ids count on.
void add_renamed(std::vector<Variant>& variants);

}  // namespace regtune
