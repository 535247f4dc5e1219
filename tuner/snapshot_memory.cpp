#include "snapshot_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "regtune/error.hpp"

namespace regtune {
namespace {

// The driver gives what it is asked for where the place begins and ends on 32 MiB, and smaller ones out of a store of
// its own, wherever that lies (measured with driver 580.159 on an H200).
constexpr std::int64_t kPlaceBytes = std::int64_t{32} << 20;

using Reservation = SnapshotMemory::Reservation;

// Whole units; ranges that share one, or lie side by side, are in one reservation.
std::vector<Reservation> reservations_of(const std::vector<SnapshotRange>& ranges, std::int64_t unit_bytes) {
  const auto unit = static_cast<DeviceAddress>(unit_bytes);
  std::vector<Reservation> merged;
  for (const SnapshotRange& range : ranges) {
    const DeviceAddress begin = range.address / unit * unit;
    const DeviceAddress end = (range.address + static_cast<DeviceAddress>(range.bytes) + unit - 1) / unit * unit;
    if (!merged.empty() && begin <= merged.back().end)
      merged.back().end = std::max(merged.back().end, end);
    else
      merged.push_back({begin, end});
  }
  return merged;
}

}  // namespace

SnapshotMemory::~SnapshotMemory() {
  if (host_) munmap(host_, host_bytes_);
}

void SnapshotMemory::make(const SnapshotPlan& plan) {
  ranges_ = plan.ranges;
  std::erase_if(ranges_, [](const SnapshotRange& range) { return range.bytes <= 0; });
  std::sort(ranges_.begin(), ranges_.end(),
            [](const SnapshotRange& a, const SnapshotRange& b) { return a.address < b.address; });
  for (std::size_t i = 1; i < ranges_.size(); ++i)
    if (ranges_[i - 1].address + static_cast<DeviceAddress>(ranges_[i - 1].bytes) > ranges_[i].address)
      throw Error(ErrorKind::internal,
                  fmt::format("two captured allocations lie over each other at {:#x}", ranges_[i].address));
  if (ranges_.empty()) return;
  // Before the file is mapped, which the system would put wherever there is room.
  if (!plan.in_place) reserve_addresses();
  if (plan.descriptor >= 0)
    map_file(plan.descriptor);
  else if (plan.in_place)
    copy_to_host();
  else
    throw Error(ErrorKind::internal, "a captured launch without the file of its memory");
  if (!plan.in_place) fill_addresses();
}

void SnapshotMemory::map_file(int descriptor) {
  struct stat file {};
  std::int64_t needed = 0;
  for (const SnapshotRange& range : ranges_) needed = std::max(needed, range.file_offset + range.bytes);
  if (fstat(descriptor, &file) != 0 || file.st_size < needed)
    throw Error(ErrorKind::internal, fmt::format("the captured memory takes {} bytes and its file has {}", needed,
                                                 static_cast<std::int64_t>(file.st_size)));
  const bool has_result = file.st_size >= 2 * needed;
  host_bytes_ = static_cast<std::size_t>(has_result ? 2 * needed : needed);
  void* const mapped = mmap(nullptr, host_bytes_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED)
    throw Error(
        ErrorKind::gpu_failed,
        fmt::format("the file of the captured memory cannot be mapped; end what else uses the host's memory: {}",
                    std::strerror(errno)));
  host_ = static_cast<char*>(mapped);
  if (has_result) result_ = host_ + needed;
}

// All or none.
bool SnapshotMemory::reserve_all(const std::vector<Reservation>& parts) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    DeviceAddress got = 0;
    if (driver_.reserve_at(parts[i].begin, parts[i].bytes(), got).ok() && got == parts[i].begin) continue;
    while (i-- > 0) driver_.unreserve(parts[i].begin, parts[i].bytes());
    return false;
  }
  return true;
}

void SnapshotMemory::reserve_addresses() {
  if (const std::string why_not = driver_.why_no_chosen_addresses(); !why_not.empty())
    throw Error(ErrorKind::gpu_failed, why_not + "; try --in-process");
  std::int64_t unit = 0;
  require(driver_.mapping_unit(unit), "reading the unit of memory mappings");
  pages_ = reservations_of(ranges_, unit);
  std::int64_t needed = 0;
  for (const Reservation& part : pages_) needed += part.bytes();
  std::int64_t free = 0;
  require(driver_.free_memory(free), "reading the free memory");
  if (needed > free)
    throw Error(
        ErrorKind::buffer_too_large,
        fmt::format("the application holds {} MiB of the GPU's memory, and {} MiB are free for a copy beside it; "
                    "try --in-process, which needs room for what the launch changes only",
                    needed >> 20, free >> 20));
  // All before any is mapped: what the driver itself allocates for a mapping may not lie at an address that is wanted.
  for (const Reservation& place : reservations_of(ranges_, std::max(unit, kPlaceBytes))) {
    std::vector<Reservation> parts;
    for (const Reservation& part : pages_)
      if (part.begin >= place.begin && part.end <= place.end) parts.push_back(part);
    if (reserve_all(parts) || reserve_all({place})) continue;
    DeviceAddress got = 0;
    const CudaStatus status = driver_.reserve_at(parts.front().begin, parts.front().bytes(), got);
    throw Error(ErrorKind::gpu_failed,
                fmt::format("the {} MiB at {:#x}, where the application has its data, are taken in the process that "
                            "replays the launch ({}); try --in-process",
                            parts.front().bytes() >> 20, parts.front().begin,
                            status.ok() ? fmt::format("the driver gives {:#x} instead", got) : status.text));
  }
}

void SnapshotMemory::fill_addresses() const {
  for (const Reservation& part : pages_)
    require(driver_.map_memory(part.begin, part.bytes()),
            fmt::format("mapping {} MiB at {:#x}", part.bytes() >> 20, part.begin));
  for (const SnapshotRange& range : ranges_)
    require(driver_.copy_to_device(range.address, initial(range), range.bytes),
            fmt::format("copying {} captured bytes to {:#x}", range.bytes, range.address));
}

// What a launch is going to change nobody knows before it: everything is kept.
void SnapshotMemory::copy_to_host() {
  std::int64_t needed = 0;
  for (SnapshotRange& range : ranges_) range.file_offset = std::exchange(needed, needed + range.bytes);
  host_bytes_ = static_cast<std::size_t>(needed);
  void* const mapped = mmap(nullptr, host_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(ErrorKind::buffer_too_large,
                fmt::format("the application holds {} MiB of the GPU's memory, and the host has no room to keep them "
                            "while its kernel is tuned; end what else uses it: {}",
                            needed >> 20, std::strerror(errno)));
  host_ = static_cast<char*>(mapped);
  require(driver_.synchronize(), "waiting for the application's own work");
  for (const SnapshotRange& range : ranges_)
    require(driver_.copy_to_host(host_ + range.file_offset, range.address, range.bytes),
            fmt::format("copying {} bytes from {:#x}", range.bytes, range.address));
}

}  // namespace regtune
