#pragma once
// How trials, their samples, and kept compilations lie in the tables of schema.sql. What is read equals what
// was written, NaN and unusual bytes included. Opens no transaction and decides nothing: store.cpp does.
// Reading throws Error(cache_unusable) for values that this regtune does not know.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

enum class Phase : int { race = 0, confirmation = 1, other_way = 2 };

// All that machine code depends on but the budget and the choice.
struct CompileKey {
  std::string source_hash;
  std::vector<std::string> options;
  std::string compiler;         // the build of all that makes code: "NVRTC 13.0.88, nvJitLink 13.0.88"
  std::string architecture;     // "sm_90"
  std::string kernel;           // mangled, under its author's name
  std::string regtune_version;  // hash and facts are regtune's reading of the code
};

// What one policy compiled to. `facts` is empty exactly when it did not compile.
struct CompileResult {
  std::optional<StaticFacts> facts;  // occupancy is not kept: it belongs to a block, not to a compilation
  std::string failure;               // the compiler's message
  std::string log_excerpt;
  std::string cubin;       // empty: not kept
  std::string entry = {};  // mangled name of the kernel in the cubin; empty: that of the key
};

struct KeptResult {
  RegisterPolicy policy;
  SourceChoice choice;
  CompileResult result;
};

// What the first compilation of a source gave: the author's own code of all its kernels.
struct KeptSource {
  std::string cubin;
  std::vector<std::string> lowered_names;  // of the name expressions, in the order they were asked for
  std::string log;                         // whole: ptxas's report of every kernel
  double seconds = 0;                      // what the compilation took
};

// Replaces the trial of that variant; its samples are rows of their own.
void write_trial(Database& database, std::int64_t run, const Trial& trial);
std::vector<Trial> read_trials(Database& database, std::int64_t run);  // with samples, in order of id

void append_sample(Database& database, std::int64_t run, int variant_id, Phase phase, const Sample& sample);
void write_samples(Database& database, std::int64_t run, const Trial& trial);
std::vector<Sample> read_samples(Database& database, std::int64_t run, int variant_id, Phase phase);

// Replaces what was kept of the same policy and choice. One of several cubins that are the same code is kept, so
// the register ceiling in a cubin that is read back may be another policy's; the facts are its own.
void write_compile_results(Database& database, const CompileKey& key, std::span<const KeptResult> results);
// A result whose cubin no longer matches its hash counts as not kept.
std::vector<KeptResult> read_compile_results(Database& database, const CompileKey& key);
std::optional<CompileResult> read_compile_result(Database& database, const CompileKey& key,
                                                 const RegisterPolicy& policy, const SourceChoice& choice);
void remove_compile_results(Database& database, const CompileKey& key);

// The kernel of the key does not count.
void write_compiled_source(Database& database, const CompileKey& key, const KeptSource& source);
std::optional<KeptSource> read_compiled_source(Database& database, const CompileKey& key);

}  // namespace regtune
