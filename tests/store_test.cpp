#include "store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>

#include "key.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

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

std::string text_of(const TuningRecord& r) {
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

StaticFacts sample_facts(int registers) {
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

Measurement sample_measurement() {
  Measurement measurement;
  measurement.race = {{1, 1.439}, {2, 1.44}, {2, 0.1}, {1, 1e-300}};
  measurement.confirmation = {{7, 1.291}};
  measurement.other_way = {{1, 2.5}, {2, 0.5}};
  measurement.time_ms = {1.29, 1.291, 1.292};
  measurement.speedup = {std::numeric_limits<double>::quiet_NaN(), 1.11, std::numeric_limits<double>::infinity()};
  return measurement;
}

TuningRecord sample_record() {
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

std::int64_t count(const fs::path& file, const std::string& what) {
  Database database = Database::open(file, Database::Mode::read_only);
  Statement select(database, "SELECT count(*) FROM " + what);
  return select.step() ? select.integer(0) : -1;
}

std::string integrity(const fs::path& file) {
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

bool was_killed(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

TEST_F(StoreTest, ReadsBackEveryFieldAndEveryOutcome) {
  const TuningRecord record = sample_record();
  ASSERT_EQ(std::variant_size_v<Outcome>, 12u);
  std::vector<bool> covered(std::variant_size_v<Outcome>);
  for (const Trial& trial : record.trials) covered[trial.outcome.index()] = true;
  EXPECT_EQ(std::count(covered.begin(), covered.end(), true), 12);
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, record);
  const auto loaded = store.load(run);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(text_of(*loaded), text_of(record));
  EXPECT_FALSE(store.load(run + 1));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, ReadsBackARecordWithoutGpuTrialsAndVerdict) {
  TuningRecord record = sample_record();
  record.gpu.reset();
  record.verdict.reset();
  record.trials.clear();
  record.sizes.clear();
  record.options.clear();
  record.route.clear();
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record));
  EXPECT_FALSE(store.find(key("decayWide", {}))) << "nothing was decided";
  EXPECT_TRUE(store.list().empty());
}

TEST_F(StoreTest, ReadsBackAVerdictWithoutARenamedBest) {
  TuningRecord record = sample_record();
  record.verdict->best_renamed_id.reset();
  record.verdict->speedup_renamed = {};
  Store store = Store::open(file());
  const auto loaded = store.load(store_finished(store, record));
  EXPECT_FALSE(loaded->verdict->best_renamed_id);
  EXPECT_EQ(text_of(*loaded), text_of(record));
}

TEST_F(StoreTest, KeepsWhatIsHandedOverWhileTheRunGoesOn) {
  const TuningRecord record = sample_record();
  TuningRecord head = record;
  head.trials.clear();
  head.verdict.reset();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(head);
  EXPECT_EQ(text_of(*store.load(run)), text_of(head));
  Trial compiled = record.trials[0];
  compiled.outcome = NotTimed{};
  store.set_outcome(run, compiled);
  store.set_outcome(run, record.trials[7]);
  const std::vector<RoundSample> round_one = {{0, 1.5}, {2, 1.25}};
  const std::vector<RoundSample> round_two = {{0, 1.4}};
  store.add_round(run, Phase::race, 1, round_one);
  store.add_round(run, Phase::race, 2, round_two);
  store.add_round(run, Phase::confirmation, 3, round_two);
  EXPECT_EQ(store.samples(run, 0, Phase::race), (std::vector<Sample>{{1, 1.5}, {2, 1.4}}));
  EXPECT_EQ(store.samples(run, 0, Phase::confirmation), (std::vector<Sample>{{3, 1.4}}));
  EXPECT_EQ(store.samples(run, 2, Phase::race), (std::vector<Sample>{{1, 1.25}}));

  Trial outcome = record.trials[0];
  outcome.outcome = Measurement{{}, {}, {1, 2, 3}, {4, 5, 6}};
  store.set_outcome(run, outcome);
  auto loaded = store.load(run);
  ASSERT_EQ(loaded->trials.size(), 2u);
  const auto* measured = std::get_if<Measurement>(&loaded->trials[0].outcome);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->race.size(), 2u);
  EXPECT_EQ(measured->speedup.high, 6);
  EXPECT_TRUE(std::holds_alternative<CompileFailed>(loaded->trials[1].outcome));
  EXPECT_FALSE(loaded->trials[1].facts);

  store.finish(run, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record)) << "the finished record takes the place of its parts";
}

CompileKey sample_key() {
  return {"s", {"-DA", "-DB"}, "NVRTC 13.0.88", "sm_90", "_Z9decayWidePKfPfm", "0.1.0"};
}

StaticFacts compiled_facts(int registers) {
  StaticFacts facts = sample_facts(registers);
  facts.occupancy.reset();
  return facts;
}

std::string text_of(const KeptResult& kept) {
  Text text;
  text << kept.policy << kept.choice << kept.result.facts << kept.result.failure << kept.result.log_excerpt
       << kept.result.cubin << kept.result.entry;
  return text.str();
}

std::vector<std::string> sorted_texts(const std::vector<KeptResult>& results) {
  std::vector<std::string> texts;
  for (const KeptResult& kept : results) texts.push_back(text_of(kept));
  std::sort(texts.begin(), texts.end());
  return texts;
}

// Every policy under several choices, failures and odd bytes among them.
std::vector<KeptResult> sample_results() {
  const std::string odd_bytes("\0cubin\xff\0", 8);
  const SourceChoice renamed{true, -1, {}};
  const SourceChoice all{true, 10, {{"UNROLL", "4"}, {"BLOCK", "256"}}};
  return {
      {AuthorsOwn{}, {}, {compiled_facts(55), "", "log", "cubin of the author", ""}},
      {CompilerDefault{}, {}, {compiled_facts(55), "", "log", "", ""}},
      {RegisterCap{57}, {}, {compiled_facts(56), "", "", odd_bytes, ""}},
      {RegisterCap{57}, renamed, {compiled_facts(57), "", "", "another", "_Z17cutlass_decayWidePKfPfm"}},
      {RegisterCap{57}, {false, 0, {}}, {compiled_facts(58), "", "", "level 0", ""}},
      {RegisterCap{57}, all, {compiled_facts(59), "", "", "all", "_Z17cutlass_decayWidePKfPfm"}},
      {LaunchBounds{256, 0}, {false, -1, {{"UNROLL", "4"}}}, {compiled_facts(60), "", "", "unrolled", ""}},
      {LaunchBounds{256, 3}, {}, {std::nullopt, "(C7600)", "k.cu(3): error", "", ""}},
      {MaxRegisters{64}, all, {std::nullopt, "", "", "", ""}},
  };
}

TEST_F(StoreTest, KeepsResultsOfEveryPolicyAndChoiceWithoutARun) {
  const std::vector<KeptResult> results = sample_results();
  {
    Store store = Store::open(file());
    EXPECT_TRUE(store.kept_results(sample_key()).empty());
    store.keep_results(sample_key(), results);
  }
  auto store = Store::open_existing(file());
  ASSERT_TRUE(store);
  EXPECT_EQ(sorted_texts(store->kept_results(sample_key())), sorted_texts(results));
  for (const KeptResult& kept : results) {
    const auto found = store->kept_result(sample_key(), kept.policy, kept.choice);
    ASSERT_TRUE(found) << text_of(kept);
    EXPECT_EQ(text_of({kept.policy, kept.choice, *found}), text_of(kept));
  }
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{58}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), MaxRegisters{57}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), LaunchBounds{256, 0}, {}));
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{57}, {false, -1, {{"UNROLL", "8"}}}));
  EXPECT_FALSE(store->kept_result(sample_key(), RegisterCap{57}, {true, 9, {}}));
  EXPECT_EQ(count(file(), "tuning_run"), 0);
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, FindsKeptResultsUnderTheirWholeKeyOnly) {
  Store store = Store::open(file());
  const CompileResult result{compiled_facts(56), "", "", "cubin", ""};
  store.keep_result(sample_key(), RegisterCap{57}, {}, result);
  EXPECT_TRUE(store.kept_result(sample_key(), RegisterCap{57}, {}));
  using Change = void (*)(CompileKey&);
  const std::vector<Change> changes = {[](CompileKey& k) { k.source_hash = "t"; },
                                       [](CompileKey& k) { k.options = {"-DA"}; },
                                       [](CompileKey& k) {
                                         k.options = {"-DB", "-DA"};
                                       },
                                       [](CompileKey& k) { k.options = {"-DA-DB"}; },
                                       [](CompileKey& k) { k.compiler = "NVRTC 13.1"; },
                                       [](CompileKey& k) { k.architecture = "sm_90a"; },
                                       [](CompileKey& k) { k.kernel = "k"; },
                                       [](CompileKey& k) { k.regtune_version = "0.2.0"; }};
  for (std::size_t index = 0; index < changes.size(); ++index) {
    CompileKey other = sample_key();
    changes[index](other);
    EXPECT_FALSE(store.kept_result(other, RegisterCap{57}, {})) << index;
    EXPECT_TRUE(store.kept_results(other).empty()) << index;
    store.keep_result(other, RegisterCap{57}, {}, {compiled_facts(99), "", "", "other", ""});
  }
  EXPECT_EQ(count(file(), "compile_result"), static_cast<std::int64_t>(changes.size()) + 1);
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{57}, {})->cubin, "cubin");
}

TEST_F(StoreTest, AResultReplacesTheEarlierOfItsPolicyAndChoice) {
  Store store = Store::open(file());
  store.keep_results(sample_key(), sample_results());
  const SourceChoice renamed{true, -1, {}};
  store.keep_result(sample_key(), RegisterCap{57}, renamed, {std::nullopt, "refused", "", "", ""});
  store.keep_result(sample_key(), LaunchBounds{256, 3}, {}, {compiled_facts(70), "", "", "now it compiles", ""});
  EXPECT_EQ(store.kept_results(sample_key()).size(), sample_results().size());
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{57}, renamed)->failure, "refused");
  EXPECT_FALSE(store.kept_result(sample_key(), RegisterCap{57}, renamed)->facts);
  const auto compiled = store.kept_result(sample_key(), LaunchBounds{256, 3}, {});
  EXPECT_EQ(compiled->failure, "");
  EXPECT_EQ(compiled->cubin, "now it compiles");
}

TEST_F(StoreTest, KeepsOneCubinPerCodeThatIsLaunchedAlike) {
  Store store = Store::open(file());
  const StaticFacts facts = compiled_facts(56);
  StaticFacts other_ceiling = facts;
  other_ceiling.register_ceiling = 80;
  StaticFacts unbounded = facts;
  unbounded.max_threads_per_block = 0;
  StaticFacts not_required = facts;
  not_required.required_threads_per_block = 0;
  store.keep_result(sample_key(), RegisterCap{64}, {}, {facts, "", "log 64", "A", ""});
  store.keep_result(sample_key(), RegisterCap{65}, {}, {other_ceiling, "", "log 65", "A'", ""});
  EXPECT_EQ(count(file(), "code"), 1);
  const auto shared = store.kept_result(sample_key(), RegisterCap{65}, {});
  EXPECT_EQ(shared->cubin, "A");
  EXPECT_EQ(shared->log_excerpt, "log 65");
  EXPECT_EQ(shared->facts->register_ceiling, 80) << "the facts are the policy's own";
  // Equal hashes, but a launch would tell these apart: by a limit compiled in, or by the kernel's name.
  const SourceChoice renamed{true, -1, {}};
  store.keep_result(sample_key(), RegisterCap{66}, {}, {unbounded, "", "", "B", ""});
  store.keep_result(sample_key(), RegisterCap{67}, {}, {not_required, "", "", "C", ""});
  store.keep_result(sample_key(), RegisterCap{64}, renamed, {facts, "", "", "D", "cutlass_k"});
  store.keep_result(sample_key(), RegisterCap{65}, renamed, {facts, "", "", "E", "cutlass_k2"});
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{66}, {})->cubin, "B");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{67}, {})->cubin, "C");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{64}, renamed)->cubin, "D");
  EXPECT_EQ(store.kept_result(sample_key(), RegisterCap{65}, renamed)->cubin, "E");
  EXPECT_EQ(count(file(), "code"), 5);
}

TEST_F(StoreTest, ACubinWhoseBytesWentBadCountsAsNotKeptAndIsMended) {
  Store store = Store::open(file());
  const CompileResult result{compiled_facts(56), "", "", "cubin", ""};
  const CompileResult failure{std::nullopt, "refused", "", "", ""};
  store.keep_results(sample_key(),
                     std::vector<KeptResult>{
                         {AuthorsOwn{}, {}, result}, {RegisterCap{57}, {}, result}, {RegisterCap{58}, {}, failure}});
  const KeptSource source{"cubin", {"name"}, "", 1};
  store.keep_source(sample_key(), source);
  Database::open(file(), Database::Mode::read_write_create).execute("UPDATE code SET cubin = x'00'");
  EXPECT_FALSE(store.kept_result(sample_key(), AuthorsOwn{}, {}));
  EXPECT_FALSE(store.kept_source(sample_key()));
  ASSERT_EQ(store.kept_results(sample_key()).size(), 1u);
  EXPECT_EQ(store.kept_results(sample_key())[0].result.failure, "refused");
  store.keep_result(sample_key(), AuthorsOwn{}, {}, result);
  EXPECT_EQ(store.kept_result(sample_key(), AuthorsOwn{}, {})->cubin, "cubin");
  EXPECT_EQ(store.kept_results(sample_key()).size(), 3u);
  EXPECT_TRUE(store.kept_source(sample_key()));
}

TEST_F(StoreTest, ForgetsTheResultsOfOneKey) {
  Store store = Store::open(file());
  CompileKey other = sample_key();
  other.kernel = "other";
  store.keep_results(sample_key(), sample_results());
  store.keep_results(other, sample_results());
  store.keep_source(sample_key(), {"cubin", {}, "", 0});
  store.forget_results(sample_key());
  EXPECT_TRUE(store.kept_results(sample_key()).empty());
  EXPECT_EQ(store.kept_results(other).size(), sample_results().size());
  EXPECT_TRUE(store.kept_source(sample_key()));
  other.kernel = "never kept";
  store.forget_results(other);
}

TEST_F(StoreTest, KeepsTheFirstCompilationOfASourceForAllItsKernels) {
  Store store = Store::open(file());
  EXPECT_FALSE(store.kept_source(sample_key()));
  const KeptSource source{std::string("\x7f"
                                      "ELF\0\xff",
                                      6),
                          {"_Z1kIiEvv", "", "_Z1kIfEvv"},
                          "ptxas info\n",
                          28.5};
  store.keep_source(sample_key(), source);
  CompileKey key = sample_key();
  key.kernel = "another kernel of the file";
  const auto found = store.kept_source(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, source.cubin);
  EXPECT_EQ(found->lowered_names, source.lowered_names);
  EXPECT_EQ(found->log, source.log);
  EXPECT_EQ(found->seconds, source.seconds);
  EXPECT_TRUE(store.kept_results(key).empty());
  store.keep_source(key, {"newer", {"one"}, "", 0});
  EXPECT_EQ(store.kept_source(sample_key())->cubin, "newer");
  EXPECT_EQ(store.kept_source(sample_key())->lowered_names, std::vector<std::string>{"one"});
  key.architecture = "sm_80";
  EXPECT_FALSE(store.kept_source(key));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST_F(StoreTest, ASweepThatFailsHalfWayIsKeptNotAtAll) {
  Store store = Store::open(file());
  Database::open(file(), Database::Mode::read_write_create)
      .execute(
          "CREATE TRIGGER full BEFORE INSERT ON compile_result WHEN NEW.policy_first = 9 BEGIN "
          "SELECT RAISE(ABORT, 'no room'); END");
  std::vector<KeptResult> results = sample_results();
  results.push_back({RegisterCap{9}, {}, {compiled_facts(24), "", "", "cubin", ""}});
  expect_error(ErrorKind::cache_unusable, "no room", [&] { store.keep_results(sample_key(), results); });
  EXPECT_TRUE(store.kept_results(sample_key()).empty());
  EXPECT_EQ(count(file(), "code"), 0);
}

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// What a warm run does first. 250 results with 60 codes of 8 KiB took 2 ms of CPU time, with codes of 48 KiB 12 ms,
// most of it for 12 MB of memory. The bound leaves room for sanitizers.
TEST_F(StoreTest, ReadsTheResultsOfASweepInMilliseconds) {
  std::vector<KeptResult> results;
  for (int cap = 0; cap < 250; ++cap) {
    std::string cubin(48 * 1024, static_cast<char>(cap % 60));
    results.push_back({RegisterCap{cap}, {}, {compiled_facts(cap % 60), "", "ptxas info", std::move(cubin), ""}});
  }
  Store store = Store::open(file());
  const double writing = cpu_ms();
  store.keep_results(sample_key(), results);
  const double reading = cpu_ms();
  const std::vector<KeptResult> kept = store.kept_results(sample_key());
  const double end = cpu_ms();
  EXPECT_EQ(kept.size(), results.size());
  RecordProperty("write_cpu_ms", std::to_string(reading - writing));
  RecordProperty("read_cpu_ms", std::to_string(end - reading));
  EXPECT_LT(end - reading, 200);
}

TEST_F(StoreTest, FindsByAnyNameTheSizesAndAnySpellingOfTheGpu) {
  const TuningRecord record = sample_record();
  Store store = Store::open(file());
  store_finished(store, record);
  for (const char* name :
       {"decayWide", " decayWide", "_Z9decayWidePKfPfm", "decayWide(const float*,float*,unsigned long)"}) {
    EXPECT_TRUE(store.find(key(name, record.sizes))) << name;
    EXPECT_TRUE(store.find(key(name, record.sizes, "nvidia  h200"))) << name;
  }
  EXPECT_EQ(text_of(*store.find(key("decayWide", record.sizes, "H200"))), text_of(record));
  EXPECT_FALSE(store.find(key("decay", record.sizes)));
  EXPECT_FALSE(store.find(key("decayWide", record.sizes, "NVIDIA H100")));
  EXPECT_FALSE(store.find(key("decayWide", {})));
  EXPECT_FALSE(store.find(key("decayWide", {{"n", 1 << 24}})));
  EXPECT_FALSE(store.find(key("decayWide", {{"n", 1 << 24}, {"m", -1}, {"k", 0}})));
}

TEST_F(StoreTest, ListsWhatIsStoredSoThatAMissCanSayIt) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  store_finished(store, record);
  record.sizes = {{"n", 7}};
  record.gpu->id.name = "NVIDIA H100";
  store_finished(store, record);
  record.kernel = "_Z5otherv";
  record.signature = "other()";
  store_finished(store, record);
  store.begin(record);
  ASSERT_EQ(store.list("decayWide").size(), 2u);
  EXPECT_EQ(store.list("decayWide")[0].sizes, (Sizes{{"n", 7}})) << "newest first";
  EXPECT_EQ(store.list("decayWide")[0].gpu.name, "NVIDIA H100");
  EXPECT_EQ(store.list("decayWide")[1].gpu.name, "NVIDIA H200");
  EXPECT_EQ(store.list().size(), 3u);
  EXPECT_TRUE(store.list("nothing").empty());
}

TEST_F(StoreTest, AFinishedRunReplacesTheOlderOfItsKeyOnly) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t old_run = store_finished(store, record);
  record.gpu->driver_version = "590";
  const std::int64_t other_driver = store_finished(store, record);
  record.gpu->driver_version = "580.159.04";
  record.started = "2026-02-02T00:00:00Z";
  record.host = "another";
  const std::int64_t new_run = store_finished(store, record);
  EXPECT_FALSE(store.load(old_run));
  EXPECT_TRUE(store.load(other_driver));
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, "2026-02-02T00:00:00Z");
  EXPECT_EQ(count(file(), "sample WHERE run_id NOT IN (SELECT id FROM tuning_run)"), 0);
  expect_error(ErrorKind::cache_unusable, "finished already", [&] { store.finish(new_run, record); });
}

TEST_F(StoreTest, AnUnfinishedRunNeitherAnswersNorReplaces) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t finished = store_finished(store, record);
  record.started = "later";
  const std::int64_t unfinished = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(unfinished, trial);
  EXPECT_TRUE(store.load(finished));
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, "2026-01-02T03:04:05Z");
  EXPECT_EQ(store.list().size(), 1u);
  record.verdict.reset();
  store.finish(unfinished, record);
  EXPECT_TRUE(store.find(key("decayWide", record.sizes))) << "a run without a verdict replaces nothing";
}

TEST_F(StoreTest, ClearsAwayWhatInterruptedRunsOfTheSameKeyLeft) {
  const TuningRecord record = sample_record();
  ASSERT_TRUE(was_killed(in_killed_child([&] { Store::open(file()).begin(record); })));
  Store store = Store::open(file());
  const std::int64_t alive = store.begin(record);
  const std::int64_t from_elsewhere = store.begin(record);
  const std::int64_t stale_from_elsewhere = store.begin(record);
  Database::open(file(), Database::Mode::read_write_create)
      .execute(("UPDATE tuning_run SET process = 'another machine 1 2' WHERE id >= " + std::to_string(from_elsewhere) +
                "; UPDATE tuning_run SET begun_s = begun_s - 90000 WHERE id = " + std::to_string(stale_from_elsewhere))
                   .c_str());
  store_finished(store, record);
  EXPECT_FALSE(store.load(1)) << "its process has ended";
  EXPECT_TRUE(store.load(alive)) << "this one";
  EXPECT_TRUE(store.load(from_elsewhere)) << "nobody can tell from here";
  EXPECT_FALSE(store.load(stale_from_elsewhere)) << "no run lasts a day";
}

TEST_F(StoreTest, ClearsAwayInterruptedRunsThatWereBegunBeforeTheirTrialsWereKnown) {
  const TuningRecord record = sample_record();
  TuningRecord head = record;
  head.trials.clear();
  ASSERT_NE(run_key(head), run_key(record));
  ASSERT_TRUE(was_killed(in_killed_child([&] { Store::open(file()).begin(head); })));
  Store store = Store::open(file());
  store.finish(store.begin(head), record);
  EXPECT_FALSE(store.load(1));
}

std::string code_of(const Trial& trial) {
  return code_identity(*trial.facts, trial.shape);
}

TEST_F(StoreTest, GivesWhatInterruptedRunsOfTheKeyFoundAsOne) {
  TuningRecord record = sample_record();
  for (Trial& trial : record.trials) trial.outcome = NotTimed{};
  // The ids of the codes 1 and 2 are swapped in the second run: codes came in another order.
  TuningRecord swapped = record;
  std::swap(swapped.trials[1].facts, swapped.trials[2].facts);
  const auto interrupted = [&](const TuningRecord& run_record, int rounds) {
    ASSERT_TRUE(was_killed(in_killed_child([&] {
      Store store = Store::open(file());
      const std::int64_t run = store.begin(run_record);
      for (int id = 0; id < 3; ++id) store.set_outcome(run, run_record.trials[static_cast<std::size_t>(id)]);
      const std::vector<RoundSample> samples{{0, 1.0}, {1, 2.0}, {2, 3.0}};
      for (int round = 1; round <= rounds; ++round) store.add_round(run, Phase::race, round, samples);
      store.add_round(run, Phase::confirmation, 1, samples);
    })));
  };
  interrupted(record, 2);
  interrupted(swapped, 1);
  Store store = Store::open(file());
  const EarlierRun earlier = store.interrupted(record);
  ASSERT_EQ(earlier.race.size(), 3u);
  EXPECT_EQ(earlier.confirmation.size(), 2u);
  EXPECT_EQ(earlier.codes, 3u);
  EXPECT_EQ(earlier.started, record.started);
  EXPECT_EQ(earlier.race[0].at(code_of(record.trials[1])), 2.0);
  EXPECT_EQ(earlier.race[2].at(code_of(record.trials[1])), 3.0) << "by code, not by id";
  record.settings.seed += 1;
  EXPECT_TRUE(store.interrupted(record).empty()) << "another key";
}

TEST_F(StoreTest, GivesTheOutcomesThatNeedNotBeFoundOutAgain) {
  TuningRecord record = sample_record();
  Measurement first_launch;
  first_launch.time_ms = {9, 9, 9};
  record.trials[2].outcome = Abandoned{"its first launch took 9 times the fastest's", first_launch};
  ASSERT_TRUE(was_killed(in_killed_child([&] {
    Store store = Store::open(file());
    const std::int64_t run = store.begin(record);
    for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  })));
  const EarlierRun earlier = Store::open(file()).interrupted(record);
  EXPECT_EQ(earlier.first_ms, (std::map<std::string, double>{{code_of(record.trials[2]), 9.0}}));
  std::map<std::string, std::size_t> failed;
  for (const auto& [code, outcome] : earlier.failed) failed[code] = outcome.index();
  EXPECT_EQ(failed, (std::map<std::string, std::size_t>{{code_of(record.trials[4]), Outcome(Faulted{}).index()},
                                                        {code_of(record.trials[5]), Outcome(TimedOut{}).index()},
                                                        {code_of(record.trials[6]), Outcome(WrongResult{}).index()}}));
}

TEST_F(StoreTest, AFaultOrAHangPutsACodeIntoQuarantineAndAMeasurementTakesItOut) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  const auto kept = store.quarantine(record);
  ASSERT_EQ(kept.size(), 2u) << "a wrong result is no reason";
  EXPECT_EQ(kept.at(code_of(record.trials[4])).reason, "it faulted: illegal address (driver 580.159.04)");
  EXPECT_EQ(kept.at(code_of(record.trials[5])).reason, "it did not end within 123.5 ms (driver 580.159.04)");
  EXPECT_EQ(kept.at(code_of(record.trials[5])).since.size(), std::string("2026-01-02T03:04:05Z").size());

  const auto is_kept_for = [&](auto change) {
    TuningRecord other = record;
    change(other);
    return !store.quarantine(other).empty();
  };
  EXPECT_TRUE(is_kept_for([](TuningRecord& r) { r.gpu->driver_version = "590"; })) << "until it is asked for";
  EXPECT_TRUE(is_kept_for([](TuningRecord& r) { r.source_hash = "edited elsewhere"; })) << "the code is the same";
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.sizes["n"] = 5; })) << "launched on something else";
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.arguments.front() += "!"; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.author_shape.grid.x = 7; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.gpu->id.name = "NVIDIA B200"; }));
  EXPECT_FALSE(is_kept_for([](TuningRecord& r) { r.kernel = "other"; }));

  record.trials[4].outcome = Abandoned{"never launched", {}};
  store.set_outcome(run, record.trials[4]);
  EXPECT_EQ(store.quarantine(record).size(), 2u) << "it was not launched";
  record.trials[4].outcome = sample_measurement();
  store.set_outcome(run, record.trials[4]);
  EXPECT_EQ(store.quarantine(record).size(), 1u);
  store.finish(run, record);
  EXPECT_EQ(store.quarantine(record).size(), 1u) << "belongs to no run";
}

TEST_F(StoreTest, ARunThatStartsOverForgetsItsSamples) {
  const TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t run = store.begin(record);
  for (const Trial& trial : record.trials) store.set_outcome(run, trial);
  store.add_round(run, Phase::race, 1, std::vector<RoundSample>{{0, 1.0}});
  store.start_over(run);
  EXPECT_EQ(count(file(), "trial"), 0);
  EXPECT_EQ(count(file(), "sample"), 0);
  store.finish(run, record);
  EXPECT_EQ(text_of(*store.load(run)), text_of(record));
}

TEST_F(StoreTest, ARunOfOtherSourceChoicesIsAnotherRun) {
  TuningRecord record = sample_record();
  Store store = Store::open(file());
  const std::int64_t with_choices = store_finished(store, record);
  for (Trial& trial : record.trials) trial.variant.choice = {};
  const std::int64_t without = store_finished(store, record);
  record.trials[5].variant.choice.macros["UNROLL"] = "8";
  store_finished(store, record);
  record.route = "plain NVRTC: nvJitLink was not found";
  const std::int64_t other_route = store_finished(store, record);
  EXPECT_TRUE(store.load(with_choices));
  EXPECT_TRUE(store.load(without));
  EXPECT_TRUE(store.load(other_route));
  EXPECT_EQ(store.list().size(), 3u) << "the route to the codes changes no answer";
}

TEST_F(StoreTest, InstancesOfATemplateAndTheirGridsAreKeptApart) {
  TuningRecord record = sample_record();
  record.trials[5].variant.choice = {false, -1, {}, "scale<4, float>"};
  Store store = Store::open(file());
  const std::int64_t of_four = store_finished(store, record);
  EXPECT_EQ(store.load(of_four)->trials[5].variant.choice.instance, "scale<4, float>");
  record.trials[5].variant.choice.instance = "scale<8, float>";
  const std::int64_t of_eight = store_finished(store, record);
  record.trials[5].shape.grid.x /= 2;
  const std::int64_t other_grid = store_finished(store, record);
  for (const std::int64_t run : {of_four, of_eight, other_grid}) EXPECT_TRUE(store.load(run)) << run;
}

TEST_F(StoreTest, ALookUpCreatesNothing) {
  EXPECT_FALSE(Store::open_existing(file()));
  EXPECT_FALSE(fs::exists(folder_ / "deep"));
  std::ofstream(folder_ / "empty.db");
  EXPECT_FALSE(Store::open_existing(folder_ / "empty.db"));
  EXPECT_EQ(fs::file_size(folder_ / "empty.db"), 0u);
  const TuningRecord record = sample_record();
  {
    Store store = Store::open(file());
    store_finished(store, record);
  }
  auto reader = Store::open_existing(file());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->find(key("decayWide", record.sizes)));
  expect_error(ErrorKind::cache_read_only, "--cache FILE", [&] { reader->begin(record); });
}

TEST_F(StoreTest, RefusesForeignAndNewerFilesAndLeavesThemAlone) {
  const fs::path foreign = folder_ / "foreign.db";
  Database::open(foreign, Database::Mode::read_write_create).execute("CREATE TABLE theirs (a)");
  for (const auto& open :
       {+[](const fs::path& f) { Store::open(f); }, +[](const fs::path& f) { Store::open_existing(f); }}) {
    expect_error(ErrorKind::cache_unusable, "another program", [&] { open(foreign); });
  }
  EXPECT_EQ(count(foreign, "sqlite_schema"), 1);
  Store::open(file());
  Database::open(file(), Database::Mode::read_write_create).set_user_version(2);
  expect_error(ErrorKind::cache_unusable, "newer", [&] { Store::open(file()); });
  expect_error(ErrorKind::cache_unusable, "newer", [&] { Store::open_existing(file()); });
  std::ofstream(folder_ / "text.db") << "not a database, but long enough to be taken for one? "
                                     << std::string(600, '.');
  expect_error(ErrorKind::cache_unusable, "is not a regtune cache", [&] { Store::open(folder_ / "text.db"); });
  expect_error(ErrorKind::cache_unusable, "is a folder", [&] { Store::open(folder_); });
}

TEST_F(StoreTest, SaysWhyTheFolderCannotBeCreated) {
  std::ofstream(folder_ / "file") << "x";
  expect_error(ErrorKind::cache_unusable, "cannot be created", [&] { Store::open(folder_ / "file" / "cache.db"); });
  try {
    Store::open("/proc/regtune/cache.db");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find("/proc/regtune"), std::string_view::npos);
  }
}

TEST_F(StoreTest, RefusesValuesItDoesNotKnow) {
  Store store = Store::open(file());
  const std::int64_t run = store_finished(store, sample_record());
  Database::open(file(), Database::Mode::read_write_create).execute("UPDATE trial SET limiter = 'clusters'");
  expect_error(ErrorKind::cache_unusable, "\"clusters\"", [&] { store.load(run); });
}

TEST_F(StoreTest, AKilledRunKeepsItsRoundsAndThePreviousAnswer) {
  const TuningRecord record = sample_record();
  {
    Store store = Store::open(file());
    store_finished(store, record);
  }
  const pid_t child = in_killed_child([&] {
    TuningRecord again = record;
    again.started = "never finished";
    Store store = Store::open(file());
    const std::int64_t run = store.begin(again);
    const std::vector<RoundSample> samples = {{0, 1.0}, {1, 2.0}};
    for (int round = 0; round < 50; ++round) store.add_round(run, Phase::race, round, samples);
  });
  ASSERT_TRUE(was_killed(child));
  Store store = Store::open(file());
  EXPECT_EQ(integrity(file()), "ok");
  EXPECT_EQ(store.find(key("decayWide", record.sizes))->started, record.started);
  EXPECT_EQ(count(file(), "sample JOIN tuning_run ON id = run_id WHERE state = 'running'"), 100);
}

TEST_F(StoreTest, ProcessesWriteAtOnceFromTheFirstMomentOn) {
  constexpr int writers = 4;
  constexpr int runs = 5;
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(in_killed_child([&] {
      TuningRecord record = sample_record();
      record.kernel += std::to_string(writer);
      Store store = Store::open(file());  // all of them find no file and create it
      for (int index = 0; index < runs; ++index) {
        record.sizes["n"] = index;
        const std::int64_t run = store.begin(record);
        const std::vector<RoundSample> samples = {{0, 1.0}};
        for (int round = 0; round < 5; ++round) store.add_round(run, Phase::race, round, samples);
        store.finish(run, record);
      }
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(was_killed(child));
  EXPECT_EQ(Store::open(file()).list("decayWide").size(), static_cast<std::size_t>(writers * runs));
  EXPECT_EQ(integrity(file()), "ok");
}

TEST(DefaultCachePath, FollowsTheEnvironment) {
  struct Restore {
    ~Restore() {
      for (const auto& [name, value] : old) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
    }
    std::vector<std::pair<const char*, std::optional<std::string>>> old;
  } restore;
  for (const char* name : {"REGTUNE_CACHE", "XDG_CACHE_HOME", "HOME"}) {
    const char* value = std::getenv(name);
    restore.old.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
  }
  setenv("REGTUNE_CACHE", "some/file.db", 1);
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(default_cache_path(), "some/file.db");
  setenv("REGTUNE_CACHE", "", 1);
  EXPECT_EQ(default_cache_path(), "/xdg/regtune/regtune.db");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache_path(), "/home/me/.cache/regtune/regtune.db");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_THROW(default_cache_path(), Error);
}

TEST_F(StoreTest, KeepsACopysBandwidthForEachModelAndDriver) {
  GpuState gpu = *sample_record().gpu;
  {
    Store store = Store::open(file());
    EXPECT_FALSE(store.copy_bandwidth(gpu));
    store.keep_copy_bandwidth(gpu, 4000);
    store.keep_copy_bandwidth(gpu, 4123.5);
  }
  Store store = Store::open(file());
  EXPECT_EQ(store.copy_bandwidth(gpu), 4123.5);
  gpu.id.name = "h200";  // the same model
  EXPECT_EQ(store.copy_bandwidth(gpu), 4123.5);
  gpu.driver_version = "999.1";
  EXPECT_FALSE(store.copy_bandwidth(gpu));
}

}  // namespace
}  // namespace regtune
