#pragma once
// Which variants are considered: every register cap, every launch bound of every block size, and the
// author's own code; the same again for each other choice of the source's knobs. Caps and bounds are
// alternatives, never a product: a bound makes a cap inert. Where the kernel fixes its block size neither binds, and
// every __maxnreg__ takes their place.
#include <vector>

#include "record.hpp"

namespace regtune {

// One block and what the source is compiled with for it.
struct BlockChoices {
  Dim3 block;
  std::vector<SourceChoice> choices = {
      SourceChoice{}};  // the first is the block's own: the author's, but for block_macro
};

struct SearchSpaceRequest {
  GpuLimits limits;
  std::vector<BlockChoices> blocks;  // the author's first; each with as many choices as the first
  // The kernel declares __block_size__: ptxas then ignores every cap and refuses every bound, and obeys __maxnreg__.
  bool block_is_fixed = false;
  // Launch bounds too: not for PTX, where a bound that would be written into the source comes too late.
  bool with_bounds = true;
  // ptxas's --register-usage-level at both ends, for the block's own choice under every cap.
  bool with_register_usage_levels = false;
  // Spilling to shared memory, likewise, under every launch bound that has both numbers.
  bool with_shared_spilling = false;
  // Each is joined with the block's own choice, and gets the whole register space too.
  std::vector<SourceChoice> further_choices = {};
};

// The author's own code at the first block is id 0. Ids count up from there, and variants that differ in
// the block alone share a policy. Requires: there is a block, and each has a choice.
std::vector<Variant> search_space(const SearchSpaceRequest& request);

}  // namespace regtune
