#pragma once
// How trials, their samples, and compile results lie in the tables of schema.sql. What is read equals what
// was written, NaN and unusual bytes included. Opens no transaction and decides nothing: store.cpp does.
// Reading throws Error(cache_unusable) for values that this regtune does not know.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record.hpp"
#include "sqlite.hpp"

namespace regtune {

enum class Phase : int { race = 0, confirmation = 1 };

// What one policy compiled to. `facts` is empty exactly when it did not compile.
struct CompileResult {
  std::optional<StaticFacts> facts;  // occupancy is not kept: it belongs to a block, not to a compilation
  std::string failure;               // the compiler's message
  std::string log_excerpt;
  std::string cubin;  // empty: not kept
};

// Replaces the trial of that variant; its samples are rows of their own.
void write_trial(Database& database, std::int64_t run, const Trial& trial);
std::vector<Trial> read_trials(Database& database, std::int64_t run);  // with samples, in order of id

void append_sample(Database& database, std::int64_t run, int variant_id, Phase phase, const Sample& sample);
void write_samples(Database& database, std::int64_t run, const Trial& trial);
std::vector<Sample> read_samples(Database& database, std::int64_t run, int variant_id, Phase phase);

// The source, options, compiler, architecture and kernel are those of the run.
void write_compile_result(Database& database, std::int64_t run, const RegisterPolicy& policy,
                          const CompileResult& result);
// A cubin whose bytes no longer match their hash is left out.
std::optional<CompileResult> read_compile_result(Database& database, std::int64_t run, const RegisterPolicy& policy);

}  // namespace regtune
