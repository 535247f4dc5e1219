#pragma once
// Tuned code in place of a program's own, where regtune has some for exactly this launch: the same image of the
// program, shape and integer parameters. What it is asked once it remembers, for each context.
#include <cuda.h>

#include "kernels.hpp"
#include "launch.hpp"

namespace regtune {

// nullptr: the launch is made as it was asked for.
CUfunction replacement_of(const Launch& launch, const WatchedShape& watched);

}  // namespace regtune
