#include "device_worker.hpp"

#include <fmt/format.h>

#include "device_buffers.hpp"
#include "device_sampling.hpp"
#include "driver.hpp"
#include "nvml.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

class DeviceServer {
 public:
  DeviceServer(Channel& channel, const Driver& driver, const NvmlClocks& clocks, std::int64_t l2_bytes)
      : channel_(channel), buffers_(driver), sampling_(driver, buffers_, clocks, l2_bytes) {}

  // Answers until the channel closes or the context is lost.
  void serve() {
    while (true) {
      const Channel::Received received = channel_.receive();
      if (received.state != Channel::State::message || received.message.at("do") == "end") return;
      Message reply;
      try {
        reply = answer(received.message);
      } catch (const Error& failure) {
        reply = {{"failure", failure.what()}, {"kind", static_cast<int>(failure.kind())}};
      }
      if (!channel_.send(reply) || reply.contains("faulted")) return;
    }
  }

 private:
  Message answer(const Message& request) {
    const std::string what = request.at("do");
    if (what == "plan") {
      buffers_.make(request);
      sampling_.prepare_flushing();
      if (request.at("cooperative").get<bool>()) sampling_.launch_cooperatively();
      if (const auto cluster = cluster_of(request)) sampling_.launch_in_clusters(*cluster);
      if (request.at("never_restore").get<bool>()) sampling_.never_restore();
      return {{"ok", true}};
    }
    if (what == "load") return sampling_.load(request);
    if (what == "warm_up") return sampling_.warm_up(request);
    if (what == "copy_bandwidth") return sampling_.copy_bandwidth();
    const int id = request.at("id");
    if (what == "unload") return sampling_.unload(id);
    if (what == "reference") return sampling_.reference(id);
    if (what == "check") return sampling_.check(id);
    if (what == "launch") return sampling_.launch_once(id);
    return what == "sample_cold" ? sampling_.sample_cold(id) : sampling_.sample(id);
  }

  Channel& channel_;
  DeviceBuffers buffers_;
  DeviceSampling sampling_;
};

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
  if (const CudaStatus status = driver->describe(ordinal, state); !status.ok()) {
    channel.send({{"no_gpu", status.text}});
    return;
  }
  const std::string bus_id = driver->pci_bus_id(ordinal);
  const NvmlFacts facts = nvml_facts(bus_id);
  if (!facts.driver_version.empty()) state.driver_version = facts.driver_version;
  state.other_users = facts.other_users;
  channel.send({{"gpu", state}});
  require(driver->make_context(ordinal), "making a context");
  const NvmlClocks clocks(bus_id);
  DeviceServer(channel, *driver, clocks, state.l2_bytes).serve();
}

}  // namespace regtune
