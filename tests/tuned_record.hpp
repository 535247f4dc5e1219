#pragma once
// A finished run as small as it can be, for tests of look-ups: the author's code and one that beat it.
#include <string>

#include "key.hpp"
#include "record.hpp"
#include "store.hpp"

namespace regtune {

inline const GpuId h200{"NVIDIA H200", 9, 0, 132};

struct TunedAs {
  std::string kernel = "_Z5sgemmPf";
  std::string signature = "sgemm(float*)";
  Sizes sizes = {{"n", 1024}};
  GpuId gpu = h200;
  RegisterPolicy best = RegisterCap{57};
  RegisterPolicy in_source = LaunchBounds{256, 4};
  Dim3 block = {256, 1, 1};
  int registers = 56;
  std::string source = "tag 1";
  std::string compiler = "NVRTC 13.0.88";
  std::string driver = "580.159.04";
  std::string started = "2026-01-02T03:04:05Z";
};

inline TuningRecord tuned_record(const TunedAs& as) {
  TuningRecord record;
  record.regtune_version = "test";
  record.started = as.started;
  record.host = "here";
  record.architecture = "sm_" + std::to_string(as.gpu.compute_major * 10 + as.gpu.compute_minor);
  record.compiler = as.compiler;
  record.source_path = "k.cu";
  record.source_hash = as.source;
  record.options = {"--std=c++17", "-DX=a b"};
  record.kernel = as.kernel;
  record.signature = as.signature;
  record.sizes = as.sizes;
  record.author_shape = {{4, 1, 1}, as.block, 0};
  record.gpu.emplace();
  record.gpu->id = as.gpu;
  record.gpu->driver_version = as.driver;
  const auto add = [&](const RegisterPolicy& policy, int registers) {
    StaticFacts facts;
    facts.registers_per_thread = registers;
    facts.code_hash = content_hash(std::to_string(registers) + as.kernel);
    if (const auto* bounds = std::get_if<LaunchBounds>(&policy))
      facts.max_threads_per_block = bounds->max_threads_per_block;
    Measurement measured;
    measured.time_ms = {1, 1.1, 1.2};
    record.trials.push_back(
        {{static_cast<int>(record.trials.size()), policy, as.block}, record.author_shape, facts, measured});
  };
  add(AuthorsOwn{}, 80);
  add(as.best, as.registers);
  add(as.in_source, as.registers);
  record.verdict.emplace();
  record.verdict->kind = as.best == RegisterPolicy(AuthorsOwn{}) ? Verdict::Kind::no_gain : Verdict::Kind::improved;
  record.verdict->best_id = 1;
  record.verdict->best_in_source_id = 2;
  record.verdict->speedup = {1.11, 1.12, 1.13};
  record.verdict->speedup_in_source = {1.05, 1.06, 1.07};
  record.verdict->reason = "because";
  return record;
}

inline std::int64_t store_tuned(Store& store, const TunedAs& as) {
  const TuningRecord record = tuned_record(as);
  const std::int64_t run = store.begin(record);
  store.finish(run, record);
  return run;
}

}  // namespace regtune
