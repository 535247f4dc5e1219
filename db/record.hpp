#pragma once
// What a tuning run found, as plain values: the trials, their facts and outcomes, and the verdict. The
// program's JSON, the cache and the replay of recorded runs all hold this and nothing else.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpu_limits.hpp"
#include "occupancy.hpp"
#include "regtune/types.hpp"

namespace regtune {

// What a kernel's body begins with where ptxas may spill registers to shared memory (PTX ISA 9.0, CUDA 13).
inline constexpr const char* shared_spilling_statement = R"(asm volatile(".pragma \"enable_smem_spilling\";");)";

// What is compiled beside the register budget: the knobs of the source and of ptxas. The default is the
// source as its author wrote it.
struct SourceChoice {
  bool renamed = false;                       // compiled under the name cutlass_<kernel>
  int register_usage_level = -1;              // ptxas's option, 0 to 10; -1: not given
  std::map<std::string, std::string> macros;  // values of the launch description's tune table
  std::string instance = {};                  // of a kernel template: "scale<4, float>"; empty: the author's
  bool spills_to_shared = false;              // the pragma enable_smem_spilling opens the kernel's body
  bool is_authors() const { return *this == SourceChoice{}; }
  friend bool operator==(const SourceChoice&, const SourceChoice&) = default;
};

// One way to compile and launch the kernel. Id 0 is the author's own code: the baseline.
struct Variant {
  // Not an aggregate: inside Trial{{id, policy, block}, ...}, GCC 12 destroys the members of a nested aggregate
  // twice when a later initialiser throws.
  Variant() = default;
  Variant(int id_, RegisterPolicy policy_, Dim3 block_, SourceChoice choice_ = {})
      : id(id_), policy(policy_), block(block_), choice(std::move(choice_)) {}

  int id = 0;
  RegisterPolicy policy;
  Dim3 block;
  SourceChoice choice;
};

struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  std::int64_t dynamic_shared_bytes = 0;
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// Whether the budget that was asked for is the one the compiler worked under.
enum class BudgetStatus {
  not_asked,   // compiler default, or author's code without bound or cap
  in_force,    // ceiling in the cubin equals the one asked for
  clamped,     // raised to the compiler's minimum, or lowered to 255
  inert,       // the ceiling is one that holds without the budget too
  overridden,  // something else in the source or the options set the ceiling
  inferred,    // a cap that was not compiled: the caps around it give one code, which is taken to be its own
};
std::string_view to_string(BudgetStatus status);
std::optional<BudgetStatus> budget_status_from_string(std::string_view text);

struct Budget {
  BudgetStatus status = BudgetStatus::not_asked;
  int asked = 0;     // registers per thread that the policy stands for; 0: none
  std::string note;  // names what clamped or overrode it; empty when in force
  friend bool operator==(const Budget&, const Budget&) = default;
};

// What the machine code says of itself. Nothing here is what was asked for: all of it was read back. Where the budget
// is inferred the code is that of another cap.
struct StaticFacts {
  // To local and to shared memory.
  std::int64_t spilled_bytes() const {
    return std::int64_t{spill_store_bytes} + spill_load_bytes + shared_spill_store_bytes + shared_spill_load_bytes;
  }

  int registers_per_thread = 0;
  int register_ceiling = 0;   // EIATTR_MAXREG_COUNT; 255 when nothing limits it; 0 when the budget is inferred
  int spill_store_bytes = 0;  // to local memory, of the kernel and all it calls, per thread
  int spill_load_bytes = 0;
  int shared_spill_store_bytes = 0;  // the same to shared memory, which the two above do not count
  int shared_spill_load_bytes = 0;
  int stack_frame_bytes = 0;      // spills and addressable arrays, callees included
  int static_shared_bytes = 0;    // what is spilled there included; without the system's reserve
  int max_threads_per_block = 0;  // bound compiled in; 0: none
  int required_threads_per_block = 0;
  std::string code_hash;  // identity of the code: see cubin.hpp
  Budget budget;
  std::optional<Occupancy> occupancy;  // empty when it cannot be launched
};

struct Interval {
  double low = 0;
  double median = 0;
  double high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

struct Sample {
  int round = 0;  // samples of one round were taken side by side
  double ms = 0;  // per launch
  friend bool operator==(const Sample&, const Sample&) = default;
};

struct Measurement {
  std::vector<Sample> race;          // chose the finalists
  std::vector<Sample> confirmation;  // fresh rounds; only these decide and are reported. Empty: no finalist
  Interval time_ms;                  // per launch, with its confidence interval
  Interval speedup;                  // reference over this, paired by round
  // Rounds with the L2 cache in the other state: cold where the run is warm, and the reverse. Finalists only.
  std::vector<Sample> other_way = {};
};

struct NotTimed {};  // compiled, but there was no GPU
struct CompileFailed {
  std::string message;
};
// Never tried: the compile budget was spent before its turn.
struct NotCompiled {
  std::string reason;
};
// The compiler refuses this budget for this kernel by a rule of its own: no fault of the source, and no failure.
struct NotApplicable {
  std::string reason;  // the compiler's words
};
struct NotLaunchable {
  std::string reason;
};
// Timed once, as that variant.
struct SameCodeAs {
  int variant_id = 0;
};
struct Faulted {
  std::string message;
};
struct TimedOut {
  double limit_ms = 0;
};
struct WrongResult {
  std::string message;
};
// Left the race: could not be the best.
struct Abandoned {
  std::string reason;
  Measurement so_far;
};

// Not launched: in an earlier run this code, launched on the same, faulted or did not end.
struct Quarantined {
  std::string reason;  // what happened then, and under which driver
  std::string since;   // UTC, ISO 8601
};

using Outcome = std::variant<NotTimed, CompileFailed, NotCompiled, NotApplicable, NotLaunchable, SameCodeAs, Faulted,
                             TimedOut, WrongResult, Abandoned, Quarantined, Measurement>;

struct Trial {
  Variant variant;
  LaunchShape shape;
  std::optional<StaticFacts> facts;  // empty when there is no code
  Outcome outcome;
};

struct Verdict {
  enum class Kind {
    improved,
    no_gain,
    inconclusive,
    not_resolvable,  // one launch is too short for the timer, and several cannot be timed together
  };
  Kind kind = Kind::no_gain;
  int reference_id = 0;       // the author's code, or its stand-in where that cannot be launched
  int best_id = 0;            // the author's code unless improved
  int best_in_source_id = 0;  // the best that can be written into the source; reference_id when none gains
  Interval speedup;           // of best_id, from confirmation rounds
  Interval speedup_in_source;
  std::string reason;  // one sentence
  // The best that needs the rename, when it beats the best that does not by more than the margin.
  std::optional<int> best_renamed_id = std::nullopt;
  Interval speedup_renamed = {};  // of best_renamed_id
  // With the L2 cache in the other state: best_id's gain there (all 0: not measured), and who is faster there than
  // best_id by more than the margin, if anyone is.
  Interval speedup_other_way = {};
  std::optional<int> best_other_way_id = std::nullopt;
  Interval speedup_of_best_other_way = {};  // of best_other_way_id
};
std::string_view to_string(Verdict::Kind kind);
std::optional<Verdict::Kind> verdict_kind_from_string(std::string_view text);

struct GpuState {
  GpuId id;
  GpuLimits limits;
  std::string driver_version;  // "580.159.04"
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::vector<std::string> other_users;  // processes that hold the GPU, where that can be seen
};

// How the launches of one sample follow each other.
enum class SampleMode {
  one_launch,    // long enough, or something is to be done before each: restoring buffers, flushing L2
  back_to_back,  // put on the stream one after the other
  graph,         // replayed as a CUDA graph, so that the gaps between launches are not the host's
};
std::string_view to_string(SampleMode mode);
std::optional<SampleMode> sample_mode_from_string(std::string_view text);

// How a run was measured: all that is needed to judge or repeat it.
struct MeasureSettings {
  double margin = 0.005;  // differences below this share are no difference
  double confidence = 0.99;
  double budget_s = 60;       // GPU time
  double timeout_ms = 10000;  // one launch
  std::uint64_t seed = 1;     // data and the order of rounds
  int launches_per_sample = 1;
  bool restored = false;       // outputs put back before each timed launch
  bool never_restore = false;  // asked for: each launch finds what the one before left, also where that differs
  bool cold = false;           // L2 flushed before each timed launch
  SampleMode sample_mode = SampleMode::one_launch;
  // Of a sample of one launch, measured with an empty kernel: its time, and the smallest difference between two such
  // times. 0: not measured.
  double launch_overhead_ms = 0;
  double timer_resolution_ms = 0;
};

// What was read of the clocks during the rounds.
struct ClockWatch {
  int readings = 0;
  int min_sm_mhz = 0;
  int median_sm_mhz = 0;
  int max_sm_mhz = 0;
  int rounds_dropped = 0;                      // since the clocks were held down
  bool gave_up_dropping = false;               // hardly any round would have been left: later ones count as they are
  std::vector<std::string> throttled_by = {};  // "power cap": each reason that was seen, once
  friend bool operator==(const ClockWatch&, const ClockWatch&) = default;
};

// What one launch does, as its author counts it: turns times into rates.
struct Work {
  std::int64_t bytes = 0;         // read and written; 0: not said
  std::int64_t flops = 0;         // 0: not said
  double peak_copy_gb_per_s = 0;  // what this GPU reads and writes when it copies; 0: not known
  friend bool operator==(const Work&, const Work&) = default;
};

// What one launch executed and moved, from the GPU's own counters.
struct Counters {
  double local_load_instructions = 0;   // warp-level LDL
  double local_store_instructions = 0;  // warp-level STL
  double achieved_occupancy = 0;        // active warps over the most an SM holds, 0 to 1, while an SM is active
  double l1_bytes = 0;
  double l2_bytes = 0;
  double dram_bytes = 0;
  friend bool operator==(const Counters&, const Counters&) = default;
};

struct CounterReadings {
  std::map<int, Counters> of_variant;  // the reference and the finalists, by the id under which each was timed
  std::string unavailable;             // why there are none
  friend bool operator==(const CounterReadings&, const CounterReadings&) = default;
};

// What nvcc makes of a budget whose code by NVRTC was timed.
struct NvccCode {
  int variant_id = 0;
  int registers_per_thread = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  std::string failure;  // why there is no code; empty: there is
  Interval speedup;     // nvcc's author's code over it, paired by round; all 0: not timed
  int rounds = 0;
  std::string finding;  // whether the gain holds there, a sentence; empty: not asked for
  friend bool operator==(const NvccCode&, const NvccCode&) = default;
};

struct NvccComparison {
  std::string compiler;         // "nvcc 13.0.88 with GCC 12.2.0"
  std::vector<NvccCode> codes;  // the author's, then what is recommended
  friend bool operator==(const NvccComparison&, const NvccComparison&) = default;
};

struct TuningRecord {
  std::string regtune_version;
  std::string started;  // UTC, ISO 8601
  std::string host;
  std::string architecture;                    // "sm_90"
  std::optional<GpuState> gpu;                 // empty: nothing was timed
  std::string compiler;                        // "NVRTC 13.0.88"
  std::string route;                           // to the codes: "LTO-IR once, then nvJitLink 13.0" or "plain NVRTC: why"
  std::string source_path;                     // as given
  std::string source_hash;                     // of the text and all it includes
  std::vector<std::string> source_notes = {};  // where not the text as it is was compiled: what was done to it
  std::vector<std::string> options;
  std::string kernel;     // mangled name
  std::string signature;  // demangled
  Sizes sizes;
  std::vector<std::string> arguments;  // one line each, as they were filled in
  std::string author_bounds = {};      // as the source writes them: "kThreads, 5"; empty: none
  std::vector<std::string> guesses;    // lines of a launch description that nobody wrote: "args.n = \"n\""
  // The whole description in TOML, with flags and guesses in it, and the folder that its data files are relative to.
  std::string description = {};
  std::string description_folder = {};
  std::vector<std::string> command_line = {};  // as it was typed, without the program's name; empty: not known
  LaunchShape author_shape;
  MeasureSettings settings;
  std::optional<ClockWatch> clocks;  // empty: NVML is not there
  Work work;
  std::optional<CounterReadings> counters;  // empty: not asked for
  double gpu_seconds = 0;                   // that launches of the race took, warm-up included
  std::vector<Trial> trials;                // in order of id
  std::optional<Verdict> verdict;           // empty: nothing was timed
  std::optional<NvccComparison> nvcc = {};  // empty: no nvcc was asked
};

}  // namespace regtune
