#include "driver.hpp"

#include <cuda.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "dynamic_library.hpp"
#include "toolkit.hpp"

// cuda.h maps a function's plain name to its current version (cuMemAlloc to cuMemAlloc_v2): spelled out
// after expansion, the name that the library exports under the signature that the header declares.
#define REGTUNE_SPELL(name) #name
#define REGTUNE_EXPORT(name) REGTUNE_SPELL(name)

namespace regtune {

#define REGTUNE_DRIVER_FUNCTIONS(apply)                                                                              \
  apply(cuInit) apply(cuDriverGetVersion) apply(cuDeviceGetCount) apply(cuDeviceGet) apply(cuDeviceGetName)          \
      apply(cuDeviceGetAttribute) apply(cuDeviceTotalMem) apply(cuDeviceGetPCIBusId) apply(cuDevicePrimaryCtxRetain) \
          apply(cuCtxSetCurrent) apply(cuCtxSynchronize) apply(cuMemGetInfo) apply(cuMemAlloc) apply(cuMemFree)      \
              apply(cuMemcpyHtoD) apply(cuMemcpyDtoH) apply(cuMemcpyDtoDAsync) apply(cuMemsetD8Async)                \
                  apply(cuModuleLoadData) apply(cuModuleUnload) apply(cuModuleGetFunction) apply(cuFuncSetAttribute) \
                      apply(cuModuleGetGlobal) apply(cuLaunchKernel) apply(cuEventCreate) apply(cuEventRecord)       \
                          apply(cuEventSynchronize) apply(cuEventElapsedTime) apply(cuGraphCreate)                   \
                              apply(cuGraphAddKernelNode) apply(cuGraphInstantiate) apply(cuGraphLaunch)             \
                                  apply(cuGraphDestroy) apply(cuGraphExecDestroy) apply(cuGetErrorName)              \
                                      apply(cuGetErrorString) apply(cuLaunchCooperativeKernel)                       \
                                          apply(cuOccupancyMaxActiveBlocksPerMultiprocessor) apply(cuCtxGetDevice)

struct Driver::Library {
  explicit Library(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
#define REGTUNE_DECLARE(name) decltype(&::name) name##_call = nullptr;
  REGTUNE_DRIVER_FUNCTIONS(REGTUNE_DECLARE)
#undef REGTUNE_DECLARE
  CUevent started = nullptr;
  CUevent stopped = nullptr;

  // The first function that the library lacks, if any.
  std::string bind() {
    const auto bind_one = [this](auto& function, std::string name) {
      using Function = std::remove_pointer_t<std::remove_reference_t<decltype(function)>>;
      function = file.find<Function>(name.c_str());
      // cuEventElapsedTime_v2 came late, with the signature unchanged; older drivers have the plain name.
      if (!function && name.ends_with("_v2")) function = file.find<Function>(name.substr(0, name.size() - 3).c_str());
      return function != nullptr;
    };
#define REGTUNE_BIND(name) \
  if (!bind_one(name##_call, REGTUNE_EXPORT(name))) return #name;
    REGTUNE_DRIVER_FUNCTIONS(REGTUNE_BIND)
#undef REGTUNE_BIND
    return "";
  }

  CudaStatus status(CUresult code) const {
    if (code == CUDA_SUCCESS) return {};
    const char* name = nullptr;
    const char* text = nullptr;
    cuGetErrorName_call(code, &name);
    cuGetErrorString_call(code, &text);
    return {static_cast<int>(code),
            fmt::format("{} ({}): {}", name ? name : "CUDA error", static_cast<int>(code), text ? text : "no text")};
  }

  int attribute(CUdevice_attribute which, CUdevice device) const {
    int value = 0;
    cuDeviceGetAttribute_call(&value, which, device);
    return value;
  }
};

bool CudaStatus::out_of_memory() const {
  return code == CUDA_ERROR_OUT_OF_MEMORY;
}

bool CudaStatus::refused() const {
  return code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || code == CUDA_ERROR_INVALID_VALUE ||
         code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ||
         code == CUDA_ERROR_NOT_SUPPORTED;
}

Driver::Driver(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Driver::~Driver() = default;

std::unique_ptr<Driver> Driver::open(std::string& why_not) {
  std::vector<std::string> failures;
  std::optional<DynamicLibrary> file = DynamicLibrary::open(library_candidates(cuda_driver_library()), failures);
  if (!file) {
    why_not = "no NVIDIA driver on this machine (libcuda.so.1 was not found)";
    return {};
  }
  auto library = std::make_unique<Library>(std::move(*file));
  if (const std::string missing = library->bind(); !missing.empty()) {
    why_not = fmt::format("the driver in {} is too old: it has no {}", library->file.path().string(), missing);
    return {};
  }
  if (const CudaStatus status = library->status(library->cuInit_call(0)); !status.ok()) {
    why_not = "the driver found no usable GPU: " + status.text;
    return {};
  }
  int count = 0;
  library->cuDeviceGetCount_call(&count);
  if (count == 0) {
    why_not = "no GPU is visible; is CUDA_VISIBLE_DEVICES empty?";
    return {};
  }
  return std::unique_ptr<Driver>(new Driver(std::move(library)));
}

int Driver::device_count() const {
  int count = 0;
  library_->cuDeviceGetCount_call(&count);
  return count;
}

CudaStatus Driver::describe(int ordinal, GpuState& state) const {
  CUdevice device = 0;
  if (const CUresult code = library_->cuDeviceGet_call(&device, ordinal); code != CUDA_SUCCESS)
    return library_->status(code);
  std::array<char, 256> name{};
  library_->cuDeviceGetName_call(name.data(), static_cast<int>(name.size()) - 1, device);
  std::size_t memory = 0;
  library_->cuDeviceTotalMem_call(&memory, device);
  int version = 0;
  library_->cuDriverGetVersion_call(&version);
  const auto attribute = [&](CUdevice_attribute which) { return library_->attribute(which, device); };

  state.id.name = name.data();
  state.id.compute_major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  state.id.compute_minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  state.id.sm_count = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  state.id.memory_clock_mhz = attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000;  // it is in kHz
  state.memory_bytes = static_cast<std::int64_t>(memory);
  state.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  state.driver_version = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  // The table knows the allocation units; what the device says of itself comes first where it says it.
  GpuLimits& limits = state.limits;
  limits = gpu_limits(state.id.compute_major, state.id.compute_minor).value_or(GpuLimits{});
  limits.compute_major = state.id.compute_major;
  limits.compute_minor = state.id.compute_minor;
  limits.max_threads_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  limits.max_blocks_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  limits.registers_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  limits.registers_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  limits.max_threads_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  limits.shared_bytes_per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  limits.shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  limits.shared_bytes_per_block_optin = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  limits.reserved_shared_bytes_per_block = attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  return {};
}

std::string Driver::pci_bus_id(int ordinal) const {
  CUdevice device = 0;
  std::array<char, 32> id{};
  if (library_->cuDeviceGet_call(&device, ordinal) != CUDA_SUCCESS) return "";
  library_->cuDeviceGetPCIBusId_call(id.data(), static_cast<int>(id.size()) - 1, device);
  return id.data();
}

CudaStatus Driver::make_context(int ordinal) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUresult code = library_->cuDeviceGet_call(&device, ordinal);
  if (code == CUDA_SUCCESS) code = library_->cuDevicePrimaryCtxRetain_call(&context, device);
  if (code == CUDA_SUCCESS) code = library_->cuCtxSetCurrent_call(context);
  if (code == CUDA_SUCCESS) code = library_->cuEventCreate_call(&library_->started, CU_EVENT_DEFAULT);
  if (code == CUDA_SUCCESS) code = library_->cuEventCreate_call(&library_->stopped, CU_EVENT_DEFAULT);
  return library_->status(code);
}

CudaStatus Driver::free_memory(std::int64_t& bytes) const {
  std::size_t free = 0;
  std::size_t total = 0;
  const CudaStatus status = library_->status(library_->cuMemGetInfo_call(&free, &total));
  bytes = static_cast<std::int64_t>(free);
  return status;
}

CudaStatus Driver::allocate(std::int64_t bytes, DeviceAddress& address) const {
  CUdeviceptr pointer = 0;
  const CudaStatus status = library_->status(library_->cuMemAlloc_call(&pointer, static_cast<std::size_t>(bytes)));
  address = pointer;
  return status;
}

void Driver::free(DeviceAddress address) const {
  library_->cuMemFree_call(address);
}

CudaStatus Driver::copy_to_device(DeviceAddress target, const void* source, std::int64_t bytes) const {
  return library_->status(library_->cuMemcpyHtoD_call(target, source, static_cast<std::size_t>(bytes)));
}

CudaStatus Driver::copy_to_host(void* target, DeviceAddress source, std::int64_t bytes) const {
  return library_->status(library_->cuMemcpyDtoH_call(target, source, static_cast<std::size_t>(bytes)));
}

CudaStatus Driver::copy_on_device_async(DeviceAddress target, DeviceAddress source, std::int64_t bytes) const {
  return library_->status(library_->cuMemcpyDtoDAsync_call(target, source, static_cast<std::size_t>(bytes), nullptr));
}

CudaStatus Driver::fill_bytes_async(DeviceAddress target, unsigned char value, std::int64_t bytes) const {
  return library_->status(library_->cuMemsetD8Async_call(target, value, static_cast<std::size_t>(bytes), nullptr));
}

CudaStatus Driver::load(std::string_view cubin, const std::string& kernel, std::int64_t dynamic_shared_bytes,
                        LoadedKernel& loaded) const {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult code = library_->cuModuleLoadData_call(&module, cubin.data());
  if (code != CUDA_SUCCESS) return library_->status(code);
  code = library_->cuModuleGetFunction_call(&function, module, kernel.c_str());
  // What a block may have without asking is 48 KiB together with the kernel's static shared memory.
  if (code == CUDA_SUCCESS && dynamic_shared_bytes > 0)
    code = library_->cuFuncSetAttribute_call(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                             static_cast<int>(dynamic_shared_bytes));
  if (code != CUDA_SUCCESS) {
    library_->cuModuleUnload_call(module);
    return library_->status(code);
  }
  loaded = {module, function};
  return {};
}

CudaStatus Driver::variable(const LoadedKernel& loaded, const std::string& name, DeviceAddress& address,
                            std::int64_t& bytes) const {
  CUdeviceptr found = 0;
  std::size_t size = 0;
  const CUresult code =
      library_->cuModuleGetGlobal_call(&found, &size, static_cast<CUmodule>(loaded.module), name.c_str());
  address = found;
  bytes = static_cast<std::int64_t>(size);
  return library_->status(code);
}

void Driver::unload(const LoadedKernel& loaded) const {
  library_->cuModuleUnload_call(static_cast<CUmodule>(loaded.module));
}

CudaStatus Driver::launch(const LoadedKernel& kernel, const LaunchShape& shape, std::vector<void*>& parameters) const {
  return library_->status(library_->cuLaunchKernel_call(
      static_cast<CUfunction>(kernel.function), shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
      shape.block.z, static_cast<unsigned>(shape.dynamic_shared_bytes), nullptr, parameters.data(), nullptr));
}

CudaStatus Driver::launch_cooperative(const LoadedKernel& kernel, const LaunchShape& shape,
                                      std::vector<void*>& parameters) const {
  return library_->status(library_->cuLaunchCooperativeKernel_call(
      static_cast<CUfunction>(kernel.function), shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
      shape.block.z, static_cast<unsigned>(shape.dynamic_shared_bytes), nullptr, parameters.data()));
}

CudaStatus Driver::resident_blocks(const LoadedKernel& kernel, const LaunchShape& shape, std::int64_t& blocks) const {
  int per_multiprocessor = 0;
  int multiprocessors = 0;
  CUdevice device = 0;
  CUresult code = library_->cuOccupancyMaxActiveBlocksPerMultiprocessor_call(
      &per_multiprocessor, static_cast<CUfunction>(kernel.function), static_cast<int>(shape.block.volume()),
      static_cast<std::size_t>(shape.dynamic_shared_bytes));
  if (code == CUDA_SUCCESS) code = library_->cuCtxGetDevice_call(&device);
  if (code == CUDA_SUCCESS)
    code = library_->cuDeviceGetAttribute_call(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  blocks = std::int64_t{per_multiprocessor} * multiprocessors;
  return library_->status(code);
}

CudaStatus Driver::synchronize() const {
  return library_->status(library_->cuCtxSynchronize_call());
}

CudaStatus Driver::make_graph(const LoadedKernel& kernel, const LaunchShape& shape, std::vector<void*>& parameters,
                              int launches, LaunchGraph& graph) const {
  CUDA_KERNEL_NODE_PARAMS node_parameters{};
  node_parameters.func = static_cast<CUfunction>(kernel.function);
  node_parameters.gridDimX = shape.grid.x;
  node_parameters.gridDimY = shape.grid.y;
  node_parameters.gridDimZ = shape.grid.z;
  node_parameters.blockDimX = shape.block.x;
  node_parameters.blockDimY = shape.block.y;
  node_parameters.blockDimZ = shape.block.z;
  node_parameters.sharedMemBytes = static_cast<unsigned>(shape.dynamic_shared_bytes);
  node_parameters.kernelParams = parameters.data();
  CUgraph nodes = nullptr;
  CUresult code = library_->cuGraphCreate_call(&nodes, 0);
  if (code != CUDA_SUCCESS) return library_->status(code);
  CUgraphNode last = nullptr;
  for (int i = 0; i < launches && code == CUDA_SUCCESS; ++i) {
    CUgraphNode node = nullptr;
    code = library_->cuGraphAddKernelNode_call(&node, nodes, last ? &last : nullptr, last ? 1 : 0, &node_parameters);
    last = node;
  }
  CUgraphExec executable = nullptr;
  if (code == CUDA_SUCCESS) code = library_->cuGraphInstantiate_call(&executable, nodes, 0);
  library_->cuGraphDestroy_call(nodes);
  graph.executable = executable;
  return library_->status(code);
}

CudaStatus Driver::launch(const LaunchGraph& graph) const {
  return library_->status(library_->cuGraphLaunch_call(static_cast<CUgraphExec>(graph.executable), nullptr));
}

void Driver::destroy(const LaunchGraph& graph) const {
  library_->cuGraphExecDestroy_call(static_cast<CUgraphExec>(graph.executable));
}

CudaStatus Driver::start_timer() const {
  return library_->status(library_->cuEventRecord_call(library_->started, nullptr));
}

CudaStatus Driver::stop_timer() const {
  return library_->status(library_->cuEventRecord_call(library_->stopped, nullptr));
}

CudaStatus Driver::timed_ms(double& ms) const {
  CUresult code = library_->cuEventSynchronize_call(library_->stopped);
  float elapsed = 0;
  if (code == CUDA_SUCCESS) code = library_->cuEventElapsedTime_call(&elapsed, library_->started, library_->stopped);
  ms = elapsed;
  return library_->status(code);
}

}  // namespace regtune
