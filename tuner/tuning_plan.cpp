#include "tuning_plan.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "cubin.hpp"
#include "description_text.hpp"
#include "kernel_choice.hpp"
#include "search_space.hpp"
#include "shared_spilling.hpp"
#include "study_scope.hpp"
#include "template_arguments.hpp"

namespace regtune {
namespace {

// A block size that the source fixes (__block_size__) is in every kernel's code, and ptxas takes no other bound.
bool fixes_block(const CubinKernel* compiled) {
  return compiled && compiled->required_threads_per_block != 0;
}

SearchSpaceRequest search_space_request(const GpuLimits& limits, const SourceChoices& choices, bool block_is_fixed,
                                        bool is_ptx, const SweepScope& scope) {
  SearchSpaceRequest space{limits, choices.blocks};
  space.block_is_fixed = block_is_fixed;
  space.with_bounds = !is_ptx;
  space.with_register_usage_levels = scope.levers.register_usage_levels;
  space.with_shared_spilling = scope.levers.shared_spilling;
  // ptxas allocates registers otherwise for a kernel whose name contains "cutlass", to a gain that can exceed any
  // cap's, or to a loss.
  SourceChoice renamed;
  renamed.renamed = true;
  if (scope.renamed && !is_ptx) space.further_choices.push_back(renamed);
  return space;
}

// Why spilling to shared memory is not even tried; empty: it is. What cannot be seen here ptxas refuses itself.
std::string why_not_spilling(const CompileUnit& unit, const KernelSignature& signature, const WorkloadPlan& workload,
                             bool block_is_fixed, const CompilerIdentity& compiler) {
  const auto given = [&](std::initializer_list<const char*> names) {
    return std::any_of(unit.options.begin(), unit.options.end(), [&](const std::string& option) {
      return std::find(names.begin(), names.end(), option) != names.end();
    });
  };
  if (unit.front_end == FrontEnd::ptxas) return "PTX has no place for it: it is compiled as it is, under register caps";
  const std::size_t digit = compiler.name.find_first_of("0123456789");
  const int major = digit == std::string::npos ? 0 : std::atoi(compiler.name.c_str() + digit);
  if (major != 0 && major < kFirstCudaThatSpillsToShared)
    return fmt::format("{} does not know it; CUDA {} does", compiler.name, kFirstCudaThatSpillsToShared);
  if (given({"-G", "--device-debug"})) return "the options ask for a debug build (-G), for which ptxas refuses it";
  if (std::any_of(workload.shapes.begin(), workload.shapes.end(),
                  [](const LaunchShape& shape) { return shape.dynamic_shared_bytes > 0; }))
    return "the launch uses dynamic shared memory, beside which ptxas refuses it";
  if (block_is_fixed)
    return "the kernel declares its block size (__block_size__), and without launch bounds ptxas takes a block's whole "
           "shared memory";
  if (!with_shared_spilling(compiled_text(unit), unqualified_name(signature)))
    return "the kernel's body is not written out in the text that is compiled, so there is no place for the pragma";
  return "";
}

std::vector<Trial> planned_trials(const std::vector<Variant>& variants, const SourceChoices& choices,
                                  const WorkloadPlan& workload) {
  std::vector<Trial> trials;
  for (const Variant& variant : variants)
    trials.push_back({variant, workload.shapes.at(choices.launch_of(variant)), {}, NotTimed{}});
  return trials;
}

std::vector<std::string> notes_for_user(const LaunchDescription& description, const WorkloadPlan& workload,
                                        bool block_is_fixed, bool keeps_cluster) {
  std::vector<std::string> notes;
  if (std::string note = note_of_authors_instance(description); !note.empty()) notes.push_back(std::move(note));
  notes.insert(notes.end(), workload.notes.begin(), workload.notes.end());
  if (block_is_fixed)
    notes.emplace_back(
        "the kernel declares its block size (__block_size__), beside which the compiler ignores caps and "
        "refuses launch bounds: __maxnreg__ is tried at every value instead");
  if (keeps_cluster)
    notes.emplace_back(
        "the kernel declares blocks per cluster, the third launch bound; every budget but __maxnreg__ keeps "
        "it, and so should the bound that you write");
  return notes;
}

}  // namespace

KernelSignature described_kernel(const CompileUnit& unit, const LaunchDescription& description,
                                 const CompiledCode& first) {
  return choose_kernel(read_cubin(first.cubin), compiled_text(unit), unit.source.path.string(), description.kernel,
                       first.lowered_names.empty() ? "" : first.lowered_names.front());
}

InferredLaunch described_launch(LaunchDescription description, const CompileUnit& unit, CompilePool& pool,
                                const KernelSignature& signature, std::int64_t memory_bytes) {
  const int bound = description.blocks.empty() ? authors_launch_bound(pool, unit, signature) : 0;
  return infer_launch(std::move(description), signature,
                      inference_facts(compiled_text(unit), signature, bound, memory_bytes));
}

InferredLaunch launch_in_program(LaunchDescription description, const CapturedLaunch& captured) {
  LaunchDescription left;
  left.kernel = std::move(description.kernel);
  left.options = std::move(description.options);
  left.nvcc_options = std::move(description.nvcc_options);
  left.include_folders = std::move(description.include_folders);
  left.base_folder = std::move(description.base_folder);
  left.blocks = {captured.shape.block};
  return {std::move(left), {}};
}

TuningPlan plan_tuning(const CompileUnit& unit, const InferredLaunch& launch, const CapturedLaunch* captured,
                       const KernelSignature& signature, const CompiledCode& first, const GpuLimits& limits,
                       const SweepScope& asked, const CompilerIdentity& compiler) {
  const LaunchDescription& description = launch.description;
  TuningPlan plan;
  plan.options = options_given(description, unit.front_end);
  plan.guesses = launch.guesses;
  plan.description = captured ? captured_text(facts_of(*captured, signature)) : description_text(description, {}, {});
  plan.description_folder = description.base_folder.string();
  plan.signature = signature;
  plan.choices = source_choices(description, unit, described_blocks(description));
  const Cubin cubin = read_cubin(first.cubin);
  plan.workload = captured ? captured_workload(*captured, plan.signature, cubin.variables)
                           : plan_workload(description, plan.signature, plan.choices.launches);
  const CubinKernel* compiled = find_kernel(cubin, plan.signature.mangled_name);
  const bool block_is_fixed = fixes_block(compiled);
  plan.notes = notes_for_user(description, plan.workload, block_is_fixed, unit.keeps_cluster);
  SweepScope scope = asked;
  if (scope.levers.shared_spilling) {
    const std::string why = why_not_spilling(unit, signature, plan.workload, block_is_fixed, compiler);
    if (!why.empty()) plan.notes.push_back("spilling to shared memory (--levers smem-spill) is not tried: " + why);
    scope.levers.shared_spilling = why.empty();
  }
  plan.trials = planned_trials(search_space(search_space_request(limits, plan.choices, block_is_fixed,
                                                                 unit.front_end == FrontEnd::ptxas, scope)),
                               plan.choices, plan.workload);
  plan.order = compile_order(plan.trials, compiled ? compiled->static_shared_bytes : 0, limits);
  if (!scope.in_waves) plan.order = in_one_wave(std::move(plan.order));
  return plan;
}

TuningRecord planned_record(const TuningPlan& plan, const CompileUnit& unit, const Target& target,
                            const CompilerIdentity& compiler, const MeasureSettings& settings) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  TuningRecord record;
  record.regtune_version = REGTUNE_VERSION;
  record.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  record.host = host.data();
  record.architecture = target.architecture;
  record.gpu = target.gpu;
  record.compiler = compiler.name;
  record.source_path = unit.source.path.string();
  record.source_hash = source_hash(unit);
  record.source_notes = unit.source_notes;
  record.options = plan.options;
  record.kernel = plan.signature.mangled_name;
  record.signature = plan.signature.display;
  record.author_bounds = plan.signature.launch_bounds;
  record.sizes = plan.workload.sizes;
  record.arguments = describe_arguments(plan.workload, plan.signature);
  record.guesses = lines_of(plan.guesses);
  record.description = plan.description;
  record.description_folder = plan.description_folder;
  record.work = plan.workload.work;
  record.author_shape = plan.workload.shapes.front();
  record.trials = plan.trials;
  record.settings = settings;
  record.settings.seed = plan.workload.seed;
  return record;
}

}  // namespace regtune
