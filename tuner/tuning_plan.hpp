#pragma once
// What a tuning will do, before it does any of it: the kernel, its launch as numbers, every variant, and the order of
// their builds; and the head of the record that will hold what came of it. A function of the source, its description,
// complete with what was guessed, and the first compilation: knows neither the cache nor what is fast.
#include <cstdint>
#include <string>
#include <vector>

#include "captured_launch.hpp"
#include "compile.hpp"
#include "compile_order.hpp"
#include "description.hpp"
#include "inference.hpp"
#include "levers.hpp"
#include "record.hpp"
#include "signature.hpp"
#include "source.hpp"
#include "source_choices.hpp"
#include "target.hpp"
#include "workload.hpp"

namespace regtune {

// What is swept besides the register budgets, and whether anything is held back for the race.
struct SweepScope {
  bool renamed = true;  // the kernel under another name too
  Levers levers;
  bool in_waves = false;  // compile what can matter most first, and the rest as the race asks for it
};

struct TuningPlan {
  std::vector<std::string> options;  // of the author's command, a register cap among them
  std::vector<Guess> guesses;        // what of the launch nobody described
  std::string description;           // of the whole launch, as TOML
  std::string description_folder;
  KernelSignature signature;
  SourceChoices choices;
  WorkloadPlan workload;
  std::vector<Trial> trials;  // of every variant, nothing known of them yet
  CompileOrder order;
  std::vector<std::string> notes;  // for the user
};

// The kernel that the description means among those of the first compilation. Throws Error(no_kernel) and
// Error(several_kernels).
KernelSignature described_kernel(const CompileUnit& unit, const LaunchDescription& description,
                                 const CompiledCode& first);

// What nobody described of its launch, guessed from the kernel's code and the author's bounds.
InferredLaunch described_launch(LaunchDescription description, const CompileUnit& unit, CompilePool& pool,
                                const KernelSignature& signature, std::int64_t memory_bytes);

// What is left of a description beside a launch that was caught in a program: how the source is compiled.
InferredLaunch launch_in_program(LaunchDescription description, const CapturedLaunch& captured);

// `first`: all kernels of the author's code, `signature` one of them; `compiler` made it. `captured`: what is launched,
// nullptr: what is described. Throws what plan_workload and captured_workload throw.
TuningPlan plan_tuning(const CompileUnit& unit, const InferredLaunch& launch, const CapturedLaunch* captured,
                       const KernelSignature& signature, const CompiledCode& first, const GpuLimits& limits,
                       const SweepScope& scope, const CompilerIdentity& compiler);

// Everything by which a run is known, and its planned trials; no times.
TuningRecord planned_record(const TuningPlan& plan, const CompileUnit& unit, const Target& target,
                            const CompilerIdentity& compiler, const MeasureSettings& settings);

}  // namespace regtune
