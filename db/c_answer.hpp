#pragma once
// An answer in the words of the C interface. The texts stay the policy's own.
#include "regtune.h"
#include "regtune/tuned_policy.hpp"

namespace regtune {

regtune_status status_of(const Answer& answer);

// All zeros but the size for a miss.
regtune_answer c_answer(const Answer& answer);

}  // namespace regtune
