#pragma once
// The CUDA driver, opened at run time: contexts, memory, codes and launches in driver.cpp, memory at chosen addresses
// in driver_memory.cpp, textures and tensor maps in driver_objects.cpp. It is called in the child process that owns the
// GPU, or in an application that asked for it, and nowhere else. Device addresses and handles are plain values whose
// lifetime is the context's: the process ends and the driver takes everything back.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_status.hpp"
#include "record.hpp"

namespace regtune {

using DeviceAddress = std::uint64_t;

struct LoadedKernel {
  void* module = nullptr;
  void* function = nullptr;
};

// Several launches of one kernel, to be replayed as one.
struct LaunchGraph {
  void* executable = nullptr;
};

// Throws Error(gpu_failed) unless the driver did it. `doing`: "allocating 64 MiB for out".
void require(const CudaStatus& status, const std::string& doing);

struct DriverLibrary;
struct TextureLayout;
struct TensorMapLayout;

class Driver {
 public:
  // Opens libcuda (REGTUNE_CUDA names a file) and initialises it. Nothing when there is no driver or
  // no GPU: `why_not` then says which.
  static std::unique_ptr<Driver> open(std::string& why_not);
  // For an application that has initialised the driver: works in the calling thread's current context, and leaves
  // nothing of ours in it. Nothing when there is none.
  static std::unique_ptr<Driver> adopt(std::string& why_not);
  ~Driver();

  int device_count() const;
  // Identity and limits of device `ordinal`, without making a context. driver_version is CUDA's own
  // ("13.0") until NVML gives the package's.
  CudaStatus describe(int ordinal, GpuState& state) const;
  std::string pci_bus_id(int ordinal) const;
  CudaStatus make_context(int ordinal);
  // Of the calling thread: an id that no other context of this process ever has, and the device. False: there is none.
  bool current_context(std::uint64_t& id, int& ordinal) const;
  CudaStatus free_memory(std::int64_t& bytes) const;

  CudaStatus allocate(std::int64_t bytes, DeviceAddress& address) const;
  void free(DeviceAddress address) const;
  CudaStatus copy_to_device(DeviceAddress target, const void* source, std::int64_t bytes) const;
  CudaStatus copy_to_host(void* target, DeviceAddress source, std::int64_t bytes) const;
  CudaStatus copy_on_device_async(DeviceAddress target, DeviceAddress source, std::int64_t bytes) const;
  CudaStatus fill_bytes_async(DeviceAddress target, unsigned char value, std::int64_t bytes) const;

  // Memory at addresses of the caller's choice, in whole units. Requires: why_no_chosen_addresses() is empty.
  std::string why_no_chosen_addresses() const;
  CudaStatus mapping_unit(std::int64_t& bytes) const;
  // `got`: another address where something of this process lies at the one that is wanted; nothing is kept then.
  void unreserve(DeviceAddress reserved, std::int64_t bytes) const;
  CudaStatus reserve_at(DeviceAddress wanted, std::int64_t bytes, DeviceAddress& got) const;
  // Memory behind a reservation, for the current device to read and to write.
  CudaStatus map_memory(DeviceAddress reserved, std::int64_t bytes) const;

  // A texture object over texels that lie at `texels` without gaps. Those of a CUDA array and of rows of two dimensions
  // are copied there; of one row in plain memory it reads them where they are.
  CudaStatus make_texture(const TextureLayout& layout, DeviceAddress texels, std::uint64_t& texture) const;
  // `map` gets the bytes that are passed for a CUtensorMap. Requires: why_no_tensor_maps() is empty.
  std::string why_no_tensor_maps() const;
  CudaStatus encode_tensor_map(const TensorMapLayout& layout, DeviceAddress address, std::string& map) const;

  // Loads `cubin`, finds `kernel` in it, and allows it `dynamic_shared_bytes` of shared memory.
  CudaStatus load(std::string_view cubin, const std::string& kernel, std::int64_t dynamic_shared_bytes,
                  LoadedKernel& loaded) const;
  // A __constant__ or __device__ variable of the kernel's module.
  CudaStatus variable(const LoadedKernel& loaded, const std::string& name, DeviceAddress& address,
                      std::int64_t& bytes) const;
  void unload(const LoadedKernel& loaded) const;
  // `parameters`: one pointer to each parameter's value.
  CudaStatus launch(const LoadedKernel& kernel, const LaunchShape& shape, std::vector<void*>& parameters) const;
  // All blocks at once; refused where they are more than are resident.
  CudaStatus launch_cooperative(const LoadedKernel& kernel, const LaunchShape& shape,
                                std::vector<void*>& parameters) const;
  // How many blocks of the shape's size the whole GPU holds at once.
  CudaStatus resident_blocks(const LoadedKernel& kernel, const LaunchShape& shape, std::int64_t& blocks) const;
  // Blocks in clusters. Requires: why_no_clusters() is empty, "" or the sentence that says what they need.
  std::string why_no_clusters() const;
  CudaStatus launch_in_clusters(const LoadedKernel& kernel, const LaunchShape& shape, const Dim3& cluster,
                                std::vector<void*>& parameters) const;
  // How many of them the whole GPU holds at once.
  CudaStatus resident_clusters(const LoadedKernel& kernel, const LaunchShape& shape, const Dim3& cluster,
                               int& clusters) const;
  // More than the 8 blocks that every GPU with clusters takes.
  CudaStatus allow_any_cluster_size(const LoadedKernel& kernel) const;
  CudaStatus synchronize() const;

  // `launches` of them, each after the one before. The parameters' values are copied. `cluster`: null where the launch
  // says none.
  CudaStatus make_graph(const LoadedKernel& kernel, const LaunchShape& shape, std::vector<void*>& parameters,
                        int launches, LaunchGraph& graph, const Dim3* cluster = nullptr) const;
  CudaStatus launch(const LaunchGraph& graph) const;
  void destroy(const LaunchGraph& graph) const;

  // Two events around what is put on the stream between the calls.
  CudaStatus start_timer() const;
  CudaStatus stop_timer() const;
  CudaStatus timed_ms(double& ms) const;  // waits for the second event

 private:
  explicit Driver(std::unique_ptr<DriverLibrary> library);
  static std::unique_ptr<DriverLibrary> open_library(std::string& why_not);
  CudaStatus make_events() const;
  std::unique_ptr<DriverLibrary> library_;
};

}  // namespace regtune
