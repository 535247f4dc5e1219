#include "timing_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace regtune {
namespace {

std::string samples_text(const MeasureSettings& settings) {
  std::string text;
  switch (settings.sample_mode) {
    case SampleMode::one_launch:
      text = "samples of one launch";
      break;
    case SampleMode::back_to_back:
      text = fmt::format("samples of {} launches back to back", settings.launches_per_sample);
      break;
    case SampleMode::graph:
      text = fmt::format("samples of {} launches, replayed as a CUDA graph", settings.launches_per_sample);
      break;
  }
  if (settings.restored) text += ", the buffers restored before each";
  if (settings.never_restore) text += ", the buffers as the launch before left them";
  if (settings.cold) text += ", the L2 cache flushed before each";
  return text;
}

double giga_per_second(std::int64_t each, double ms) {
  return static_cast<double>(each) / (ms * 1e6);
}

}  // namespace

std::string clocks_text(const ClockWatch& clocks) {
  std::string text = fmt::format("SM clock {} MHz", clocks.median_sm_mhz);
  if (clocks.min_sm_mhz != clocks.max_sm_mhz) text += fmt::format(" ({} to {})", clocks.min_sm_mhz, clocks.max_sm_mhz);
  if (clocks.rounds_dropped > 0)
    text += fmt::format("; throttled: {} round{} dropped ({})", clocks.rounds_dropped,
                        clocks.rounds_dropped == 1 ? "" : "s", fmt::join(clocks.throttled_by, ", "));
  if (clocks.gave_up_dropping) text += ", and the later ones kept: the card throttles most of the time";
  return text;
}

std::string timing_text(const TuningRecord& record) {
  return fmt::format("timed in {}{}\n", samples_text(record.settings),
                     record.clocks ? "; " + clocks_text(*record.clocks) : std::string());
}

std::vector<std::string> rate_heads(const Work& work) {
  std::vector<std::string> heads;
  if (work.bytes > 0) heads.emplace_back("GB/s");
  if (work.bytes > 0 && work.peak_copy_gb_per_s > 0) heads.emplace_back("of copy");
  if (work.flops > 0) heads.emplace_back("GFLOP/s");
  return heads;
}

std::vector<std::string> rate_cells(const Work& work, double ms) {
  if (ms <= 0) return std::vector<std::string>(rate_heads(work).size());
  std::vector<std::string> cells;
  if (work.bytes > 0) cells.push_back(fmt::format("{:.1f}", giga_per_second(work.bytes, ms)));
  if (work.bytes > 0 && work.peak_copy_gb_per_s > 0)
    cells.push_back(fmt::format("{:.1f} %", 100 * giga_per_second(work.bytes, ms) / work.peak_copy_gb_per_s));
  if (work.flops > 0) cells.push_back(fmt::format("{:.1f}", giga_per_second(work.flops, ms)));
  return cells;
}

std::vector<std::string> counter_heads(const TuningRecord& record) {
  if (!record.counters || record.counters->of_variant.empty()) return {};
  return {"M executed ld/st", "achieved"};
}

std::vector<std::string> counter_cells(const TuningRecord& record, int variant_id) {
  if (counter_heads(record).empty()) return {};
  const auto found = record.counters->of_variant.find(variant_id);
  if (found == record.counters->of_variant.end()) return {"", ""};
  const Counters& counters = found->second;
  return {fmt::format("{:.4g}/{:.4g}", counters.local_load_instructions / 1e6, counters.local_store_instructions / 1e6),
          fmt::format("{:.1f} %", counters.achieved_occupancy * 100)};
}

}  // namespace regtune
