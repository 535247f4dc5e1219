#pragma once
// What the launch bounds that a kernel's author wrote do on this GPU, in one sentence. The ceiling, the threads and the
// registers are those of the machine code, so it is right where the bounds are macros or template arguments.
#include <string>

#include "record.hpp"

namespace regtune {

// "the author's __launch_bounds__(128, 5): the ceiling is 96 registers; the kernel uses 80, and 84 without the bound; 6
// blocks of 128 threads fit on an SM". Empty where the source declares none that was seen, or its code is not known.
std::string about_authors_bound(const TuningRecord& record);

}  // namespace regtune
