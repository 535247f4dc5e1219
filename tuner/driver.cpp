#include "driver.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "driver_library.hpp"
#include "regtune/error.hpp"
#include "toolkit.hpp"

namespace regtune {

bool CudaStatus::out_of_memory() const {
  return code == CUDA_ERROR_OUT_OF_MEMORY;
}

bool CudaStatus::not_found() const {
  return code == CUDA_ERROR_NOT_FOUND;
}

bool CudaStatus::refused() const {
  return code == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || code == CUDA_ERROR_INVALID_VALUE ||
         code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ||
         code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

void require(const CudaStatus& status, const std::string& doing) {
  if (!status.ok()) throw Error(ErrorKind::gpu_failed, fmt::format("{} failed: {}", doing, status.text));
}

Driver::Driver(std::unique_ptr<DriverLibrary> library) : library_(std::move(library)) {}

Driver::~Driver() {
  if (!library_->adopted || !library_->cuEventDestroy_call) return;
  for (CUevent event : {library_->started, library_->stopped})
    if (event) library_->cuEventDestroy_call(event);
}

std::unique_ptr<DriverLibrary> Driver::open_library(std::string& why_not) {
  std::vector<std::string> failures;
  std::optional<DynamicLibrary> file = DynamicLibrary::open(library_candidates(cuda_driver_library()), failures);
  if (!file) {
    why_not = "no NVIDIA driver on this machine (libcuda.so.1 was not found)";
    return {};
  }
  auto library = std::make_unique<DriverLibrary>(std::move(*file));
  if (const std::string missing = library->bind(); !missing.empty()) {
    why_not = fmt::format("the driver in {} is too old: it has no {}", library->file.path().string(), missing);
    return {};
  }
  return library;
}

std::unique_ptr<Driver> Driver::open(std::string& why_not) {
  std::unique_ptr<DriverLibrary> library = open_library(why_not);
  if (!library) return {};
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

std::unique_ptr<Driver> Driver::adopt(std::string& why_not) {
  std::unique_ptr<DriverLibrary> library = open_library(why_not);
  if (!library) return {};
  library->adopted = true;
  std::unique_ptr<Driver> driver(new Driver(std::move(library)));
  std::uint64_t id = 0;
  int ordinal = 0;
  if (!driver->current_context(id, ordinal)) {
    why_not = "the calling thread has no current CUDA context";
    return {};
  }
  if (const CudaStatus status = driver->make_events(); !status.ok()) {
    why_not = "making events in the application's context failed: " + status.text;
    return {};
  }
  return driver;
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
  return code == CUDA_SUCCESS ? make_events() : library_->status(code);
}

CudaStatus Driver::make_events() const {
  CUresult code = library_->cuEventCreate_call(&library_->started, CU_EVENT_DEFAULT);
  if (code == CUDA_SUCCESS) code = library_->cuEventCreate_call(&library_->stopped, CU_EVENT_DEFAULT);
  return library_->status(code);
}

bool Driver::current_context(std::uint64_t& id, int& ordinal) const {
  CUcontext context = nullptr;
  if (library_->cuCtxGetCurrent_call(&context) != CUDA_SUCCESS || !context) return false;
  unsigned long long number = 0;
  CUdevice device = 0;
  if (library_->cuCtxGetId_call(context, &number) != CUDA_SUCCESS) return false;
  if (library_->cuCtxGetDevice_call(&device) != CUDA_SUCCESS) return false;
  id = number;
  ordinal = device;  // a device's handle is its ordinal
  return true;
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

namespace {

CUlaunchAttribute cluster_attribute(const Dim3& cluster) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = cluster.x;
  attribute.value.clusterDim.y = cluster.y;
  attribute.value.clusterDim.z = cluster.z;
  return attribute;
}

// `attribute` is kept by reference.
CUlaunchConfig configuration(const LaunchShape& shape, CUlaunchAttribute& attribute) {
  CUlaunchConfig configuration{};
  configuration.gridDimX = shape.grid.x;
  configuration.gridDimY = shape.grid.y;
  configuration.gridDimZ = shape.grid.z;
  configuration.blockDimX = shape.block.x;
  configuration.blockDimY = shape.block.y;
  configuration.blockDimZ = shape.block.z;
  configuration.sharedMemBytes = static_cast<unsigned>(shape.dynamic_shared_bytes);
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
  return configuration;
}

}  // namespace

std::string Driver::why_no_clusters() const {
  if (!library_->cuLaunchKernelEx_call || !library_->cuOccupancyMaxActiveClusters_call)
    return "clusters need a driver of CUDA 12, and this one is older";
  return library_->why_not_on_device(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, "clusters");
}

CudaStatus Driver::launch_in_clusters(const LoadedKernel& kernel, const LaunchShape& shape, const Dim3& cluster,
                                      std::vector<void*>& parameters) const {
  CUlaunchAttribute attribute = cluster_attribute(cluster);
  const CUlaunchConfig launch = configuration(shape, attribute);
  return library_->status(
      library_->cuLaunchKernelEx_call(&launch, static_cast<CUfunction>(kernel.function), parameters.data(), nullptr));
}

CudaStatus Driver::resident_clusters(const LoadedKernel& kernel, const LaunchShape& shape, const Dim3& cluster,
                                     int& clusters) const {
  CUlaunchAttribute attribute = cluster_attribute(cluster);
  const CUlaunchConfig launch = configuration(shape, attribute);
  clusters = 0;
  return library_->status(
      library_->cuOccupancyMaxActiveClusters_call(&clusters, static_cast<CUfunction>(kernel.function), &launch));
}

CudaStatus Driver::allow_any_cluster_size(const LoadedKernel& kernel) const {
  return library_->status(library_->cuFuncSetAttribute_call(static_cast<CUfunction>(kernel.function),
                                                            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
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
                              int launches, LaunchGraph& graph, const Dim3* cluster) const {
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
    if (cluster == nullptr || code != CUDA_SUCCESS) continue;
    CUlaunchAttribute attribute = cluster_attribute(*cluster);
    code = library_->cuGraphKernelNodeSetAttribute_call
               ? library_->cuGraphKernelNodeSetAttribute_call(node, attribute.id, &attribute.value)
               : CUDA_ERROR_NOT_SUPPORTED;
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
