#pragma once
// The launch that regtune waits for: offered to it before it is made, with its shape and its parameters, and whatever
// it asks about answered: the program's memory, variables of its module, and, where it wants to work in the program's
// own context, launches and their times. Meanwhile no other launch of the program is made; then it goes on.
#include <optional>
#include <string>

#include "kernels.hpp"
#include "launch.hpp"

namespace regtune {

// Of a kernel that is to be tuned; does nothing for all launches but one. What became of the launch, where it was made
// meanwhile: it must not be made again.
std::optional<CUresult> offer_launch(const Launch& launch, WatchedShape& watched);

void wait_while_a_launch_is_tuned();

// The parameters as they lie in one block.
std::string parameter_block(const Launch& launch, const WatchedKernel& kernel);

}  // namespace regtune
