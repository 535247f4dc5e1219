#pragma once
// For the tests of the store: a record that uses every field, records as texts so that they can be compared, a cache
// file in a scratch folder, and children that are killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>
#include <sstream>

#include "key.hpp"
#include "regtune/error.hpp"
#include "sqlite.hpp"
#include "store.hpp"

namespace regtune {

namespace fs = std::filesystem;

// Every field of a record as text, so that two records are equal exactly when their texts are.
class Text {
 public:
  template <typename T>
  Text& operator<<(const T& value) {
    out_ << value << "|";
    return *this;
  }
  Text& operator<<(double value) {
    out_ << std::hexfloat << value << "|";
    return *this;
  }
  Text& operator<<(Dim3 size) { return *this << size.x << size.y << size.z; }
  Text& operator<<(const Interval& i) { return *this << i.low << i.median << i.high; }
  Text& operator<<(const LaunchShape& s) { return *this << s.grid << s.block << s.dynamic_shared_bytes; }
  Text& operator<<(const std::vector<Sample>& samples) {
    for (const Sample& sample : samples) *this << sample.round << sample.ms;
    return *this << "end";
  }
  Text& operator<<(const Measurement& m) {
    return *this << m.race << m.confirmation << m.time_ms << m.speedup << m.other_way;
  }
  Text& operator<<(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) *this << line.size() << line;
    return *this << "end";
  }
  Text& operator<<(const RegisterPolicy& policy) {
    *this << policy.index();
    if (const auto* cap = std::get_if<RegisterCap>(&policy)) *this << cap->registers_per_thread;
    if (const auto* max = std::get_if<MaxRegisters>(&policy)) *this << max->registers_per_thread;
    if (const auto* lb = std::get_if<LaunchBounds>(&policy))
      *this << lb->max_threads_per_block << lb->min_blocks_per_sm;
    return *this;
  }
  Text& operator<<(const std::optional<StaticFacts>& facts) {
    if (!facts) return *this << "no facts";
    const StaticFacts& f = *facts;
    *this << f.registers_per_thread << f.register_ceiling << f.spill_store_bytes << f.spill_load_bytes
          << f.shared_spill_store_bytes << f.shared_spill_load_bytes << f.stack_frame_bytes << f.static_shared_bytes
          << f.max_threads_per_block << f.required_threads_per_block << f.code_hash << to_string(f.budget.status)
          << f.budget.asked << f.budget.note;
    if (!f.occupancy) return *this << "no occupancy";
    return *this << f.occupancy->active_blocks_per_sm << f.occupancy->fraction << to_string(f.occupancy->limiter);
  }
  Text& operator<<(const Outcome& outcome) {
    *this << outcome.index();
    if (const auto* o = std::get_if<CompileFailed>(&outcome)) *this << o->message;
    if (const auto* o = std::get_if<NotCompiled>(&outcome)) *this << o->reason;
    if (const auto* o = std::get_if<NotApplicable>(&outcome)) *this << o->reason;
    if (const auto* o = std::get_if<NotLaunchable>(&outcome)) *this << o->reason;
    if (const auto* o = std::get_if<SameCodeAs>(&outcome)) *this << o->variant_id;
    if (const auto* o = std::get_if<Faulted>(&outcome)) *this << o->message;
    if (const auto* o = std::get_if<TimedOut>(&outcome)) *this << o->limit_ms;
    if (const auto* o = std::get_if<WrongResult>(&outcome)) *this << o->message;
    if (const auto* o = std::get_if<Abandoned>(&outcome)) *this << o->reason << o->so_far;
    if (const auto* o = std::get_if<Quarantined>(&outcome)) *this << o->reason << o->since;
    if (const auto* o = std::get_if<Measurement>(&outcome)) *this << *o;
    return *this;
  }
  Text& operator<<(const SourceChoice& choice) {
    *this << choice.renamed << choice.register_usage_level << choice.instance << choice.spills_to_shared;
    for (const auto& [name, value] : choice.macros) *this << name.size() << name << value.size() << value;
    return *this << "end";
  }
  Text& operator<<(const Trial& t) {
    return *this << t.variant.id << t.variant.policy << t.variant.block << t.variant.choice << t.shape << t.facts
                 << t.outcome;
  }
  Text& operator<<(const GpuLimits& l) {
    return *this << l.compute_major << l.compute_minor << l.max_threads_per_sm << l.max_blocks_per_sm
                 << l.registers_per_sm << l.registers_per_block << l.register_allocation_unit << l.sub_partitions_per_sm
                 << l.max_registers_per_thread << l.max_threads_per_block << l.shared_bytes_per_sm
                 << l.shared_bytes_per_block << l.shared_bytes_per_block_optin << l.reserved_shared_bytes_per_block
                 << l.shared_allocation_unit_bytes;
  }
  std::string str() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

inline std::string text_of(const TuningRecord& r) {
  Text text;
  text << r.regtune_version << r.started << r.host << r.architecture << r.compiler << r.route << r.source_path
       << r.source_hash << r.options << r.kernel << r.signature << r.arguments << r.guesses << r.description
       << r.description_folder << r.command_line << r.author_shape;
  for (const auto& [name, value] : r.sizes) text << name << value;
  text << r.settings.margin << r.settings.confidence << r.settings.budget_s << r.settings.timeout_ms << r.settings.seed
       << r.settings.launches_per_sample << r.settings.restored << r.settings.never_restore << r.settings.cold
       << to_string(r.settings.sample_mode) << r.settings.launch_overhead_ms << r.settings.timer_resolution_ms
       << r.work.bytes << r.work.flops << r.work.peak_copy_gb_per_s;
  if (r.clocks)
    text << r.clocks->readings << r.clocks->min_sm_mhz << r.clocks->median_sm_mhz << r.clocks->max_sm_mhz
         << r.clocks->rounds_dropped << r.clocks->gave_up_dropping << r.clocks->throttled_by;
  if (r.gpu) {
    const GpuState& g = *r.gpu;
    text << g.id.name << g.id.compute_major << g.id.compute_minor << g.id.sm_count << g.id.memory_clock_mhz << g.limits
         << g.driver_version << g.memory_bytes << g.l2_bytes << g.other_users;
  }
  text << r.author_bounds;
  if (r.nvcc) text << r.nvcc->compiler;
  if (r.nvcc)
    for (const NvccCode& code : r.nvcc->codes)
      text << code.variant_id << code.registers_per_thread << code.spill_store_bytes << code.spill_load_bytes
           << code.failure << code.speedup << code.rounds << code.finding;
  for (const Trial& trial : r.trials) text << trial;
  if (r.verdict) {
    const Verdict& v = *r.verdict;
    text << to_string(v.kind) << v.reference_id << v.best_id << v.best_in_source_id << v.speedup << v.speedup_in_source
         << v.reason << v.best_renamed_id.value_or(-1) << v.speedup_renamed << v.speedup_other_way
         << v.best_other_way_id.value_or(-1) << v.speedup_of_best_other_way;
  }
  return text.str();
}

inline StaticFacts sample_facts(int registers) {
  StaticFacts facts;
  facts.registers_per_thread = registers;
  facts.register_ceiling = 57;
  facts.spill_store_bytes = 48;
  facts.spill_load_bytes = 52;
  facts.shared_spill_store_bytes = 44;
  facts.shared_spill_load_bytes = 36;
  facts.stack_frame_bytes = 40;
  facts.static_shared_bytes = 512;
  facts.max_threads_per_block = 256;
  facts.required_threads_per_block = 128;
  facts.code_hash = content_hash(std::to_string(registers));
  facts.budget = {BudgetStatus::clamped, 8, "raised to 24"};
  facts.occupancy = Occupancy{4, 0.5, Limiter::shared_memory};
  return facts;
}

inline Measurement sample_measurement() {
  Measurement measurement;
  measurement.race = {{1, 1.439}, {2, 1.44}, {2, 0.1}, {1, 1e-300}};
  measurement.confirmation = {{7, 1.291}};
  measurement.other_way = {{1, 2.5}, {2, 0.5}};
  measurement.time_ms = {1.29, 1.291, 1.292};
  measurement.speedup = {std::numeric_limits<double>::quiet_NaN(), 1.11, std::numeric_limits<double>::infinity()};
  return measurement;
}

inline TuningRecord sample_record() {
  TuningRecord r;
  r.regtune_version = "0.1.0";
  r.started = "2026-01-02T03:04:05Z";
  r.host = "h\xc3\xb6st";
  r.architecture = "sm_90";
  r.gpu = GpuState{{"NVIDIA H200", 9, 0, 132, 3201},
                   *gpu_limits(9, 0),
                   "580.159.04",
                   150'000'000'000,
                   62'914'560,
                   {"python (7)", ""}};
  r.compiler = "NVRTC 13.0.88";
  r.route = "LTO-IR once, then nvJitLink 13.0";
  r.source_path = "kernels/decay_wide.cu";
  r.source_hash = content_hash("source");
  r.options = {"--std=c++17", "", "-DX=a b", std::string("nul\0byte", 8)};
  r.kernel = "_Z9decayWidePKfPfm";
  r.signature = "decayWide(const float*, float*, unsigned long)";
  r.sizes = {{"n", 1 << 24}, {"m", -1}};
  r.arguments = {"in  const float*  16777216 x float, uniform(0, 1)"};
  r.guesses = {"block = 256", "args.n = \"n\""};
  r.description = "block = 256\n\n[args]\nn = \"n\"\n";
  r.description_folder = "examples";
  r.command_line = {"k.cu", "--set", "n=1<<24", ""};
  r.author_shape = {{65536, 1, 1}, {256, 1, 1}, 1024};
  r.settings = {0.01, 0.95, 30, 5000, ~std::uint64_t{0}, 3, true, true, true, SampleMode::graph, 0.0021, 3.2e-05};
  r.clocks = ClockWatch{123, 345, 1755, 1980, 4, true, {"power cap", ""}};
  r.author_bounds = "kThreads, 5";
  r.nvcc = NvccComparison{"nvcc 13.0.88 with GCC 12.2.0",
                          {{0, 40, 8, 12, "", {}, 0, ""}, {2, 48, 0, 0, "", {1.01, 1.02, 1.03}, 60, "the gain holds"}}};
  r.work = {1 << 30, INT64_MAX, 4123.5};
  const std::vector<std::pair<RegisterPolicy, Outcome>> trials = {
      {AuthorsOwn{}, sample_measurement()},
      {CompilerDefault{}, SameCodeAs{0}},
      {RegisterCap{57}, Abandoned{"10 times slower", sample_measurement()}},
      {LaunchBounds{256, 3}, NotLaunchable{"1,024 threads x 96 registers"}},
      {LaunchBounds{256, 0}, Faulted{"illegal address"}},
      {MaxRegisters{64}, TimedOut{123.5}},
      {RegisterCap{24}, WrongResult{"out[3]: 1 instead of 2"}},
      {RegisterCap{25}, CompileFailed{"(C7600)"}},
      {RegisterCap{26}, NotTimed{}},
      {RegisterCap{27}, NotCompiled{"no time was left"}},
      {LaunchBounds{256, 8}, NotApplicable{"ptxas: not here"}},
      {RegisterCap{28}, Quarantined{"it faulted: illegal address", "2025-12-31T23:59:59Z"}},
  };
  for (const auto& [policy, outcome] : trials) {
    const int id = static_cast<int>(r.trials.size());
    Trial trial{{id, policy, {256, 2, 1}}, {{4, 5, 6}, {256, 1, 1}, 64}, sample_facts(56 + id), outcome};
    trial.variant.choice.spills_to_shared = std::holds_alternative<NotApplicable>(outcome);
    if (std::holds_alternative<CompileFailed>(outcome) || std::holds_alternative<NotCompiled>(outcome) ||
        std::holds_alternative<NotApplicable>(outcome))
      trial.facts.reset();
    if (std::holds_alternative<NotLaunchable>(outcome)) trial.facts->occupancy.reset();
    r.trials.push_back(trial);
  }
  const std::string odd_bytes("a\0b=\xff", 5);
  r.trials[2].variant.choice = {true, 10, {{"UNROLL", "4"}, {"", ""}, {odd_bytes, odd_bytes}}};
  r.trials[3].variant.choice = {true, -1, {}};
  r.trials[4].variant.choice = {false, 0, {}};
  r.trials[5].variant.choice = {false, -1, {{"UNROLL", "4"}}};
  r.trials[6].variant.choice = {true, -1, {}};
  r.verdict = Verdict{Verdict::Kind::improved,
                      0,
                      1,
                      4,
                      {1.1, 1.11, 1.12},
                      {1.0, 1.01, 1.02},
                      "because",
                      2,
                      {1.2, std::numeric_limits<double>::quiet_NaN(), 1.3},
                      {0.8, 0.9, 1.0},
                      3,
                      {1.05, 1.15, 1.25}};
  return r;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "regtune_store_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "deep" / "er" / "cache.db"; }

  template <typename Call>
  void expect_error(ErrorKind kind, std::string_view said, Call call) {
    try {
      call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      EXPECT_NE(std::string_view(error.what()).find(said), std::string_view::npos) << error.what();
    }
  }
  static LookupKey key(const std::string& kernel, const Sizes& sizes, std::optional<std::string> gpu = {}) {
    return {kernel, sizes, std::move(gpu)};
  }
  static std::int64_t store_finished(Store& store, const TuningRecord& record) {
    const std::int64_t run = store.begin(record);
    store.finish(run, record);
    return run;
  }
  fs::path folder_;
};

inline std::int64_t count(const fs::path& file, const std::string& what) {
  Database database = Database::open(file, Database::Mode::read_only);
  Statement select(database, "SELECT count(*) FROM " + what);
  return select.step() ? select.integer(0) : -1;
}

inline std::string integrity(const fs::path& file) {
  Database database = Database::open(file, Database::Mode::read_only);
  Statement foreign(database, "PRAGMA foreign_key_check");
  if (foreign.step()) return "a row without its parent in " + foreign.text(0);
  Statement check(database, "PRAGMA integrity_check");
  return check.step() ? check.text(0) : "";
}

// Runs the body in a forked child that is killed where the body ends, without any clean-up.
template <typename Body>
pid_t in_killed_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    kill(getpid(), SIGKILL);
  }
  return child;
}

inline bool was_killed(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace regtune
