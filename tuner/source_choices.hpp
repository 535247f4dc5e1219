#pragma once
// The knobs of a source that the launch description names (tune, block_macro), as the choices that each block is
// compiled with: values of macros, and instances of a kernel template. What the author's own command gives is the
// first and is never compiled a second time. Also says what the expressions of the launch see of each choice, so that
// the grid can follow the work of a thread.
#include <vector>

#include "description.hpp"
#include "search_space.hpp"
#include "source.hpp"
#include "workload.hpp"

namespace regtune {

struct SourceChoices {
  std::vector<BlockChoices> blocks;
  std::vector<LaunchCase> launches;  // one for each block and each choice of it, in that order

  // Which of the launches is that of a variant, whatever its choice was joined with. Requires: search_space made it
  // of these blocks.
  std::size_t launch_of(const Variant& variant) const;
};

// `blocks`: those that are tuned, the author's first. The description is checked already (launch_description).
SourceChoices source_choices(const LaunchDescription& description, const CompileUnit& unit,
                             const std::vector<Dim3>& blocks);

}  // namespace regtune
