#include "record_rows.hpp"

#include "columns.hpp"
#include "key.hpp"
#include "process_mark.hpp"

namespace regtune {
namespace {

void write_lines(Database& database, std::int64_t run, const char* list, const std::vector<std::string>& lines) {
  Statement insert(database, "INSERT INTO run_line VALUES (?, ?, ?, ?)");
  int ordinal = 0;
  for (const std::string& line : lines) insert.run(run, list, ordinal++, line);
}

std::vector<std::string> read_lines(Database& database, std::int64_t run, const char* list) {
  Statement select(database, "SELECT line FROM run_line WHERE run_id = ? AND list = ? ORDER BY ordinal");
  select.bind(run, list);
  std::vector<std::string> lines;
  while (select.step()) lines.push_back(select.text(0));
  return lines;
}

void write_gpu(Database& database, std::int64_t run, const GpuState& gpu) {
  const GpuLimits& l = gpu.limits;
  Statement(database, "INSERT INTO run_gpu VALUES " + placeholders(24))
      .run(run, gpu.id.name, gpu.id.compute_major, gpu.id.compute_minor, gpu.id.sm_count, gpu.id.memory_clock_mhz,
           gpu.driver_version, gpu.memory_bytes, gpu.l2_bytes, l.compute_major, l.compute_minor, l.max_threads_per_sm,
           l.max_blocks_per_sm, l.registers_per_sm, l.registers_per_block, l.register_allocation_unit,
           l.sub_partitions_per_sm, l.max_registers_per_thread, l.max_threads_per_block, l.shared_bytes_per_sm,
           l.shared_bytes_per_block, l.shared_bytes_per_block_optin, l.reserved_shared_bytes_per_block,
           l.shared_allocation_unit_bytes);
  write_lines(database, run, "gpu_user", gpu.other_users);
}

std::optional<GpuState> read_gpu(Database& database, std::int64_t run) {
  Statement select(database, "SELECT * FROM run_gpu WHERE run_id = ?");
  if (!select.bind(run).step()) return std::nullopt;
  Columns columns(database, select);
  columns.skip(1);
  GpuState gpu;
  gpu.id.name = columns.text();
  gpu.id.compute_major = columns.number();
  gpu.id.compute_minor = columns.number();
  gpu.id.sm_count = columns.number();
  gpu.id.memory_clock_mhz = columns.number();
  gpu.driver_version = columns.text();
  gpu.memory_bytes = columns.integer();
  gpu.l2_bytes = columns.integer();
  GpuLimits& l = gpu.limits;
  for (int* field :
       {&l.compute_major, &l.compute_minor, &l.max_threads_per_sm, &l.max_blocks_per_sm, &l.registers_per_sm,
        &l.registers_per_block, &l.register_allocation_unit, &l.sub_partitions_per_sm, &l.max_registers_per_thread,
        &l.max_threads_per_block, &l.shared_bytes_per_sm, &l.shared_bytes_per_block, &l.shared_bytes_per_block_optin,
        &l.reserved_shared_bytes_per_block, &l.shared_allocation_unit_bytes}) {
    *field = columns.number();
  }
  gpu.other_users = read_lines(database, run, "gpu_user");
  return gpu;
}

void write_clocks(Database& database, std::int64_t run, const ClockWatch& clocks) {
  Statement(database, "INSERT INTO run_clocks VALUES " + placeholders(7))
      .run(run, clocks.readings, clocks.min_sm_mhz, clocks.median_sm_mhz, clocks.max_sm_mhz, clocks.rounds_dropped,
           clocks.gave_up_dropping);
  write_lines(database, run, "throttled_by", clocks.throttled_by);
}

std::optional<ClockWatch> read_clocks(Database& database, std::int64_t run) {
  Statement select(database, "SELECT * FROM run_clocks WHERE run_id = ?");
  if (!select.bind(run).step()) return std::nullopt;
  Columns columns(database, select);
  columns.skip(1);
  ClockWatch clocks;
  for (int* field :
       {&clocks.readings, &clocks.min_sm_mhz, &clocks.median_sm_mhz, &clocks.max_sm_mhz, &clocks.rounds_dropped})
    *field = columns.number();
  clocks.gave_up_dropping = columns.integer() != 0;
  clocks.throttled_by = read_lines(database, run, "throttled_by");
  return clocks;
}

void write_counters(Database& database, std::int64_t run, const CounterReadings& readings) {
  Statement insert(database, "INSERT INTO counters VALUES " + placeholders(8));
  for (const auto& [id, counters] : readings.of_variant)
    insert.run(run, id, counters.local_load_instructions, counters.local_store_instructions,
               counters.achieved_occupancy, counters.l1_bytes, counters.l2_bytes, counters.dram_bytes);
  if (!readings.unavailable.empty()) write_lines(database, run, "no_counters", {readings.unavailable});
}

std::optional<CounterReadings> read_counters(Database& database, std::int64_t run) {
  CounterReadings readings;
  Statement select(database, "SELECT * FROM counters WHERE run_id = ?");
  select.bind(run);
  while (select.step()) {
    Columns columns(database, select);
    columns.skip(1);
    Counters& counters = readings.of_variant[columns.number()];
    for (double* field : {&counters.local_load_instructions, &counters.local_store_instructions,
                          &counters.achieved_occupancy, &counters.l1_bytes, &counters.l2_bytes, &counters.dram_bytes})
      *field = columns.real();
  }
  const std::vector<std::string> lines = read_lines(database, run, "no_counters");
  if (!lines.empty()) readings.unavailable = lines.front();
  if (readings == CounterReadings{}) return std::nullopt;
  return readings;
}

void write_nvcc(Database& database, std::int64_t run, const NvccComparison& comparison) {
  write_lines(database, run, "nvcc", {comparison.compiler});
  Statement insert(database, "INSERT INTO nvcc_code VALUES " + placeholders(12));
  int ordinal = 0;
  for (const NvccCode& code : comparison.codes)
    insert.run(run, ordinal++, code.variant_id, code.registers_per_thread, code.spill_store_bytes,
               code.spill_load_bytes, code.failure, code.speedup.low, code.speedup.median, code.speedup.high,
               code.rounds, code.finding);
}

std::optional<NvccComparison> read_nvcc(Database& database, std::int64_t run) {
  const std::vector<std::string> compiler = read_lines(database, run, "nvcc");
  if (compiler.empty()) return std::nullopt;
  NvccComparison comparison{compiler.front(), {}};
  Statement select(database, "SELECT * FROM nvcc_code WHERE run_id = ? ORDER BY ordinal");
  select.bind(run);
  while (select.step()) {
    Columns columns(database, select);
    columns.skip(2);
    NvccCode& code = comparison.codes.emplace_back();
    for (int* field : {&code.variant_id, &code.registers_per_thread, &code.spill_store_bytes, &code.spill_load_bytes})
      *field = columns.number();
    code.failure = columns.text();
    code.speedup = columns.interval();
    code.rounds = columns.number();
    code.finding = columns.text();
  }
  return comparison;
}

}  // namespace

std::int64_t write_head(Database& database, std::int64_t id, const TuningRecord& record,
                        std::optional<std::int64_t> finish_order) {
  const auto model = record.gpu ? std::optional(gpu_model_key(record.gpu->id.name)) : std::nullopt;
  const LaunchShape& shape = record.author_shape;
  const MeasureSettings& settings = record.settings;
  const std::string& signature = record.signature.empty() ? record.kernel : record.signature;
  Statement(
      database,
      "INSERT INTO tuning_run VALUES (?, ?, ?, CAST(strftime('%s', 'now') AS INTEGER), ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(id != 0 ? std::optional(id) : std::nullopt, finish_order ? "finished" : "running", finish_order,
           process_mark(), run_key(record), bare_kernel_name(signature), hash_of(record.sizes),
           hash_of_options(record.options), model, record.regtune_version, record.started, record.host,
           record.architecture, record.compiler, record.route, record.source_path, record.source_hash, record.kernel,
           record.signature, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y, shape.block.z,
           shape.dynamic_shared_bytes, settings.margin, settings.confidence, settings.budget_s, settings.timeout_ms,
           static_cast<std::int64_t>(settings.seed), settings.launches_per_sample, settings.restored,
           settings.never_restore, settings.cold, to_string(settings.sample_mode), settings.launch_overhead_ms,
           settings.timer_resolution_ms, record.work.bytes, record.work.flops, record.work.peak_copy_gb_per_s,
           record.gpu_seconds);
  const std::int64_t run = database.last_insert_id();
  Statement size(database, "INSERT INTO run_size VALUES (?, ?, ?)");
  for (const auto& [name, value] : record.sizes) size.run(run, name, value);
  write_lines(database, run, "option", record.options);
  write_lines(database, run, "argument", record.arguments);
  write_lines(database, run, "guess", record.guesses);
  if (!record.description.empty())
    write_lines(database, run, "description", {record.description, record.description_folder});
  if (record.gpu) write_gpu(database, run, *record.gpu);
  if (record.clocks) write_clocks(database, run, *record.clocks);
  if (record.counters) write_counters(database, run, *record.counters);
  if (!record.author_bounds.empty()) write_lines(database, run, "author_bounds", {record.author_bounds});
  write_lines(database, run, "command_line", record.command_line);
  if (record.nvcc) write_nvcc(database, run, *record.nvcc);
  return run;
}

std::optional<TuningRecord> read_head(Database& database, std::int64_t run) {
  Statement select(
      database,
      "SELECT regtune_version, started, host, architecture, compiler, route, source_path, source_hash, kernel, "
      "signature, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared_bytes, margin, "
      "confidence, budget_s, timeout_ms, seed, launches_per_sample, restored, never_restore, cold, sample_mode, "
      "launch_overhead_ms, "
      "timer_resolution_ms, work_bytes, work_flops, peak_copy_gb_per_s, gpu_seconds FROM tuning_run WHERE id = ?");
  if (!select.bind(run).step()) return std::nullopt;
  Columns columns(database, select);
  TuningRecord record;
  record.regtune_version = columns.text();
  record.started = columns.text();
  record.host = columns.text();
  record.architecture = columns.text();
  record.compiler = columns.text();
  record.route = columns.text();
  record.source_path = columns.text();
  record.source_hash = columns.text();
  record.kernel = columns.text();
  record.signature = columns.text();
  record.author_shape.grid = columns.dim3();
  record.author_shape.block = columns.dim3();
  record.author_shape.dynamic_shared_bytes = columns.integer();
  record.settings.margin = columns.real();
  record.settings.confidence = columns.real();
  record.settings.budget_s = columns.real();
  record.settings.timeout_ms = columns.real();
  record.settings.seed = static_cast<std::uint64_t>(columns.integer());
  record.settings.launches_per_sample = columns.number();
  record.settings.restored = columns.integer() != 0;
  record.settings.never_restore = columns.integer() != 0;
  record.settings.cold = columns.integer() != 0;
  record.settings.sample_mode = columns.named(sample_mode_from_string);
  record.settings.launch_overhead_ms = columns.real();
  record.settings.timer_resolution_ms = columns.real();
  record.work.bytes = columns.integer();
  record.work.flops = columns.integer();
  record.work.peak_copy_gb_per_s = columns.real();
  record.gpu_seconds = columns.real();
  record.sizes = read_sizes(database, run);
  record.options = read_lines(database, run, "option");
  record.arguments = read_lines(database, run, "argument");
  record.guesses = read_lines(database, run, "guess");
  if (const auto lines = read_lines(database, run, "description"); lines.size() == 2) {
    record.description = lines[0];
    record.description_folder = lines[1];
  }
  record.gpu = read_gpu(database, run);
  record.clocks = read_clocks(database, run);
  record.counters = read_counters(database, run);
  if (const auto bounds = read_lines(database, run, "author_bounds"); !bounds.empty())
    record.author_bounds = bounds.front();
  record.command_line = read_lines(database, run, "command_line");
  record.nvcc = read_nvcc(database, run);
  return record;
}

Sizes read_sizes(Database& database, std::int64_t run) {
  Statement select(database, "SELECT name, value FROM run_size WHERE run_id = ?");
  select.bind(run);
  Sizes sizes;
  while (select.step()) sizes[select.text(0)] = select.integer(1);
  return sizes;
}

void write_verdict(Database& database, std::int64_t run, const Verdict& verdict) {
  Statement(database, "INSERT INTO verdict VALUES " + placeholders(23))
      .run(run, to_string(verdict.kind), verdict.reference_id, verdict.best_id, verdict.best_in_source_id,
           verdict.speedup.low, verdict.speedup.median, verdict.speedup.high, verdict.speedup_in_source.low,
           verdict.speedup_in_source.median, verdict.speedup_in_source.high, verdict.reason, verdict.best_renamed_id,
           verdict.speedup_renamed.low, verdict.speedup_renamed.median, verdict.speedup_renamed.high,
           verdict.best_other_way_id, verdict.speedup_other_way.low, verdict.speedup_other_way.median,
           verdict.speedup_other_way.high, verdict.speedup_of_best_other_way.low,
           verdict.speedup_of_best_other_way.median, verdict.speedup_of_best_other_way.high);
}

std::optional<Verdict> read_verdict(Database& database, std::int64_t run) {
  Statement select(database, "SELECT * FROM verdict WHERE run_id = ?");
  if (!select.bind(run).step()) return std::nullopt;
  Columns columns(database, select);
  columns.skip(1);
  Verdict verdict;
  verdict.kind = columns.named(verdict_kind_from_string);
  verdict.reference_id = columns.number();
  verdict.best_id = columns.number();
  verdict.best_in_source_id = columns.number();
  verdict.speedup = columns.interval();
  verdict.speedup_in_source = columns.interval();
  verdict.reason = columns.text();
  if (columns.null_ahead()) {
    columns.skip(1);
  } else {
    verdict.best_renamed_id = columns.number();
  }
  verdict.speedup_renamed = columns.interval();
  if (columns.null_ahead()) {
    columns.skip(1);
  } else {
    verdict.best_other_way_id = columns.number();
  }
  verdict.speedup_other_way = columns.interval();
  verdict.speedup_of_best_other_way = columns.interval();
  return verdict;
}

}  // namespace regtune
