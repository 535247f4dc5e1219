#include "adopted_device.hpp"

#include <memory>
#include <string>

#include "adopted_worker.hpp"
#include "driver.hpp"
#include "regtune/error.hpp"

namespace regtune {

void serve_in_this_context(Channel& channel, const std::function<std::optional<Message>(const Message&)>& other) {
  std::string why_not;
  const std::unique_ptr<Driver> driver = Driver::adopt(why_not);
  if (!driver) {
    channel.send({{"no_gpu", why_not}});
    channel.send({{"ok", true}});
    return;
  }
  try {
    // Whoever lets the program go on waits until its memory is as it was.
    const bool is_as_it_was = serve_adopted(channel, *driver, other).has_value();
    channel.send({{"ok", is_as_it_was}});
  } catch (const Error& failure) {
    channel.send({{"failure", failure.what()}, {"kind", static_cast<int>(failure.kind())}});
  }
}

}  // namespace regtune
