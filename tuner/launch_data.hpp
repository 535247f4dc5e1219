#pragma once
// What a launch works on, on the GPU: its parameters, the memory behind them, and what the reference left there, with
// which the codes of candidates are compared. The buffers of a description (device_buffers.hpp) and the memory of a
// captured application (snapshot_buffers.hpp) are such data. Says what it found in words for people, and throws Error
// when the GPU refuses what no candidate is to blame for.
#include <string>
#include <vector>

#include "driver.hpp"

namespace regtune {

class LaunchData {
 public:
  LaunchData() = default;
  LaunchData(const LaunchData&) = delete;
  LaunchData& operator=(const LaunchData&) = delete;
  virtual ~LaunchData() = default;

  // One pointer to each parameter's value.
  virtual std::vector<void*>& parameters() = 0;
  virtual const LoadedKernel& empty_kernel() const = 0;

  // Puts the values of the plan into the variables of a module that was just loaded. "" or why that cannot be done.
  virtual std::string fill_variables(const LoadedKernel& loaded) const = 0;

  // The initial data, into all that the kernel may change. Does not wait.
  virtual void restore() = 0;
  // What a launch left is what the others are compared with.
  virtual void keep_as_reference() = 0;
  // "out: 1 of 16 elements differ, ..."; empty when nothing does.
  virtual std::string differences(bool bit_by_bit) = 0;
  // How a person says what is close enough.
  virtual std::string example_of_tolerance() const = 0;
  // "wrote up to 4 bytes past the end of out"; empty when no guard has changed since the last call. Mends them.
  virtual std::string damage() = 0;

  // For a context that goes on without us: the memory is as it was before, and what was allocated is freed. Nothing can
  // be launched on it then.
  virtual void release() = 0;
};

}  // namespace regtune
