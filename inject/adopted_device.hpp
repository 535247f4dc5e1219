#pragma once
// Working in the program's own context: regtune's requests for launches and times (device_worker.hpp) answered in the
// thread that makes the launch.
#include "worker.hpp"

namespace regtune {

// Until regtune says that the program goes on, or is gone.
void serve_in_this_context(Channel& channel);

}  // namespace regtune
