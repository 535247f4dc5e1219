#pragma once
// The memory of a captured launch: in a process of regtune's it is made at the application's own addresses and filled
// from the captured file, so that every pointer in it is valid; in the application itself it is there, and is copied to
// the host before anything is launched. Either way the initial bytes can be read on the host as long as this lives.
// Refuses addresses that are taken and memory that does not fit.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver.hpp"
#include "snapshot_plan.hpp"

namespace regtune {

class SnapshotMemory {
 public:
  explicit SnapshotMemory(const Driver& driver) : driver_(driver) {}
  SnapshotMemory(const SnapshotMemory&) = delete;
  SnapshotMemory& operator=(const SnapshotMemory&) = delete;
  ~SnapshotMemory();  // of the host's memory; the device's ends with the context

  // Requires: called once, before anything else is allocated in a process of regtune's, which could take an address.
  // Throws Error(buffer_too_large, gpu_failed).
  void make(const SnapshotPlan& plan);

  struct Reservation {
    DeviceAddress begin = 0;
    DeviceAddress end = 0;
    std::int64_t bytes() const { return static_cast<std::int64_t>(end - begin); }
  };

  // By address.
  const std::vector<SnapshotRange>& ranges() const { return ranges_; }
  // What lay at the start of a range before the launch.
  const char* initial(const SnapshotRange& range) const { return host_ + range.file_offset; }
  // Whether the file has what the application's own launch left, too, behind what was there before it; and that.
  bool has_result() const { return result_ != nullptr; }
  const char* result(const SnapshotRange& range) const { return result_ + range.file_offset; }

 private:
  void map_file(int descriptor);
  void reserve_addresses();
  void fill_addresses() const;
  bool reserve_all(const std::vector<Reservation>& parts) const;
  void copy_to_host();

  const Driver& driver_;
  std::vector<SnapshotRange> ranges_;  // each one's place in host_ is its file_offset
  std::vector<Reservation> pages_;     // that hold the ranges
  char* host_ = nullptr;
  std::size_t host_bytes_ = 0;
  const char* result_ = nullptr;  // within host_
};

}  // namespace regtune
