#pragma once
// What a look-up is asked and what it answers, as plain values. An answer says how it was found (its rung on the
// ladder), what it was measured on, and in what it differs from what the caller has now: nothing is passed off as more
// than it is.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "regtune/types.hpp"

namespace regtune {

struct KernelKey {
  // "sgemm", "ns::sgemm<128, float>", the whole signature, or the mangled name. One that several stored kernels answer
  // to is refused as ambiguous, unless the source tag tells which is meant.
  std::string kernel;
  Sizes sizes;                               // all of them, and no others
  std::optional<Dim3> block = std::nullopt;  // the block that will be launched; empty: the caller takes the answer's
  // What the caller has now; empty: not compared. Versions are equal when one begins with the other: "13.0" and
  // "NVRTC 13.0" are "NVRTC 13.0.88".
  std::string source_tag = {};
  std::string compiler = {};
  std::string driver = {};
};

// The rungs of the ladder, from the best down.
enum class Match {
  none = 0,
  exact = 1,            // this kernel, these sizes, this GPU
  nearest_sizes = 2,    // this kernel and GPU; the sizes nearest by logarithm
  same_capability = 3,  // another GPU of this compute capability, nearest by its number of SMs
  same_family = 4,      // another GPU of this major compute capability
};

enum class Miss {
  none = 0,
  not_stored = 1,
  ambiguous = 2,  // several kernels answer to the name
  stale = 3,      // there are answers, all of them stale, and the cache was opened to refuse those
  not_legal = 4,  // there are answers, and none of them can be launched on this GPU with this block
  bad_key = 5,    // a name without a kernel in it, or more sizes than any answer has
};

// In what an answer differs from what the caller has now.
struct Stale {
  bool driver = false;
  bool compiler = false;
  bool source = false;
  explicit operator bool() const { return driver || compiler || source; }
  friend bool operator==(const Stale&, const Stale&) = default;
};

// One budget, with what its code takes and what it gained.
struct TunedBudget {
  RegisterPolicy policy;
  Dim3 block;
  std::int64_t dynamic_shared_bytes = 0;
  // Of the source, beside the budget; all empty: as its author wrote it.
  bool renamed = false;                            // compiled under the name cutlass_<kernel>
  int register_usage_level = -1;                   // ptxas's option, 0 to 10; -1: not given
  std::string instance = {};                       // of a kernel template: "scale<4, float>"
  std::map<std::string, std::string> macros = {};  // -D NAME=VALUE
  bool spills_to_shared = false;                   // `statement` opens the kernel's body

  int registers_per_thread = 0;
  int spill_store_bytes = 0;
  int static_shared_bytes = 0;
  int max_threads_per_block = 0;       // bound compiled into the code; 0: none
  int required_threads_per_block = 0;  // 0: none
  std::string code_hash = {};
  double speedup = 1;  // over the author's code, with its confidence interval
  double speedup_low = 1;
  double speedup_high = 1;

  // "--maxrregcount=57", or empty: the compiler's options that ask for the budget, apart by spaces.
  std::string option = {};
  // "-DUNROLL=4 -DTILE=16": the macros as options.
  std::string defines = {};
  // "__launch_bounds__(256, 3)", "__maxnreg__(64)", or empty: what the source says instead.
  std::string attribute = {};
  // The first statement of the kernel's body, or empty: what the source says beside the attribute.
  std::string statement = {};
  friend bool operator==(const TunedBudget&, const TunedBudget&) = default;
};

// What one run found, and under what.
struct TunedPolicy {
  TunedBudget best;       // AuthorsOwn: leave the code alone
  TunedBudget in_source;  // the best that can be written into the source
  std::string verdict;    // "improved", "no_gain", "inconclusive", "not_resolvable"

  // What was measured.
  std::string kernel;     // mangled
  std::string signature;  // with template arguments and the types of the parameters
  Sizes sizes;
  GpuId gpu;
  std::string architecture;
  std::string driver;
  std::string compiler;
  std::string regtune_version;
  std::string source_tag;  // hash of the source and all that it includes
  std::vector<std::string> options;
  std::string started;  // UTC, ISO 8601
  std::string host;

  // Where it is stored.
  std::string file = {};
  std::int64_t run = 0;           // 0: the file holds the answer alone
  std::int64_t finish_order = 0;  // the higher, the newer
  std::string checksum = {};
};

// How a question was answered.
struct Answer {
  const TunedPolicy* policy = nullptr;  // lives as long as the cache that answered; null: a miss
  Match match = Match::none;
  Miss miss = Miss::none;
  Stale stale = {};
  double size_distance = 0;  // doublings between the sizes asked for and those measured, added up

  explicit operator bool() const { return policy != nullptr; }
  const TunedPolicy& operator*() const { return *policy; }
  const TunedPolicy* operator->() const { return policy; }
};

}  // namespace regtune
