#pragma once
// The child process that owns the GPU: holds the context, the buffers and the loaded codes, and answers one
// request after the other. After a fault the context is lost: it says so and ends, and device.hpp starts
// another. The requests and replies are defined by device_worker.cpp and device.cpp alone.
#include "worker.hpp"

namespace regtune {

void serve_device(Channel& channel, int ordinal);

}  // namespace regtune
