#pragma once
// Answers the requests of device.cpp in the process that drives the GPU, one after the other, until it is told to stop.
// Which data a plan is about its caller says: an application that is tuned in place has no need of the described kind.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "device_sampling.hpp"
#include "driver.hpp"
#include "launch_data.hpp"
#include "nvml.hpp"
#include "record.hpp"
#include "worker.hpp"

namespace regtune {

// What the other side is told first: the device `ordinal` as the driver and NVML know it.
CudaStatus describe_gpu(const Driver& driver, int ordinal, GpuState& state);

class DeviceServer {
 public:
  // The data of a "plan" request, made.
  using MakeData = std::function<std::unique_ptr<LaunchData>(const Message& request)>;

  // A reply to what is not about the GPU; empty: it is.
  using AnswerOther = std::function<std::optional<Message>(const Message& request)>;

  // All outlive it. `l2_bytes`: of the GPU's L2 cache.
  DeviceServer(Channel& channel, const Driver& driver, const NvmlClocks& clocks, std::int64_t l2_bytes,
               MakeData make_data, AnswerOther other = nullptr);

  // Answers until the channel closes, the context is lost (both: nothing is returned), or a request says to "end" or to
  // "go on", which is returned.
  std::optional<Message> serve();
  bool context_is_lost() const { return context_is_lost_; }

  // For a context that goes on without us: memory and modules as before. Throws Error(gpu_failed).
  void release();

 private:
  Message answer(const Message& request);
  void make_plan(const Message& request);

  Channel& channel_;
  const Driver& driver_;
  const NvmlClocks& clocks_;
  std::int64_t l2_bytes_;
  MakeData make_data_;
  AnswerOther other_;
  std::unique_ptr<LaunchData> data_;
  std::optional<DeviceSampling> sampling_;  // of data_
  bool context_is_lost_ = false;
};

}  // namespace regtune
