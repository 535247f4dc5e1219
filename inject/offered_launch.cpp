#include "offered_launch.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>

#include "adopted_device.hpp"
#include "allocations.hpp"
#include "driver_functions.hpp"
#include "images.hpp"
#include "supervisor_link.hpp"

namespace regtune {
namespace {

std::atomic<bool> is_tuning{false};
std::atomic<bool> was_offered{false};

std::int64_t available_host_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  for (std::string unit; file >> name >> kib; std::getline(file, unit))
    if (name == "MemAvailable:") return kib * 1024;
  return 0;
}

std::string why_not(CUresult code, const std::string& doing) {
  return fmt::format("{} failed with CUDA error {}", doing, static_cast<int>(code));
}

std::vector<Allocation> allocations_here() {
  CUdevice device = 0;
  driver().cuCtxGetDevice_call(&device);
  return allocations_of_device(device);
}

Message list_memory() {
  Message ranges = Message::array();
  for (const Allocation& allocation : allocations_here()) ranges.push_back({allocation.address, allocation.bytes, 0});
  return {{"ranges", ranges}};
}

// A file of the program's memory: what is there before the launch, and behind it what the launch leaves.
class MemoryCopy {
 public:
  MemoryCopy() = default;
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;
  ~MemoryCopy() {
    if (memory_ != MAP_FAILED) munmap(memory_, size_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  int descriptor() const { return descriptor_; }

  // The bytes of every allocation, one behind the other. The reply says where each lies.
  Message before() {
    allocations_ = allocations_here();
    for (const Allocation& allocation : allocations_) total_ += static_cast<std::int64_t>(allocation.bytes);
    const std::int64_t available = available_host_bytes();
    if (available > 0 && 2 * total_ > available / 10 * 9)
      return {{"failure", fmt::format("the program holds {} MiB of the GPU's memory, and the host has {} MiB free for "
                                      "two copies of it; a smaller problem needs less",
                                      total_ >> 20, available >> 20)}};
    descriptor_ = memfd_create("regtune memory", MFD_CLOEXEC);
    size_ = static_cast<std::size_t>(std::max<std::int64_t>(2 * total_, 1));
    if (descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(size_)) == 0)
      memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory_ == MAP_FAILED) return {{"failure", "no memory for a copy of the program's memory"}};
    if (const std::string failure = copy_to(0); !failure.empty()) return {{"failure", failure}};
    Message ranges = Message::array();
    std::int64_t offset = 0;
    for (const Allocation& allocation : allocations_) {
      ranges.push_back({allocation.address, allocation.bytes, offset});
      offset += static_cast<std::int64_t>(allocation.bytes);
    }
    return {{"ranges", ranges}, {"bytes", total_}};
  }

  Message after() {
    if (memory_ == MAP_FAILED) return {{"failure", "the memory before the launch was not copied"}};
    if (const std::string failure = copy_to(total_); !failure.empty()) return {{"failure", failure}};
    return {{"ok", true}};
  }

 private:
  // "" or why it cannot be done.
  std::string copy_to(std::int64_t offset) const {
    for (const Allocation& allocation : allocations_) {
      const CUresult code =
          driver().cuMemcpyDtoH_call(static_cast<char*>(memory_) + offset, allocation.address, allocation.bytes);
      if (code != CUDA_SUCCESS)
        return why_not(code,
                       fmt::format("copying the {} bytes at {:#x} to the host", allocation.bytes, allocation.address));
      offset += static_cast<std::int64_t>(allocation.bytes);
    }
    return "";
  }

  std::vector<Allocation> allocations_;
  std::int64_t total_ = 0;
  int descriptor_ = -1;
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

// The module's variables of these names, as they are now. One that is not there is left out.
Message copy_variables(const Message& names, const WatchedKernel& kernel) {
  Message found = Message::object();
  for (const Message& name : names) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const std::string text = name;
    if (driver().cuModuleGetGlobal_call(&address, &bytes, kernel.module, text.c_str()) != CUDA_SUCCESS) continue;
    std::string value(bytes, '\0');
    if (driver().cuMemcpyDtoH_call(value.data(), address, bytes) == CUDA_SUCCESS) found[text] = binary(value);
  }
  return {{"variables", found}};
}

// What the kernel was loaded from: its length in a message, and behind it a file that no one else has.
void send_image(Channel& channel, const WatchedKernel& kernel) {
  const std::string image = bytes_of_image(kernel.image);
  const int descriptor = image.empty() ? -1 : memfd_create("regtune image", MFD_CLOEXEC);
  std::size_t written = 0;
  while (descriptor >= 0 && written < image.size()) {
    const ssize_t count = write(descriptor, image.data() + written, image.size() - written);
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const bool is_whole = descriptor >= 0 && written == image.size();
  channel.send(is_whole ? Message{{"bytes", written}}
                        : Message{{"failure", image.empty() ? "the program has unloaded it"
                                                            : "no memory for a copy of what it was loaded from"}});
  if (is_whole) channel.send_descriptor(descriptor);
  if (descriptor >= 0) close(descriptor);
}

// Words of the parameters that are addresses of the host's memory: no other process has them.
int host_pointers(const std::string& block) {
  int found = 0;
  for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= block.size(); at += sizeof(CUdeviceptr)) {
    CUdeviceptr word = 0;
    std::memcpy(&word, block.data() + at, sizeof word);
    CUmemorytype type{};
    unsigned is_managed = 0;
    if (word < 4096 ||
        driver().cuPointerGetAttribute_call(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) != CUDA_SUCCESS)
      continue;
    driver().cuPointerGetAttribute_call(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, word);
    if (type == CU_MEMORYTYPE_HOST && !is_managed) ++found;
  }
  return found;
}

Message cluster_of_launch(const Launch& launch) {
  if (!launch.configuration) return nullptr;
  for (unsigned i = 0; i < launch.configuration->numAttrs; ++i) {
    const CUlaunchAttribute& attribute = launch.configuration->attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
  }
  return nullptr;
}

Message offer_of(const Launch& launch, const WatchedShape& watched) {
  const WatchedKernel& kernel = *watched.kernel;
  Message places = Message::array();
  for (const ParameterPlace& place : kernel.parameters) places.push_back({place.offset_bytes, place.size_bytes});
  const std::string block = parameter_block(launch, kernel);
  const LaunchShape& shape = launch.shape;
  return {{"ask", "launch"},
          {"process", getpid()},
          {"number", kernel.number},
          {"grid", {shape.grid.x, shape.grid.y, shape.grid.z}},
          {"block", {shape.block.x, shape.block.y, shape.block.z}},
          {"dynamic_shared_bytes", shape.dynamic_shared_bytes},
          {"cooperative", launch.is_cooperative},
          {"cluster", cluster_of_launch(launch)},
          {"parameters", places},
          {"parameter_block", binary(block)},
          {"host_pointers", host_pointers(block)}};
}

// Until regtune lets the program go on, or is gone. What became of the launch, where regtune wanted it made.
std::optional<CUresult> answer(SupervisorLink& link, const Launch& launch, const WatchedKernel& kernel) {
  Channel& channel = link.channel();
  MemoryCopy copy;
  std::optional<CUresult> launched;
  while (true) {
    const Channel::Received received = channel.receive();
    if (received.state != Channel::State::message) return launched;
    const std::string what = received.message.value("do", "");
    if (what == "copy memory") {
      const Message reply = copy.before();
      channel.send(reply);
      if (!reply.contains("failure")) channel.send_descriptor(copy.descriptor());
    } else if (what == "list memory") {
      channel.send(list_memory());
    } else if (what == "copy variables") {
      channel.send(copy_variables(received.message.at("names"), kernel));
    } else if (what == "copy image") {
      send_image(channel, kernel);
    } else if (what == "launch" && !launched) {
      launched = launch_as_asked(launch, launch.function);
      const CUresult ended = *launched == CUDA_SUCCESS ? driver().cuCtxSynchronize_call() : *launched;
      channel.send(ended == CUDA_SUCCESS ? copy.after()
                                         : Message{{"failure", why_not(ended, "the program's own launch")}});
    } else {
      // "go on" ends this too, once regtune has worked here.
      if (what == "serve")
        serve_in_this_context(channel, [&](const Message& request) -> std::optional<Message> {
          if (request.at("do") != "copy variables") return std::nullopt;
          return copy_variables(request.at("names"), kernel);
        });
      return launched;
    }
  }
}

}  // namespace

std::optional<CUresult> offer_launch(const Launch& launch, WatchedShape& watched) {
  WatchedKernel& kernel = *watched.kernel;
  if (was_offered || ++kernel.matching_launches != kernel.offered_launch) return {};
  SupervisorLink* const link = SupervisorLink::of_this_process();
  if (!link) return {};
  const std::lock_guard lock(link->mutex());
  if (was_offered.exchange(true)) return {};
  std::optional<CUresult> launched;
  is_tuning = true;
  if (driver().cuCtxSynchronize_call() == CUDA_SUCCESS && link->channel().send(offer_of(launch, watched)))
    launched = answer(*link, launch, kernel);
  is_tuning = false;
  return launched;
}

void wait_while_a_launch_is_tuned() {
  if (!is_tuning.load(std::memory_order_acquire)) return;
  if (SupervisorLink* const link = SupervisorLink::of_this_process()) const std::lock_guard lock(link->mutex());
}

std::string parameter_block(const Launch& launch, const WatchedKernel& kernel) {
  std::string block(kernel.block_bytes, '\0');
  if (launch.parameters) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      std::memcpy(block.data() + kernel.parameters[i].offset_bytes, launch.parameters[i],
                  kernel.parameters[i].size_bytes);
    return block;
  }
  for (void** word = launch.extra; word && *word != CU_LAUNCH_PARAM_END; word += 2)
    if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) std::memcpy(block.data(), word[1], block.size());
  return block;
}

}  // namespace regtune
