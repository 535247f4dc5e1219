#pragma once
// The memory of a captured launch as the data of a tuning. Which of it a launch writes nobody says: it is cut into
// chunks, and a sum over each, made on the GPU, shows which ones a code has changed. Of those alone there are copies,
// to restore them and to compare with. It has no guards: what lies beside an allocation is the application's, and is in
// the sums itself where it is allocated.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"
#include "launch_data.hpp"
#include "own_code.hpp"
#include "snapshot_memory.hpp"
#include "snapshot_plan.hpp"
#include "worker.hpp"

namespace regtune {

class SnapshotBuffers final : public LaunchData {
 public:
  explicit SnapshotBuffers(const Driver& driver) : driver_(driver), own_code_(driver), memory_(driver) {}

  // Makes the memory of a "plan" request (device.cpp) with a snapshot. Throws Error(buffer_too_large, gpu_failed).
  void make(const Message& request);

  std::vector<void*>& parameters() override { return parameters_; }
  const LoadedKernel& empty_kernel() const override { return empty_kernel_; }
  // A variable that the module has not is one that its code does not read.
  std::string fill_variables(const LoadedKernel& loaded) const override;
  void restore() override;
  void keep_as_reference() override;
  // "0x7f0040000000 + 4096 (allocation of 65536 bytes): 3 of 16384 float elements differ, ..."; "wrote where the
  // author's code does not: ..." of memory that the reference left alone.
  std::string differences(bool bit_by_bit) override;
  std::string example_of_tolerance() const override { return "--rtol 1e-5"; }
  std::string damage() override { return ""; }
  void release() override;

 private:
  // As device_code.cu declares it.
  struct Chunk {
    unsigned long long address = 0;
    unsigned long long bytes = 0;
  };
  using Sums = std::vector<unsigned long long>;  // one for each chunk

  // Neighbouring chunks of one range that some launch has changed, and where their copies are.
  struct Run {
    std::size_t first = 0;
    std::size_t chunks = 0;
    std::int64_t bytes = 0;
    DeviceAddress initial = 0;    // 0: only on the host, where all initial data is
    DeviceAddress reference = 0;  // 0: on the host
    char* host_reference = nullptr;
  };
  // What is compared at once: chunks of one run.
  struct Piece {
    std::size_t first = 0;
    std::size_t chunks = 0;
    const Run* run = nullptr;
  };
  struct Finding;

  void cut_into_chunks();
  Sums sums() const;
  std::vector<std::size_t> chunks_that_differ(const Sums& a, const Sums& b) const;
  const char* initial_of(std::size_t chunk) const;
  const char* result_of(std::size_t chunk) const;
  std::vector<std::size_t> chunks_that_the_application_changed() const;
  void require_result_of_application();
  std::int64_t bytes_of_chunks(std::size_t first, std::size_t chunks) const;
  void follow(const std::vector<std::size_t>& chunks);
  DeviceAddress room_on_device(std::int64_t bytes) const;
  void restore_all() const;
  std::vector<Piece> pieces_of(const std::vector<std::size_t>& chunks) const;
  void compare(const Piece& piece, bool bit_by_bit, std::vector<Finding>& findings) const;
  ElementDifference compare_elements(const Piece& piece, ElementType type, const Tolerance& tolerance) const;
  std::string text_of(const Finding& finding) const;
  std::string text_of(const std::vector<Finding>& findings) const;

  const Driver& driver_;
  OwnCode own_code_;
  SnapshotMemory memory_;
  SnapshotPlan plan_;  // the parameters point into its block
  std::vector<void*> parameters_;
  LoadedKernel empty_kernel_;
  LoadedKernel checksum_kernel_;

  std::vector<Chunk> chunks_;
  std::vector<std::size_t> range_of_;  // of each chunk
  std::vector<int> run_of_;            // of each chunk; -1: no launch has changed it
  std::vector<Run> runs_;
  std::vector<DeviceAddress> copies_;                 // of the runs, on the device
  std::vector<std::unique_ptr<char[]>> host_copies_;  // where the device has no room
  DeviceAddress device_chunks_ = 0;
  DeviceAddress device_sums_ = 0;
  DeviceAddress scratch_ = 0;  // one chunk
  Sums initial_sums_;
  Sums reference_sums_;  // empty: there is no reference yet
};

}  // namespace regtune
