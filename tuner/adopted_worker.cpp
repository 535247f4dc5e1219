#include "adopted_worker.hpp"

#include <memory>
#include <string>

#include "device_server.hpp"
#include "nvml.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "snapshot_buffers.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

std::unique_ptr<LaunchData> make_data(const Driver& driver, const Message& request) {
  const auto snapshot = snapshot_of(request);
  if (!snapshot || !snapshot->in_place)
    throw Error(ErrorKind::internal, "an application was given a plan that is not about its own memory");
  auto captured = std::make_unique<SnapshotBuffers>(driver);
  try {
    captured->make(request);
  } catch (...) {
    captured->release();
    throw;
  }
  return captured;
}

}  // namespace

std::optional<Message> serve_adopted(Channel& channel, const Driver& driver,
                                     const std::function<std::optional<Message>(const Message&)>& other) {
  std::uint64_t context = 0;
  int ordinal = 0;
  if (!driver.current_context(context, ordinal)) {
    channel.send({{"no_gpu", "the application's thread has no CUDA context"}});
    return {};
  }
  GpuState state;
  if (const CudaStatus status = describe_gpu(driver, ordinal, state); !status.ok()) {
    channel.send({{"no_gpu", status.text}});
    return {};
  }
  channel.send({{"gpu", state}});
  const NvmlClocks clocks(driver.pci_bus_id(ordinal));
  DeviceServer server(
      channel, driver, clocks, state.l2_bytes, [&](const Message& request) { return make_data(driver, request); },
      other);
  std::optional<Message> last = server.serve();
  if (server.context_is_lost()) return {};
  server.release();
  return last;
}

}  // namespace regtune
