#include "gpu_limits.hpp"

#include <array>
#include <charconv>

namespace regtune {
namespace {

constexpr int kib = 1024;

// One row per compute capability; whatever is the same everywhere is a default of GpuLimits.
struct Row {
  int major;
  int minor;
  int threads_per_sm;
  int blocks_per_sm;
  int shared_kib_per_sm;
  int shared_kib_per_block_optin;
};

// Programming Guide, table "Technical Specifications per Compute Capability" (7.5 and newer; threads and
// blocks confirmed by what ptxas warns of). 5.x, 6.x and 7.2 are from older guides. 10.1 is what CUDA 12
// calls 11.0.
constexpr std::array<Row, 21> rows{{
    {5, 0, 2048, 32, 64, 48},    {5, 2, 2048, 32, 96, 48},    {5, 3, 2048, 32, 64, 48},    {6, 0, 2048, 32, 64, 48},
    {6, 1, 2048, 32, 96, 48},    {6, 2, 2048, 32, 64, 48},    {7, 0, 2048, 32, 96, 96},    {7, 2, 2048, 32, 96, 96},
    {7, 5, 1024, 16, 64, 64},    {8, 0, 2048, 32, 164, 163},  {8, 6, 1536, 16, 100, 99},   {8, 7, 1536, 16, 164, 163},
    {8, 8, 1536, 16, 100, 99},   {8, 9, 1536, 24, 100, 99},   {9, 0, 2048, 32, 228, 227},  {10, 0, 2048, 32, 228, 227},
    {10, 1, 1536, 24, 228, 227}, {10, 3, 2048, 32, 228, 227}, {11, 0, 1536, 24, 228, 227}, {12, 0, 1536, 24, 100, 99},
    {12, 1, 1536, 24, 100, 99},
}};

GpuLimits limits_of(const Row& row) {
  const bool half_block = (row.major == 5 && row.minor == 3) || (row.major == 6 && row.minor == 2);
  GpuLimits limits;
  limits.compute_major = row.major;
  limits.compute_minor = row.minor;
  limits.max_threads_per_sm = row.threads_per_sm;
  limits.max_blocks_per_sm = row.blocks_per_sm;
  limits.registers_per_sm = 64 * kib;
  limits.registers_per_block = half_block ? 32 * kib : 64 * kib;
  limits.sub_partitions_per_sm = row.major == 6 && row.minor == 0 ? 2 : 4;
  limits.shared_bytes_per_sm = row.shared_kib_per_sm * kib;
  limits.shared_bytes_per_block_optin = row.shared_kib_per_block_optin * kib;
  limits.reserved_shared_bytes_per_block = row.major >= 8 ? kib : 0;
  limits.shared_allocation_unit_bytes = row.major >= 8 ? 128 : 256;
  return limits;
}

}  // namespace

std::optional<GpuLimits> gpu_limits(int compute_major, int compute_minor) {
  for (const Row& row : rows) {
    if (row.major == compute_major && row.minor == compute_minor) return limits_of(row);
  }
  return std::nullopt;
}

std::optional<GpuLimits> gpu_limits(std::string_view architecture) {
  constexpr std::string_view prefix = "sm_";
  if (!architecture.starts_with(prefix)) return std::nullopt;
  architecture.remove_prefix(prefix.size());
  int number = 0;
  const char* end = architecture.data() + architecture.size();
  const auto [stop, error] = std::from_chars(architecture.data(), end, number);
  if (error != std::errc{} || number < 10) return std::nullopt;
  // "a" (architecture-specific) exists since sm_90, "f" (family-specific) since sm_100.
  const std::string_view suffix(stop, static_cast<std::size_t>(end - stop));
  const bool known_suffix = suffix.empty() || (suffix == "a" && number >= 90) || (suffix == "f" && number >= 100);
  return known_suffix ? gpu_limits(number / 10, number % 10) : std::nullopt;
}

std::vector<std::pair<int, int>> known_compute_capabilities() {
  std::vector<std::pair<int, int>> capabilities;
  capabilities.reserve(rows.size());
  for (const Row& row : rows) capabilities.emplace_back(row.major, row.minor);
  return capabilities;
}

}  // namespace regtune
