#pragma once
// The knobs of a source that the launch description names (tune, block_macro), as the choices that each block is
// compiled with. What the author's own command gives is the first and is never compiled a second time.
#include <vector>

#include "description.hpp"
#include "search_space.hpp"
#include "source.hpp"

namespace regtune {

// `blocks`: those that are tuned, the author's first. The description is checked already (with_flags).
std::vector<BlockChoices> source_choices(const LaunchDescription& description, const CompileUnit& unit,
                                         const std::vector<Dim3>& blocks);

}  // namespace regtune
