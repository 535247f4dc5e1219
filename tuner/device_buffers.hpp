#pragma once
// The buffers of a launch, on the GPU: their initial data, the reference's results, the textures and tensor maps over
// them, and the guards around each, which tell of writes out of bounds. Compares without moving the data. Lives in the
// child process that owns the GPU; says what it found in words for people, and throws Error when the GPU refuses what
// no candidate is to blame for.
#include <cstdint>
#include <string>
#include <vector>

#include "driver.hpp"
#include "element_type.hpp"
#include "launch_data.hpp"
#include "own_code.hpp"
#include "worker.hpp"

namespace regtune {

class DeviceBuffers final : public LaunchData {
 public:
  explicit DeviceBuffers(const Driver& driver) : driver_(driver), own_code_(driver) {}

  // Loads regtune's own code and makes the buffers of a "plan" request (device.cpp). Throws Error(buffer_too_large,
  // bad_description).
  void make(const Message& request);

  std::vector<void*>& parameters() override { return parameters_; }
  const LoadedKernel& empty_kernel() const override { return empty_kernel_; }
  std::string fill_variables(const LoadedKernel& loaded) const override;
  void restore() override;
  void keep_as_reference() override;
  std::string differences(bool bit_by_bit) override;
  std::string example_of_tolerance() const override { return "args.<buffer> = { ..., rtol = 1e-5 }"; }
  std::string damage() override;
  void release() override {}  // the process ends, and with it the context

 private:
  struct Buffer {
    std::string name;
    ElementType type{};
    std::int64_t count = 0;
    std::int64_t bytes = 0;
    bool output = false;
    bool writable = false;
    bool copied = false;  // into the memory of a texture
    double absolute_tolerance = 0;
    double relative_tolerance = 0;
    std::int64_t ulp_tolerance = 0;
    std::uint64_t seed = 0;       // of its data and its guards
    DeviceAddress address = 0;    // what the kernel gets; a guard lies before and behind it
    DeviceAddress pristine = 0;   // its initial data; writable buffers only
    DeviceAddress reference = 0;  // what the reference left in it; outputs only
  };
  // The bytes of a parameter or of a variable, once the addresses of its buffers are in them.
  struct Value {
    std::string name;
    std::string bytes;
    bool fills_all = true;
  };

  void describe_buffers(const Message& parameter, std::uint64_t seed);
  Value value_of(const Message& described, std::size_t& next_buffer);
  Value handle_of(const Message& described, std::size_t& next_buffer);
  void encode_map(const Message& described, void* place) const;
  static Buffer described(const Message& parameter);
  void copy_file(const std::string& path, const Buffer& buffer) const;
  void refuse_what_does_not_fit() const;
  void fill(Buffer& buffer, const Message& parameter);
  void guard(const Buffer& buffer) const;
  ElementDifference compare(const Buffer& buffer, bool bit_by_bit) const;

  const Driver& driver_;
  OwnCode own_code_;
  LoadedKernel guard_kernel_;
  LoadedKernel check_guard_kernel_;
  LoadedKernel empty_kernel_;
  std::vector<Value> values_;
  std::vector<Value> variables_;
  std::vector<Buffer> buffers_;
  std::vector<void*> parameters_;
  DeviceAddress damages_ = 0;  // one for each buffer
};

}  // namespace regtune
