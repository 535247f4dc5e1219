#include "device_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include "driver.hpp"
#include "npy.hpp"
#include "nvml.hpp"
#include "record_json.hpp"
#include "regtune/error.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

// A sample of a short kernel spans this much GPU time, so that an event's resolution (0.5 us) and the gap
// before the first launch are no issue.
constexpr double kSampleMs = 1;
// Clocks of an idle GPU need some work to rise.
constexpr double kWarmUpMs = 60;

// The GPU answered with an error that no candidate is to blame for.
struct GpuFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Buffer {
  std::string name;
  ElementType type{};
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  bool output = false;
  bool writable = false;
  double absolute_tolerance = 0;
  double relative_tolerance = 0;
  DeviceAddress address = 0;    // what the kernel gets
  DeviceAddress pristine = 0;   // its initial data; writable buffers only
  DeviceAddress reference = 0;  // what the reference left in it; outputs only
};

// As regtune_compare in device_code.cu declares it.
struct Difference {
  unsigned long long differing = 0;
  unsigned long long first = ~0ull;
  double value = 0;
  double reference = 0;
};

std::string bytes_of(const Message& message) {
  const auto& bytes = message.get_binary();
  return {bytes.begin(), bytes.end()};
}

class DeviceServer {
 public:
  DeviceServer(Channel& channel, Driver& driver) : channel_(channel), driver_(driver) {}

  // Answers until the channel closes or the context is lost.
  void serve(int ordinal) {
    expect(driver_.make_context(ordinal), "making a context");
    while (true) {
      const Channel::Received received = channel_.receive();
      if (received.state != Channel::State::message) return;
      Message reply;
      try {
        reply = answer(received.message);
      } catch (const GpuFailure& failure) {
        reply = {{"failure", failure.what()}, {"kind", static_cast<int>(ErrorKind::gpu_failed)}};
      } catch (const Error& failure) {
        reply = {{"failure", failure.what()}, {"kind", static_cast<int>(failure.kind())}};
      }
      if (!channel_.send(reply) || reply.contains("faulted")) return;
    }
  }

 private:
  Message answer(const Message& request) {
    const std::string what = request.at("do");
    if (what == "plan") return plan(request);
    if (what == "load") return load(request);
    if (what == "unload") return unload(request.at("id"));
    if (what == "reference") return reference(request.at("id"));
    if (what == "check") return check(request.at("id"));
    return sample(request.at("id"));
  }

  static void expect(const CudaStatus& status, const std::string& doing) {
    if (!status.ok()) throw GpuFailure(fmt::format("{} failed: {}", doing, status.text));
  }

  Message plan(const Message& request) {
    seed_ = request.at("seed");
    helpers_ = bytes_of(request.at("device_code"));
    for (const auto& [type, names] : request.at("functions").items())
      for (const auto& [purpose, name] : names.items()) {
        LoadedKernel loaded;
        expect(driver_.load(helpers_, name.get<std::string>(), 0, loaded), "loading regtune's own device code");
        functions_[type + " " + purpose] = loaded;
      }
    // The parameter block points into scalars_ and buffers_: both are complete before the pointers are taken.
    for (const Message& parameter : request.at("parameters")) {
      if (parameter.contains("bytes"))
        scalars_.push_back(bytes_of(parameter.at("bytes")));
      else
        buffers_.push_back(described(parameter));
    }
    refuse_what_does_not_fit();
    std::size_t scalar = 0;
    std::size_t buffer = 0;
    for (const Message& parameter : request.at("parameters")) {
      if (parameter.contains("bytes")) {
        parameters_.push_back(scalars_[scalar++].data());
      } else {
        make(buffers_[buffer], parameter);
        parameters_.push_back(&buffers_[buffer++].address);
      }
    }
    expect(driver_.allocate(sizeof(Difference), difference_), "allocating a result");
    return {{"ok", true}};
  }

  static Buffer described(const Message& parameter) {
    Buffer buffer;
    buffer.name = parameter.at("name");
    buffer.type = static_cast<ElementType>(parameter.at("type").get<int>());
    buffer.count = parameter.at("count");
    buffer.bytes = buffer.count * size_bytes(buffer.type);
    buffer.output = parameter.at("output");
    buffer.writable = parameter.at("writable");
    buffer.absolute_tolerance = parameter.at("absolute_tolerance");
    buffer.relative_tolerance = parameter.at("relative_tolerance");
    return buffer;
  }

  void refuse_what_does_not_fit() const {
    std::int64_t needed = 0;
    for (const Buffer& buffer : buffers_) {
      const int copies = 1 + (buffer.writable ? 1 : 0) + (buffer.output ? 1 : 0);
      needed += copies * buffer.bytes;
    }
    std::int64_t free = 0;
    expect(driver_.free_memory(free), "reading the free memory");
    if (needed > free)
      throw Error(ErrorKind::buffer_too_large,
                  fmt::format("the buffers need {} MiB on the GPU (an output three times: itself, its initial data and "
                              "the reference's result), and {} MiB are free; choose smaller sizes with --set",
                              needed >> 20, free >> 20));
  }

  void make(Buffer& buffer, const Message& parameter) {
    const std::string doing = fmt::format("allocating {} MiB for {}", buffer.bytes >> 20, buffer.name);
    // An empty buffer still needs an address of its own.
    const std::int64_t bytes = std::max<std::int64_t>(buffer.bytes, 16);
    expect(driver_.allocate(bytes, buffer.address), doing);
    if (buffer.writable) expect(driver_.allocate(bytes, buffer.pristine), doing);
    if (buffer.output) expect(driver_.allocate(bytes, buffer.reference), doing);
    const auto init = static_cast<BufferInit::Kind>(parameter.at("init").get<int>());
    if (init == BufferInit::Kind::file) {
      const std::string data = read_data(parameter.at("path"), buffer);
      expect(driver_.copy_to_device(buffer.address, data.data(), static_cast<std::int64_t>(data.size())), doing);
    } else if (init == BufferInit::Kind::zeros) {
      expect(driver_.fill_bytes_async(buffer.address, 0, bytes), "filling " + buffer.name);
    } else {
      fill(buffer, static_cast<int>(init), parameter.at("a"), parameter.at("b"));
    }
    if (buffer.writable)
      expect(driver_.copy_on_device_async(buffer.pristine, buffer.address, bytes), "copying " + buffer.name);
    expect(driver_.synchronize(), "making the data of " + buffer.name);
  }

  static std::string read_data(const std::string& path, const Buffer& buffer) {
    std::string data = read_buffer_file(path);
    if (static_cast<std::int64_t>(data.size()) != buffer.bytes)
      throw Error(ErrorKind::bad_description, fmt::format("{}: holds {} bytes of data, and {} takes {}; did the file "
                                                          "change?",
                                                          path, data.size(), buffer.name, buffer.bytes));
    return data;
  }

  CudaStatus run_helper(const Buffer& buffer, const std::string& purpose, std::vector<void*> parameters,
                        std::int64_t elements) {
    const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>((elements + 255) / 256, 1, 8192));
    const LaunchShape shape{{blocks, 1, 1}, {static_cast<unsigned>(elements == 1 ? 1 : 256), 1, 1}, 0};
    return driver_.launch(functions_.at(fmt::format("{} {}", to_string(buffer.type), purpose)), shape, parameters);
  }

  void fill(const Buffer& buffer, int kind, double a, double b) {
    auto address = buffer.address;
    auto count = static_cast<unsigned long long>(buffer.count);
    // Buffers of one seed must not hold the same numbers.
    unsigned long long seed =
        seed_ * 0x9e3779b97f4a7c15ull + static_cast<unsigned long long>(&buffer - buffers_.data());
    expect(run_helper(buffer, "fill", {&address, &count, &kind, &a, &b, &seed}, buffer.count),
           "filling " + buffer.name);
  }

  Message load(const Message& request) {
    const int id = request.at("id");
    if (candidates_.contains(id)) return {{"ok", true}};
    LoadedKernel loaded;
    const auto shape = request.at("shape").get<LaunchShape>();
    const std::string cubin = bytes_of(request.at("cubin"));
    const CudaStatus status = driver_.load(cubin, request.at("kernel"), shape.dynamic_shared_bytes, loaded);
    if (!status.ok()) return {{"refused", "the driver does not load this code: " + status.text}};
    candidates_[id] = {loaded, shape};
    return {{"ok", true}};
  }

  Message unload(int id) {
    if (const auto found = candidates_.find(id); found != candidates_.end()) {
      driver_.unload(found->second.kernel);
      candidates_.erase(found);
    }
    return {{"ok", true}};
  }

  struct Loaded {
    LoadedKernel kernel;
    LaunchShape shape;
  };

  void restore() {
    for (const Buffer& buffer : buffers_)
      if (buffer.writable)
        expect(driver_.copy_on_device_async(buffer.address, buffer.pristine, buffer.bytes), "restoring " + buffer.name);
  }

  // Every launch goes through here, and its return code is the first thing looked at: a refused launch must
  // never be timed as an empty pair of events.
  std::optional<Message> timed_launches(int id, int launches, double& ms_per_launch) {
    Loaded& candidate = candidates_.at(id);
    expect(driver_.start_timer(), "recording an event");
    for (int i = 0; i < launches; ++i) {
      const CudaStatus status = driver_.launch(candidate.kernel, candidate.shape, parameters_);
      if (status.refused()) return Message{{"refused", "the driver refused the launch: " + status.text}};
      if (!status.ok()) return Message{{"faulted", status.text}};
    }
    double ms = 0;
    if (const CudaStatus status = driver_.stop_timer(ms); !status.ok()) return Message{{"faulted", status.text}};
    ms_per_launch = ms / launches;
    return {};
  }

  Difference compare(const Buffer& buffer, double absolute, double relative) {
    Difference difference;
    if (buffer.count == 0) return difference;
    expect(driver_.copy_to_device(difference_, &difference, sizeof difference), "preparing a comparison");
    auto values = buffer.address;
    auto references = buffer.reference;
    auto count = static_cast<unsigned long long>(buffer.count);
    auto result = difference_;
    expect(run_helper(buffer, "compare", {&values, &references, &count, &absolute, &relative, &result}, buffer.count),
           "comparing " + buffer.name);
    expect(run_helper(buffer, "show", {&values, &references, &result}, 1), "comparing " + buffer.name);
    expect(driver_.copy_to_host(&difference, difference_, sizeof difference), "comparing " + buffer.name);
    return difference;
  }

  // What differs from the reference's outputs; empty when nothing does.
  std::string differences(bool bit_by_bit) {
    std::string found;
    for (const Buffer& buffer : buffers_) {
      if (!buffer.output) continue;
      const Difference difference =
          compare(buffer, bit_by_bit ? 0 : buffer.absolute_tolerance, bit_by_bit ? 0 : buffer.relative_tolerance);
      if (difference.differing == 0) continue;
      if (!found.empty()) found += "; ";
      found +=
          fmt::format("{}: {} of {} elements differ, the first at {}: {} instead of {}", buffer.name,
                      difference.differing, buffer.count, difference.first, difference.value, difference.reference);
    }
    return found;
  }

  Message reference(int id) {
    double ms = 0;
    restore();
    if (auto failed = timed_launches(id, 1, ms)) return *failed;
    for (const Buffer& buffer : buffers_)
      if (buffer.output)
        expect(driver_.copy_on_device_async(buffer.reference, buffer.address, buffer.bytes), "keeping " + buffer.name);
    // A second launch on what the first left: a difference means that the kernel reads what it writes, so
    // each timed launch needs the initial data; or that it never gives the same result twice.
    if (auto failed = timed_launches(id, 1, ms)) return *failed;
    restored_ = !differences(true).empty();
    if (restored_) {
      restore();
      if (auto failed = timed_launches(id, 1, ms)) return *failed;
      if (const std::string beyond = differences(false); !beyond.empty())
        throw Error(ErrorKind::bad_description,
                    fmt::format("the author's own code gives another result each time ({}); atomics on floating-point "
                                "numbers do that. Say what is close enough: args.<buffer> = {{ ..., rtol = 1e-5 }}",
                                beyond));
    }
    double warm = 0;
    for (int i = 0; i < 1000 && warm < kWarmUpMs; ++i) {
      if (restored_) restore();
      if (auto failed = timed_launches(id, 1, ms)) return *failed;
      warm += ms;
    }
    launches_per_sample_ =
        restored_ ? 1 : static_cast<int>(std::clamp(std::ceil(kSampleMs / std::max(ms, 1e-4)), 1.0, 1000.0));
    return {{"ms", ms}, {"launches_per_sample", launches_per_sample_}, {"restored", restored_}};
  }

  Message check(int id) {
    restore();
    double ms = 0;
    if (auto failed = timed_launches(id, 1, ms)) return *failed;
    if (const std::string found = differences(false); !found.empty()) return {{"wrong", found}};
    return {{"ms", ms}};
  }

  Message sample(int id) {
    if (restored_) restore();
    double ms = 0;
    if (auto failed = timed_launches(id, launches_per_sample_, ms)) return *failed;
    return {{"ms", ms}};
  }

  Channel& channel_;
  Driver& driver_;
  std::uint64_t seed_ = 1;
  std::string helpers_;
  std::map<std::string, LoadedKernel> functions_;
  std::vector<std::string> scalars_;
  std::vector<Buffer> buffers_;
  std::vector<void*> parameters_;
  std::map<int, Loaded> candidates_;
  DeviceAddress difference_ = 0;
  bool restored_ = false;
  int launches_per_sample_ = 1;
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
  const NvmlFacts facts = nvml_facts(driver->pci_bus_id(ordinal));
  if (!facts.driver_version.empty()) state.driver_version = facts.driver_version;
  state.other_users = facts.other_users;
  channel.send({{"gpu", state}});
  DeviceServer(channel, *driver).serve(ordinal);
}

}  // namespace regtune
