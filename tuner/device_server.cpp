#include "device_server.hpp"

#include <exception>
#include <string>
#include <utility>

#include "regtune/error.hpp"
#include "workload_message.hpp"

namespace regtune {

CudaStatus describe_gpu(const Driver& driver, int ordinal, GpuState& state) {
  if (CudaStatus status = driver.describe(ordinal, state); !status.ok()) return status;
  const NvmlFacts facts = nvml_facts(driver.pci_bus_id(ordinal));
  if (!facts.driver_version.empty()) state.driver_version = facts.driver_version;
  state.other_users = facts.other_users;
  return {};
}

DeviceServer::DeviceServer(Channel& channel, const Driver& driver, const NvmlClocks& clocks, std::int64_t l2_bytes,
                           MakeData make_data, AnswerOther other)
    : channel_(channel),
      driver_(driver),
      clocks_(clocks),
      l2_bytes_(l2_bytes),
      make_data_(std::move(make_data)),
      other_(std::move(other)) {}

std::optional<Message> DeviceServer::serve() {
  while (true) {
    Channel::Received received = channel_.receive();
    if (received.state != Channel::State::message) return {};
    if (const Message& what = received.message.at("do"); what == "end" || what == "go on")
      return std::move(received.message);
    Message reply;
    try {
      reply = answer(received.message);
    } catch (const Error& failure) {
      reply = {{"failure", failure.what()}, {"kind", static_cast<int>(failure.kind())}};
    } catch (const std::exception& failure) {  // an application that we are in must not end by it
      reply = {{"failure", failure.what()}, {"kind", static_cast<int>(ErrorKind::internal)}};
    }
    context_is_lost_ = reply.contains("faulted");
    if (!channel_.send(reply) || context_is_lost_) return {};
  }
}

void DeviceServer::make_plan(const Message& request) {
  release();
  data_ = make_data_(request);
  sampling_.emplace(driver_, *data_, clocks_, l2_bytes_);
  sampling_->prepare_flushing();
  if (request.at("cooperative").get<bool>()) sampling_->launch_cooperatively(!snapshot_of(request));
  if (const auto cluster = cluster_of(request)) sampling_->launch_in_clusters(*cluster);
  if (request.at("never_restore").get<bool>()) sampling_->never_restore();
}

Message DeviceServer::answer(const Message& request) {
  if (other_)
    if (std::optional<Message> reply = other_(request)) return std::move(*reply);
  const std::string what = request.at("do");
  if (what == "plan") {
    make_plan(request);
    return {{"ok", true}};
  }
  if (!sampling_) throw Error(ErrorKind::internal, "the GPU's process was asked to " + what + " before it had a plan");
  if (what == "load") return sampling_->load(request);
  if (what == "warm_up") return sampling_->warm_up(request);
  if (what == "copy_bandwidth") return sampling_->copy_bandwidth();
  const int id = request.at("id");
  if (what == "unload") return sampling_->unload(id);
  if (what == "reference") return sampling_->reference(id);
  if (what == "check") return sampling_->check(id);
  if (what == "launch") return sampling_->launch_once(id);
  return what == "sample_cold" ? sampling_->sample_cold(id) : sampling_->sample(id);
}

void DeviceServer::release() {
  if (sampling_) sampling_->release();
  sampling_.reset();
  if (data_) data_->release();
  data_.reset();
}

}  // namespace regtune
