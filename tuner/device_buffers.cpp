#include "device_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "npy.hpp"
#include "regtune/error.hpp"
#include "workload_message.hpp"

namespace regtune {
namespace {

// Before and behind each buffer. A loop that runs one block too far is still within it.
constexpr std::int64_t kGuardBytes = 4096;

constexpr std::int64_t kFilePieceBytes = 4 << 20;

// As device_code.cu declares it.
struct Damage {
  unsigned long long before = 0;
  unsigned long long behind = 0;
};

// Memory of its own even for an empty buffer.
std::int64_t allocated_bytes(std::int64_t bytes) {
  return std::max<std::int64_t>(bytes, 16);
}

bool is_plain_buffer(const Message& parameter) {
  return !parameter.contains("bytes") && !parameter.contains("texture") && !parameter.contains("tensor_map");
}

std::string spell_damage(const Damage& damage, const std::string& name) {
  const auto distance = [](unsigned long long bytes) {
    return bytes >= static_cast<unsigned long long>(kGuardBytes) ? fmt::format("{} bytes or more", kGuardBytes)
                                                                 : fmt::format("up to {} bytes", bytes);
  };
  std::string text;
  if (damage.behind > 0) text = fmt::format("wrote {} past the end of {}", distance(damage.behind), name);
  if (damage.before > 0)
    text += fmt::format("{}wrote {} before the start of {}", text.empty() ? "" : "; ", distance(damage.before), name);
  return text;
}

}  // namespace

void DeviceBuffers::make(const Message& request) {
  own_code_.load(request);
  guard_kernel_ = own_code_.kernel("regtune_guard");
  check_guard_kernel_ = own_code_.kernel("regtune_check_guard");
  empty_kernel_ = own_code_.kernel("regtune_nothing");
  const std::uint64_t seed = request.at("seed");
  for (const Message& parameter : request.at("parameters")) describe_buffers(parameter, seed);
  for (const Message& variable : request.at("globals")) describe_buffers(variable, seed);
  refuse_what_does_not_fit();
  require(
      driver_.allocate(static_cast<std::int64_t>(sizeof(Damage) * std::max<std::size_t>(1, buffers_.size())), damages_),
      "allocating a result");
  // The parameter block points into values_ and buffers_: neither may move any more.
  const Message& parameters = request.at("parameters");
  values_.reserve(parameters.size());
  std::size_t buffer = 0;
  for (const Message& parameter : parameters) {
    if (is_plain_buffer(parameter)) {
      fill(buffers_[buffer], parameter);
      parameters_.push_back(&buffers_[buffer++].address);
    } else {
      values_.push_back(parameter.contains("bytes") ? value_of(parameter, buffer) : handle_of(parameter, buffer));
      parameters_.push_back(values_.back().bytes.data());
    }
  }
  for (const Message& variable : request.at("globals")) variables_.push_back(value_of(variable, buffer));
  // Maps view buffers that may come after them, and so are made last.
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].contains("tensor_map")) encode_map(parameters[i], parameters_[i]);
}

// The buffer that a parameter is, or those that its structure points to.
void DeviceBuffers::describe_buffers(const Message& parameter, std::uint64_t seed) {
  std::vector<const Message*> found;
  if (is_plain_buffer(parameter)) found.push_back(&parameter);
  if (parameter.contains("buffer")) found.push_back(&parameter.at("buffer"));
  if (parameter.contains("pointers"))
    for (const Message& pointer : parameter.at("pointers")) found.push_back(&pointer.at("buffer"));
  for (const Message* buffer : found) {
    buffers_.push_back(described(*buffer));
    buffers_.back().copied = parameter.contains("texture");
    // Buffers of one seed must not hold the same numbers.
    buffers_.back().seed = seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(buffers_.size() - 1);
  }
}

// Fills the buffers that it points to, the next in order.
DeviceBuffers::Value DeviceBuffers::value_of(const Message& described, std::size_t& next_buffer) {
  Value value{described.value("name", ""), bytes_of(described.at("bytes")), described.value("fills_all", true)};
  if (!described.contains("pointers")) return value;
  for (const Message& pointer : described.at("pointers")) {
    Buffer& buffer = buffers_[next_buffer++];
    fill(buffer, pointer.at("buffer"));
    std::memcpy(value.bytes.data() + pointer.at("offset").get<std::size_t>(), &buffer.address, sizeof buffer.address);
  }
  return value;
}

// A texture object over its texels, or the place of a tensor map, which is encoded later.
DeviceBuffers::Value DeviceBuffers::handle_of(const Message& described, std::size_t& next_buffer) {
  const std::string name = described.at("name");
  Buffer* const data = described.contains("buffer") ? &buffers_[next_buffer++] : nullptr;
  if (data != nullptr) fill(*data, described.at("buffer"));
  if (described.contains("tensor_map")) return {name, std::string(kTensorMapBytes, '\0'), true};
  std::uint64_t texture = 0;
  require(driver_.make_texture(texture_of(described.at("texture")), data->address, texture),
          "making the texture " + name);
  return {name, std::string(reinterpret_cast<const char*>(&texture), sizeof texture), true};
}

void DeviceBuffers::encode_map(const Message& described, void* place) const {
  const std::string name = described.at("name");
  if (const std::string why_not = driver_.why_no_tensor_maps(); !why_not.empty())
    throw Error(ErrorKind::gpu_failed, fmt::format("{}: {}", name, why_not));
  const std::string viewed = described.contains("of") ? described.at("of").get<std::string>() : name;
  const auto buffer =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& candidate) { return candidate.name == viewed; });
  if (buffer == buffers_.end()) throw Error(ErrorKind::internal, fmt::format("{}: no buffer {}", name, viewed));
  std::string map;
  const auto start = buffer->address + described.at("base_offset").get<DeviceAddress>();
  require(driver_.encode_tensor_map(tensor_map_of(described.at("tensor_map")), start, map),
          fmt::format("encoding the tensor map {}", name));
  std::memcpy(place, map.data(), map.size());
}

std::string DeviceBuffers::fill_variables(const LoadedKernel& loaded) const {
  for (const Value& variable : variables_) {
    DeviceAddress address = 0;
    std::int64_t bytes = 0;
    if (const CudaStatus status = driver_.variable(loaded, variable.name, address, bytes); !status.ok())
      return fmt::format(
          "its module has no variable {} ({}); one in a namespace or a static one goes by its mangled "
          "name, and one that no code reads is left out by the compiler",
          variable.name, status.text);
    const auto size = static_cast<std::int64_t>(variable.bytes.size());
    if (size > bytes || (variable.fills_all && size != bytes))
      return fmt::format("the variable {} holds {} bytes, and {} are described", variable.name, bytes, size);
    if (const CudaStatus status = driver_.copy_to_device(address, variable.bytes.data(), size); !status.ok())
      return fmt::format("the variable {} cannot be filled: {}", variable.name, status.text);
  }
  return "";
}

DeviceBuffers::Buffer DeviceBuffers::described(const Message& parameter) {
  Buffer buffer;
  buffer.name = parameter.at("name");
  buffer.type = static_cast<ElementType>(parameter.at("type").get<int>());
  buffer.count = parameter.at("count");
  buffer.bytes = buffer.count * size_bytes(buffer.type);
  buffer.output = parameter.at("output");
  buffer.writable = parameter.at("writable");
  buffer.absolute_tolerance = parameter.at("absolute_tolerance");
  buffer.relative_tolerance = parameter.at("relative_tolerance");
  buffer.ulp_tolerance = parameter.at("ulp_tolerance");
  return buffer;
}

void DeviceBuffers::refuse_what_does_not_fit() const {
  std::int64_t needed = 0;
  for (const Buffer& buffer : buffers_) {
    const int copies = 1 + (buffer.writable ? 1 : 0) + (buffer.output ? 1 : 0) + (buffer.copied ? 1 : 0);
    needed += copies * buffer.bytes + 2 * kGuardBytes;
  }
  std::int64_t free = 0;
  require(driver_.free_memory(free), "reading the free memory");
  if (needed > free)
    throw Error(
        ErrorKind::buffer_too_large,
        fmt::format("the buffers need {} MiB on the GPU (an output three times: itself, its initial data and "
                    "the reference's result; a texture twice), and {} MiB are free; choose smaller sizes with --set",
                    needed >> 20, free >> 20));
}

void DeviceBuffers::fill(Buffer& buffer, const Message& parameter) {
  const std::string doing = fmt::format("allocating {} MiB for {}", buffer.bytes >> 20, buffer.name);
  const std::int64_t bytes = allocated_bytes(buffer.bytes);
  DeviceAddress guarded = 0;
  require(driver_.allocate(bytes + 2 * kGuardBytes, guarded), doing);
  buffer.address = guarded + static_cast<DeviceAddress>(kGuardBytes);
  if (buffer.writable) require(driver_.allocate(bytes, buffer.pristine), doing);
  if (buffer.output) require(driver_.allocate(bytes, buffer.reference), doing);
  auto kind = parameter.at("init").get<int>();
  if (const auto init = static_cast<BufferInit::Kind>(kind); init == BufferInit::Kind::file) {
    copy_file(parameter.at("path"), buffer);
  } else if (init == BufferInit::Kind::zeros) {
    require(driver_.fill_bytes_async(buffer.address, 0, bytes), "filling " + buffer.name);
  } else {
    double a = parameter.at("a");
    double b = parameter.at("b");
    auto count = static_cast<unsigned long long>(buffer.count);
    unsigned long long seed = buffer.seed;
    require(own_code_.run(buffer.type, "fill", {&buffer.address, &count, &kind, &a, &b, &seed}, buffer.count),
            "filling " + buffer.name);
  }
  if (buffer.writable)
    require(driver_.copy_on_device_async(buffer.pristine, buffer.address, bytes), "copying " + buffer.name);
  guard(buffer);  // last: of a buffer of a few bytes the above fills more
  require(driver_.synchronize(), "making the data of " + buffer.name);
}

// Piece by piece: the host may have less memory than the GPU.
void DeviceBuffers::copy_file(const std::string& path, const Buffer& buffer) const {
  DataFile file = buffer_file(path);
  std::string piece(static_cast<std::size_t>(kFilePieceBytes), '\0');
  std::int64_t done = 0;
  while (const std::int64_t got = file.read(piece.data(), kFilePieceBytes)) {
    if (got > buffer.bytes - done) {
      done = -1;
      break;
    }
    require(driver_.copy_to_device(buffer.address + static_cast<DeviceAddress>(done), piece.data(), got),
            fmt::format("copying {} to {}", path, buffer.name));
    done += got;
  }
  if (done != buffer.bytes)
    throw Error(ErrorKind::bad_description,
                fmt::format("{}: holds {} data than the {} bytes of {}; did the file change?", path,
                            done < 0 ? "more" : "less", buffer.bytes, buffer.name));
}

void DeviceBuffers::restore() {
  for (const Buffer& buffer : buffers_)
    if (buffer.writable)
      require(driver_.copy_on_device_async(buffer.address, buffer.pristine, buffer.bytes), "restoring " + buffer.name);
}

void DeviceBuffers::keep_as_reference() {
  for (const Buffer& buffer : buffers_)
    if (buffer.output)
      require(driver_.copy_on_device_async(buffer.reference, buffer.address, buffer.bytes), "keeping " + buffer.name);
}

ElementDifference DeviceBuffers::compare(const Buffer& buffer, bool bit_by_bit) const {
  Tolerance tolerance{buffer.absolute_tolerance, buffer.relative_tolerance, buffer.ulp_tolerance};
  if (bit_by_bit) tolerance = {};
  return own_code_.compare(buffer.type, buffer.address, buffer.reference, buffer.count, tolerance,
                           "comparing " + buffer.name);
}

std::string DeviceBuffers::differences(bool bit_by_bit) {
  std::string found;
  for (const Buffer& buffer : buffers_) {
    if (!buffer.output) continue;
    const ElementDifference difference = compare(buffer, bit_by_bit);
    if (difference.differing == 0) continue;
    if (!found.empty()) found += "; ";
    found += fmt::format("{}: {} of {} elements differ, the first at {}: {} instead of {}", buffer.name,
                         difference.differing, buffer.count, difference.first, difference.value, difference.reference);
  }
  return found;
}

void DeviceBuffers::guard(const Buffer& buffer) const {
  auto before = buffer.address - static_cast<DeviceAddress>(kGuardBytes);
  auto behind = buffer.address + static_cast<DeviceAddress>(buffer.bytes);
  unsigned long long bytes = kGuardBytes;
  unsigned long long seed = buffer.seed;
  std::vector<void*> parameters{&before, &behind, &bytes, &seed};
  require(driver_.launch(guard_kernel_, {{1, 1, 1}, {256, 1, 1}, 0}, parameters), "guarding " + buffer.name);
}

std::string DeviceBuffers::damage() {
  if (buffers_.empty()) return "";
  std::vector<Damage> damages(buffers_.size());
  const auto size = static_cast<std::int64_t>(sizeof(Damage) * damages.size());
  require(driver_.fill_bytes_async(damages_, 0, size), "preparing a look at the guards");
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    auto before = buffers_[i].address - static_cast<DeviceAddress>(kGuardBytes);
    auto behind = buffers_[i].address + static_cast<DeviceAddress>(buffers_[i].bytes);
    unsigned long long bytes = kGuardBytes;
    unsigned long long seed = buffers_[i].seed;
    auto result = damages_ + static_cast<DeviceAddress>(i * sizeof(Damage));
    std::vector<void*> parameters{&before, &behind, &bytes, &seed, &result};
    require(driver_.launch(check_guard_kernel_, {{1, 1, 1}, {256, 1, 1}, 0}, parameters),
            "looking at the guards of " + buffers_[i].name);
  }
  require(driver_.copy_to_host(damages.data(), damages_, size), "looking at the guards");
  std::string found;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::string text = spell_damage(damages[i], buffers_[i].name);
    if (text.empty()) continue;
    found += (found.empty() ? "" : "; ") + text;
    guard(buffers_[i]);
  }
  return found;
}

}  // namespace regtune
