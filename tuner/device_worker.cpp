#include "device_worker.hpp"

#include <fmt/format.h>

#include <memory>

#include "device_buffers.hpp"
#include "device_server.hpp"
#include "driver.hpp"
#include "nvml.hpp"
#include "record_json.hpp"
#include "snapshot_buffers.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

std::unique_ptr<LaunchData> make_data(const Driver& driver, const Message& request) {
  if (snapshot_of(request)) {
    auto captured = std::make_unique<SnapshotBuffers>(driver);
    captured->make(request);
    return captured;
  }
  auto described = std::make_unique<DeviceBuffers>(driver);
  described->make(request);
  return described;
}

}  // namespace

void serve_device(Channel& channel, int ordinal) {
  std::string why_not;
  const std::unique_ptr<Driver> driver = Driver::open(why_not);
  if (!driver) {
    channel.send({{"no_gpu", why_not}});
    return;
  }
  if (ordinal < 0 || ordinal >= driver->device_count()) {
    channel.send({{"no_device", fmt::format("--device {}: this machine shows {} GPU{}, numbered from 0", ordinal,
                                            driver->device_count(), driver->device_count() == 1 ? "" : "s")}});
    return;
  }
  GpuState state;
  if (const CudaStatus status = describe_gpu(*driver, ordinal, state); !status.ok()) {
    channel.send({{"no_gpu", status.text}});
    return;
  }
  channel.send({{"gpu", state}});
  require(driver->make_context(ordinal), "making a context");
  const NvmlClocks clocks(driver->pci_bus_id(ordinal));
  DeviceServer(channel, *driver, clocks, state.l2_bytes, [&](const Message& request) {
    return make_data(*driver, request);
  }).serve();
}

}  // namespace regtune
