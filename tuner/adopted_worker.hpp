#pragma once
// The GPU side of a tuning inside the application that launches the kernel: works in the current context of the calling
// thread, on the application's own memory, and puts both back as they were. Knows only captured launches. A fault of a
// candidate costs the application its context: who calls this has asked for that.
#include <functional>
#include <optional>

#include "driver.hpp"
#include "worker.hpp"

namespace regtune {

// Says what the GPU is, as serve_device does, and answers requests until one is {"do": "go on"}: then everything of
// ours is freed, and that request is returned, for the caller to answer. Empty when the other side is gone, after which
// the memory is as it was as well, or the context was lost. `driver` is adopted. Throws Error(gpu_failed) when the
// memory cannot be put back.
//
// `other`: asked first; what it answers is not about the GPU.
std::optional<Message> serve_adopted(
    Channel& channel, const Driver& driver,
    const std::function<std::optional<Message>(const Message& request)>& other = nullptr);

}  // namespace regtune
