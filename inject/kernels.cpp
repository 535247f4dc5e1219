#include "kernels.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "driver_functions.hpp"
#include "images.hpp"
#include "inside.hpp"
#include "supervisor_link.hpp"

namespace regtune {
namespace {

using ShapeKey = std::tuple<CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, std::int64_t>;

ShapeKey key_of(CUfunction function, const LaunchShape& shape) {
  return {function,      shape.grid.x,  shape.grid.y,  shape.grid.z,
          shape.block.x, shape.block.y, shape.block.z, shape.dynamic_shared_bytes};
}

// Entries of forgotten kernels stay: their counts do.
struct Kernels {
  std::mutex mutex;
  std::map<CUfunction, std::unique_ptr<WatchedKernel>> by_handle;
  std::map<ShapeKey, std::unique_ptr<WatchedShape>> shapes;
  std::vector<std::unique_ptr<WatchedKernel>> forgotten_kernels;  // which launches of other threads may still hold
  std::vector<std::unique_ptr<WatchedShape>> forgotten_shapes;
  std::map<std::uint32_t, LaunchEntry*> other_shapes;
  std::uint32_t told = 0;
  std::atomic<std::uint64_t> generation{1};
};

Kernels& kernels() {
  static Kernels* const all = new Kernels;
  return *all;
}

int attribute(CUfunction_attribute which, CUfunction function) {
  int value = 0;
  driver().cuFuncGetAttribute_call(&value, which, function);
  return value;
}

// A launch of the runtime's names a CUkernel, for which the functions about CUfunctions answer with an error.
bool identify(CUfunction handle, WatchedKernel& kernel) {
  const DriverFunctions& calls = driver();
  const char* name = nullptr;
  auto* const as_kernel = reinterpret_cast<CUkernel>(handle);
  kernel.function = handle;
  const bool is_function = calls.cuFuncGetName_call(&name, handle) == CUDA_SUCCESS;
  if (!is_function) {
    if (calls.cuKernelGetName_call(&name, as_kernel) != CUDA_SUCCESS) return false;
    if (calls.cuKernelGetFunction_call(&kernel.function, as_kernel) != CUDA_SUCCESS) return false;
    CUlibrary library = nullptr;
    if (calls.cuKernelGetLibrary_call && calls.cuKernelGetLibrary_call(&library, as_kernel) == CUDA_SUCCESS)
      kernel.image = hash_of_library(library);
  }
  kernel.name = name ? name : "";
  if (calls.cuFuncGetModule_call && calls.cuFuncGetModule_call(&kernel.module, kernel.function) == CUDA_SUCCESS &&
      kernel.image.empty())
    kernel.image = hash_of_module(kernel.module);
  ParameterPlace place;
  for (std::size_t i = 0;
       calls.cuFuncGetParamInfo_call(kernel.function, i, &place.offset_bytes, &place.size_bytes) == CUDA_SUCCESS; ++i) {
    kernel.parameters.push_back(place);
    kernel.block_bytes = std::max(kernel.block_bytes, place.offset_bytes + place.size_bytes);
  }
  return true;
}

const char* spell(ImageForm form) {
  switch (form) {
    case ImageForm::unknown:
      break;
    case ImageForm::ptx:
      return "PTX";
    case ImageForm::fat_binary:
      return "fat binary";
    case ImageForm::cubin:
      return "cubin";
  }
  return "";
}

Message described(const WatchedKernel& kernel) {
  const DriverFunctions& calls = driver();
  CUdevice device = 0;
  int major = 0;
  int minor = 0;
  calls.cuCtxGetDevice_call(&device);
  calls.cuDeviceGetAttribute_call(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  calls.cuDeviceGetAttribute_call(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  std::array<char, 256> gpu{};
  calls.cuDeviceGetName_call(gpu.data(), static_cast<int>(gpu.size()) - 1, device);
  Message question{{"ask", "kernel"},
                   {"gpu", gpu.data()},
                   {"number", kernel.number},
                   {"name", kernel.name},
                   {"image", kernel.image},
                   {"image_form", spell(form_of_image(kernel.image))},
                   {"device", device},
                   {"compute_capability", {major, minor}},
                   {"registers", attribute(CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.function)},
                   {"local_bytes", attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.function)},
                   {"shared_bytes", attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.function)},
                   {"max_threads", attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel.function)},
                   {"ptx_version", attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel.function)},
                   {"binary_version", attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION, kernel.function)}};
  if (const auto source = source_of_image(kernel.image)) {
    Message headers = Message::array();
    for (const auto& [name, text] : source->headers) headers.push_back({binary(name), binary(text)});
    question["source"] = {
        {"text", binary(source->text)}, {"name", source->name}, {"headers", headers}, {"options", source->options}};
  }
  return question;
}

void take_interest(const Message& answer, WatchedKernel& kernel) {
  if (!answer.is_object()) return;
  const std::string wanted = answer.value("interest", "");
  if (wanted == "tune") kernel.interest = Interest::tuned;
  if (wanted == "replace") kernel.interest = Interest::replaced;
  kernel.offered_launch = answer.value("launch", std::uint64_t{1});
}

WatchedKernel* kernel_of(CUfunction handle, SupervisorLink& link) {
  Kernels& all = kernels();
  std::unique_ptr<WatchedKernel>& known = all.by_handle[handle];
  if (known) return known.get();
  auto kernel = std::make_unique<WatchedKernel>();
  if (!identify(handle, *kernel)) return nullptr;
  kernel->number = all.told++;
  take_interest(link.ask(described(*kernel)), *kernel);
  known = std::move(kernel);
  return known.get();
}

LaunchEntry* new_entry(const WatchedKernel& kernel, const LaunchShape& shape, bool is_cooperative,
                       SupervisorLink& link) {
  Kernels& all = kernels();
  LaunchTable& table = link.table();
  const std::uint32_t used = table.used.load();
  // The last part of the table is for the sums of those whose shapes find no room.
  constexpr std::uint32_t kForSums = LaunchTable::kCapacity / 8;
  const bool has_room = used < LaunchTable::kCapacity - kForSums;
  if (!has_room && all.other_shapes.contains(kernel.number)) return all.other_shapes[kernel.number];
  if (used == LaunchTable::kCapacity) return nullptr;
  LaunchEntry& entry = table.entries[used];
  entry.kernel = kernel.number;
  entry.other_shapes = has_room ? 0 : 1;
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  for (int axis = 0; axis < 3; ++axis) {
    entry.grid[axis] = std::array{grid.x, grid.y, grid.z}[static_cast<std::size_t>(axis)];
    entry.block[axis] = std::array{block.x, block.y, block.z}[static_cast<std::size_t>(axis)];
  }
  entry.dynamic_shared_bytes = static_cast<std::uint32_t>(shape.dynamic_shared_bytes);
  entry.is_cooperative = is_cooperative ? 1 : 0;
  table.used.store(used + 1);
  if (!has_room) all.other_shapes[kernel.number] = &entry;
  return &entry;
}

WatchedShape* find_or_tell(CUfunction handle, const LaunchShape& shape, bool is_cooperative) {
  const Inside inside;
  SupervisorLink* const link = SupervisorLink::of_this_process();
  if (!link || !driver().can_name_kernels) return nullptr;
  const std::lock_guard asking(link->mutex());  // before the table's own, as a launch that is tuned holds it
  const std::lock_guard lock(kernels().mutex);
  std::unique_ptr<WatchedShape>& known = kernels().shapes[key_of(handle, shape)];
  if (known) return known.get();
  WatchedKernel* const kernel = kernel_of(handle, *link);
  if (!kernel) return nullptr;
  auto watched = std::make_unique<WatchedShape>();
  watched->kernel = kernel;
  watched->shape = shape;
  watched->entry = new_entry(*kernel, shape, is_cooperative, *link);
  if (!watched->entry) return nullptr;
  known = std::move(watched);
  return known.get();
}

// What this thread has launched lately.
struct Recent {
  ShapeKey key{};
  std::uint64_t generation = 0;
  WatchedShape* shape = nullptr;
};
constexpr std::size_t kRecent = 64;
thread_local std::array<Recent, kRecent> recent;

std::size_t place_of(CUfunction function, const LaunchShape& shape) {
  const auto mixed = (reinterpret_cast<std::uintptr_t>(function) >> 4) * 0x9e3779b97f4a7c15ull +
                     shape.grid.x * 0x632be59bd9b4e019ull + shape.block.x;
  return (mixed >> 32) % kRecent;
}

}  // namespace

WatchedShape* watched_shape(CUfunction function, const LaunchShape& shape, bool is_cooperative) {
  Recent& place = recent[place_of(function, shape)];
  const std::uint64_t generation = kernels().generation.load(std::memory_order_acquire);
  const ShapeKey key = key_of(function, shape);
  if (place.generation == generation && place.key == key) return place.shape;
  WatchedShape* const found = find_or_tell(function, shape, is_cooperative);
  place = {key, generation, found};
  return found;
}

void forget_kernels() {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  for (auto& [handle, kernel] : all.by_handle)
    if (kernel) all.forgotten_kernels.push_back(std::move(kernel));
  for (auto& [key, shape] : all.shapes)
    if (shape) all.forgotten_shapes.push_back(std::move(shape));
  all.by_handle.clear();
  all.shapes.clear();
  ++all.generation;
}

}  // namespace regtune
