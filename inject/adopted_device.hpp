#pragma once
// Working in the program's own context: regtune's requests for launches and times (device_worker.hpp) answered in the
// thread that makes the launch.
#include <functional>
#include <optional>

#include "worker.hpp"

namespace regtune {

// Until regtune says that the program goes on, or is gone. `other`: answers what is about the program itself.
void serve_in_this_context(Channel& channel, const std::function<std::optional<Message>(const Message&)>& other);

}  // namespace regtune
