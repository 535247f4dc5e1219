#include "measure_json.hpp"

#include "json_fields.hpp"

namespace regtune {

using namespace json_fields;

Json settings_json(const MeasureSettings& s) {
  return {{"margin", s.margin},
          {"confidence", s.confidence},
          {"budget_s", s.budget_s},
          {"timeout_ms", s.timeout_ms},
          {"seed", s.seed},
          {"launches_per_sample", s.launches_per_sample},
          {"restored", s.restored},
          {"never_restore", s.never_restore},
          {"cold", s.cold},
          {"sample_mode", to_string(s.sample_mode)},
          {"launch_overhead_ms", s.launch_overhead_ms},
          {"timer_resolution_ms", s.timer_resolution_ms}};
}

MeasureSettings settings_from_json(const Json& json) {
  MeasureSettings s;
  read(json, "margin", s.margin);
  read(json, "confidence", s.confidence);
  read(json, "budget_s", s.budget_s);
  read(json, "timeout_ms", s.timeout_ms);
  read(json, "seed", s.seed);
  read(json, "launches_per_sample", s.launches_per_sample);
  read(json, "restored", s.restored);
  read_if_there(json, "never_restore", s.never_restore);
  read_if_there(json, "cold", s.cold);
  if (s.launches_per_sample > 1) s.sample_mode = SampleMode::back_to_back;
  if (find(json, "sample_mode")) s.sample_mode = read_enum(json, "sample_mode", sample_mode_from_string);
  read_if_there(json, "launch_overhead_ms", s.launch_overhead_ms);
  read_if_there(json, "timer_resolution_ms", s.timer_resolution_ms);
  return s;
}

Json clocks_json(const ClockWatch& c) {
  return {
      {"readings", c.readings},        {"min_sm_mhz", c.min_sm_mhz},         {"median_sm_mhz", c.median_sm_mhz},
      {"max_sm_mhz", c.max_sm_mhz},    {"rounds_dropped", c.rounds_dropped}, {"gave_up_dropping", c.gave_up_dropping},
      {"throttled_by", c.throttled_by}};
}

ClockWatch clocks_from_json(const Json& json) {
  ClockWatch c;
  read(json, "readings", c.readings);
  read(json, "min_sm_mhz", c.min_sm_mhz);
  read(json, "median_sm_mhz", c.median_sm_mhz);
  read(json, "max_sm_mhz", c.max_sm_mhz);
  read(json, "rounds_dropped", c.rounds_dropped);
  read(json, "gave_up_dropping", c.gave_up_dropping);
  read(json, "throttled_by", c.throttled_by);
  return c;
}

Json counters_json(const CounterReadings& readings) {
  if (readings.of_variant.empty()) return {{"unavailable", readings.unavailable}};
  Json list = Json::array();
  for (const auto& [id, counters] : readings.of_variant)
    list.push_back({{"variant", id},
                    {"local_load_instructions", counters.local_load_instructions},
                    {"local_store_instructions", counters.local_store_instructions},
                    {"achieved_occupancy", counters.achieved_occupancy},
                    {"l1_bytes", counters.l1_bytes},
                    {"l2_bytes", counters.l2_bytes},
                    {"dram_bytes", counters.dram_bytes}});
  return {{"of_variants", std::move(list)}};
}

CounterReadings counters_from_json(const Json& json) {
  CounterReadings readings;
  if (find(json, "unavailable")) {
    read(json, "unavailable", readings.unavailable);
    return readings;
  }
  for (const Json& entry : at(json, "of_variants")) {
    Counters& counters = readings.of_variant[read<int>(entry, "variant")];
    read(entry, "local_load_instructions", counters.local_load_instructions);
    read(entry, "local_store_instructions", counters.local_store_instructions);
    read(entry, "achieved_occupancy", counters.achieved_occupancy);
    read(entry, "l1_bytes", counters.l1_bytes);
    read(entry, "l2_bytes", counters.l2_bytes);
    read(entry, "dram_bytes", counters.dram_bytes);
  }
  return readings;
}

Json nvcc_json(const NvccComparison& comparison) {
  Json codes = Json::array();
  for (const NvccCode& code : comparison.codes) {
    Json entry{{"variant", code.variant_id}};
    if (!code.failure.empty()) {
      entry["failure"] = code.failure;
    } else {
      entry["registers_per_thread"] = code.registers_per_thread;
      entry["spill_store_bytes"] = code.spill_store_bytes;
      entry["spill_load_bytes"] = code.spill_load_bytes;
    }
    if (!code.finding.empty()) {
      entry["finding"] = code.finding;
      entry["speedup"] = {code.speedup.low, code.speedup.median, code.speedup.high};
      entry["rounds"] = code.rounds;
    }
    codes.push_back(std::move(entry));
  }
  return {{"compiler", comparison.compiler}, {"codes", std::move(codes)}};
}

NvccComparison nvcc_from_json(const Json& json, std::size_t trials) {
  NvccComparison comparison;
  read(json, "compiler", comparison.compiler);
  for (const Json& entry : at(json, "codes")) {
    NvccCode& code = comparison.codes.emplace_back();
    read(entry, "variant", code.variant_id);
    if (code.variant_id < 0 || static_cast<std::size_t>(code.variant_id) >= trials)
      refuse("variant", at(entry, "variant"), "the number of a trial");
    read_if_there(entry, "failure", code.failure);
    read_if_there(entry, "registers_per_thread", code.registers_per_thread);
    read_if_there(entry, "spill_store_bytes", code.spill_store_bytes);
    read_if_there(entry, "spill_load_bytes", code.spill_load_bytes);
    read_if_there(entry, "finding", code.finding);
    read_if_there(entry, "rounds", code.rounds);
    if (!find(entry, "speedup")) continue;
    const auto speedup = read<std::vector<double>>(entry, "speedup");
    if (speedup.size() != 3) refuse("speedup", at(entry, "speedup"), "three numbers");
    code.speedup = {speedup[0], speedup[1], speedup[2]};
  }
  return comparison;
}

Json rates_json(const Work& w, double ms) {
  Json json;
  if (!(ms > 0)) return json;
  const double gb_per_s = static_cast<double>(w.bytes) / (ms * 1e6);
  if (w.bytes > 0) json["gb_per_s"] = gb_per_s;
  if (w.bytes > 0 && w.peak_copy_gb_per_s > 0) json["share_of_copy"] = gb_per_s / w.peak_copy_gb_per_s;
  if (w.flops > 0) json["gflop_per_s"] = static_cast<double>(w.flops) / (ms * 1e6);
  return json;
}

Json work_json(const Work& w) {
  return {{"bytes", w.bytes}, {"flops", w.flops}, {"peak_copy_gb_per_s", w.peak_copy_gb_per_s}};
}

Work work_from_json(const Json& json) {
  Work w;
  read(json, "bytes", w.bytes);
  read(json, "flops", w.flops);
  read(json, "peak_copy_gb_per_s", w.peak_copy_gb_per_s);
  return w;
}

}  // namespace regtune
