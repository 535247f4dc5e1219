#include "adopted_device.hpp"

#include <memory>
#include <string>

#include "adopted_worker.hpp"
#include "driver.hpp"

namespace regtune {

void serve_in_this_context(Channel& channel) {
  std::string why_not;
  const std::unique_ptr<Driver> driver = Driver::adopt(why_not);
  if (driver)
    serve_adopted(channel, *driver);
  else
    channel.send({{"no_gpu", why_not}});
}

}  // namespace regtune
