#include "tune.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "collapse.hpp"
#include "compile.hpp"
#include "compile_budget.hpp"
#include "compile_order.hpp"
#include "counters.hpp"
#include "decide.hpp"
#include "device.hpp"
#include "entrants.hpp"
#include "inference.hpp"
#include "instances.hpp"
#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "measure.hpp"
#include "past_runs.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "run_log.hpp"
#include "search_space.hpp"
#include "source.hpp"
#include "source_choices.hpp"
#include "store.hpp"
#include "study_scope.hpp"
#include "sweep.hpp"
#include "template_arguments.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

// What is compiled for, and whether it can be timed.
struct Target {
  std::string architecture;
  GpuLimits limits;
  std::optional<GpuState> gpu;  // empty: static analysis
};

Target choose_target(const TuneRequest& request, Device& device, const CompilerIdentity& compiler) {
  std::optional<GpuState> gpu = device.state();
  Target target;
  if (request.architecture)
    target.architecture = *request.architecture;
  else
    target.architecture =
        gpu ? fmt::format("sm_{}{}", gpu->id.compute_major, gpu->id.compute_minor) : kDefaultArchitecture;
  target.limits = limits_of_target(target.architecture, compiler);
  const bool can_be_timed = gpu && target.limits.compute_major == gpu->id.compute_major &&
                            target.limits.compute_minor == gpu->id.compute_minor;
  if (can_be_timed) target.limits = gpu->limits;
  if (can_be_timed) target.gpu = std::move(gpu);
  return target;
}

TuningRecord head_of_record(const Target& target, const CompilerIdentity& compiler, const CompileUnit& unit,
                            const KernelSignature& signature, const WorkloadPlan& plan,
                            const LaunchDescription& description, const MeasureSettings& settings) {
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
  record.options = description.options;
  record.kernel = signature.mangled_name;
  record.signature = signature.display;
  record.sizes = plan.sizes;
  record.arguments = describe_arguments(plan, signature);
  record.work = plan.work;
  record.author_shape = plan.shapes.front();
  record.settings = settings;
  record.settings.seed = plan.seed;
  return record;
}

// In the order in which they are to be compiled.
CompileOrder order_of(const TuningRecord& record, const GpuLimits& limits, const CompiledCode& first) {
  const Cubin cubin = read_cubin(first.cubin);
  const CubinKernel* compiled = find_kernel(cubin, record.kernel);
  return compile_order(record.trials, compiled ? compiled->static_shared_bytes : 0, limits);
}

// A block size that the source fixes (__block_size__) is in every kernel's code, and ptxas takes no other bound.
int fixed_block_threads(const CompiledCode& first, const std::string& kernel) {
  const Cubin cubin = read_cubin(first.cubin);
  const CubinKernel* compiled = find_kernel(cubin, kernel);
  return compiled ? compiled->required_threads_per_block : 0;
}

// The variants that are planned, before anything is known of them.
std::vector<Trial> planned_trials(const std::vector<Variant>& variants, const SourceChoices& choices,
                                  const WorkloadPlan& plan) {
  std::vector<Trial> trials;
  for (const Variant& variant : variants)
    trials.push_back({variant, plan.shapes.at(choices.launch_of(variant)), {}, NotTimed{}});
  return trials;
}

Error nothing_launchable(const TuningRecord& record) {
  const auto* refused = std::get_if<NotLaunchable>(&record.trials.front().outcome);
  const auto skipped = std::find_if(record.trials.begin(), record.trials.end(), [](const Trial& trial) {
    return std::holds_alternative<NotCompiled>(trial.outcome);
  });
  const std::string none = skipped == record.trials.end() ? "no register budget makes it launchable"
                                                          : "nothing that was compiled is launchable";
  std::string what_to_try = "Choose a smaller --block";
  if (skipped != record.trials.end())
    what_to_try += ", or a longer --compile-budget: " + std::get<NotCompiled>(skipped->outcome).reason;
  return Error(ErrorKind::nothing_launchable, fmt::format("{}: {} with this block: {}. {}", record.signature, none,
                                                          refused ? refused->reason : "none compiled", what_to_try));
}

int reference_id(const TuningRecord& record) {
  return choose_reference(record.trials).value();
}

// What is recommended must be what a user gets who types the option or writes the bound: the code that was timed.
std::optional<std::string> difference_of_winners(Sweep& sweep, const CompiledEntrants& entrants,
                                                 const Verdict& verdict) {
  std::vector<int> winners{verdict.best_id, verdict.best_in_source_id};
  if (verdict.best_renamed_id) winners.push_back(*verdict.best_renamed_id);
  for (const int id : winners)
    if (auto difference = sweep.difference_from_plain(entrants.code_of_trial(id))) return difference;
  return {};
}

// The reference and whatever was confirmed.
std::vector<Candidate> finalists(const std::vector<Trial>& trials, const CompiledEntrants& entrants) {
  std::vector<Candidate> candidates;
  for (const Trial& trial : trials)
    if (const auto* measured = std::get_if<Measurement>(&trial.outcome); measured && !measured->confirmation.empty())
      candidates.push_back(entrants.candidate(trial.variant.id));
  return candidates;
}

void tell_about_gpu(const Target& target, const Device& device, Progress& progress) {
  if (!target.gpu) {
    progress.note("regtune: nothing will be timed: " +
                  (device.why_not().empty() ? "--arch is not the GPU's" : device.why_not()));
    return;
  }
  for (const std::string& user : target.gpu->other_users)
    progress.note("regtune: the GPU is not idle, which makes times uncertain: " + user);
}

// What this GPU's memory gives a copy: measured once for each model and driver.
double peak_copy_gb_per_s(const GpuState& gpu, Store& store, Device& device) {
  if (const std::optional<double> known = store.copy_bandwidth(gpu)) return *known;
  const double measured = device.copy_bandwidth();
  if (measured > 0) store.keep_copy_bandwidth(gpu, measured);
  return measured;
}

// What nobody described.
InferredLaunch inferred_launch(LaunchDescription description, const CompileUnit& unit, CompilePool& pool,
                               const KernelSignature& signature, const Target& target) {
  const int bound = description.blocks.empty() ? authors_launch_bound(pool, unit, signature) : 0;
  return infer_launch(std::move(description), signature,
                      inference_facts(unit.source.text, signature, bound, target.gpu ? target.gpu->memory_bytes : 0));
}

void tell_guesses(const std::vector<Guess>& guesses, Progress& progress) {
  for (const Guess& guess : guesses)
    progress.note(fmt::format("regtune: guessed {}: {}", line_of(guess), guess.reason));
}

// The author's own code may fail because a guess is wrong: then the error says which lines to write.
template <class Race>
RaceResult race_as_guessed(const std::vector<Guess>& guesses, const Race& race) {
  try {
    return race();
  } catch (const Error& failure) {
    throw Error(failure.kind(), std::string(failure.what()) + advice_for_failure(guesses, failure.what()));
  }
}

void tell_about_cost(const Sweep& sweep, const CompileOrder& order, std::optional<double> budget_s,
                     Progress& progress) {
  std::vector<Build> all = order.first;
  all.insert(all.end(), order.rest.begin(), order.rest.end());
  const std::optional<CompileCost> cost = sweep.cost_of(all);
  const std::string note = cost ? cost_note(*cost, budget_s) : "";
  if (!note.empty()) progress.note("regtune: " + note);
}

}  // namespace

TuneResult tune(const TuneRequest& request, Progress& progress) {
  Device device(request.device);  // the driver comes up while the source is read and compiled
  const Source source = read_source(request.source);
  LaunchDescription description = launch_description(source, request.flags);
  CompilePool pool(request.jobs, request.compile_limit_s);
  const CompilerIdentity& compiler = pool.identity();
  const Target target = choose_target(request, device, compiler);
  tell_about_gpu(target, device, progress);
  // An unusable cache is better known before the work than after. Without a GPU nothing is stored.
  std::filesystem::path cache;
  std::optional<Store> store;
  if (target.gpu) {
    cache = request.cache ? *request.cache : default_cache_path();
    store = Store::open(cache);
  }

  const CompileUnit unit = compile_unit(source, description, target.architecture, compiler);
  KeptCodes kept(store ? &*store : nullptr, unit, compiler);
  Sweep sweep(pool, unit, kept, CompileBudget(request.compile_budget_s));
  if (request.every_cap) sweep.compile_every_cap();
  progress.stage("compiling for the first time");
  const CompiledCode& first = sweep.first();
  const KernelSignature signature =
      choose_kernel(read_cubin(first.cubin), source.text, source.path.string(), description.kernel,
                    first.lowered_names.empty() ? "" : first.lowered_names.front());
  InferredLaunch launch = inferred_launch(std::move(description), unit, pool, signature, target);
  description = std::move(launch.description);
  tell_guesses(launch.guesses, progress);
  const SourceChoices choices = source_choices(description, unit, described_blocks(description));
  const WorkloadPlan plan = plan_workload(description, signature, choices.launches);
  if (const std::string note = note_of_authors_instance(description); !note.empty()) progress.note("regtune: " + note);
  for (const std::string& note : plan.notes) progress.note("regtune: " + note);

  TuningRecord record = head_of_record(target, compiler, unit, signature, plan, description, request.measure);
  record.guesses = lines_of(launch.guesses);
  SearchSpaceRequest space{target.limits, choices.blocks};
  space.block_is_fixed = fixed_block_threads(first, record.kernel) != 0;
  space.with_levers = request.levers;
  // ptxas allocates registers otherwise for a kernel whose name contains "cutlass", to a gain that can exceed any
  // cap's, or to a loss.
  SourceChoice renamed;
  renamed.renamed = true;
  if (request.rename) space.further_choices.push_back(renamed);
  if (space.block_is_fixed)
    progress.note(
        "regtune: the kernel declares its block size (__block_size__), beside which the compiler ignores caps and "
        "refuses launch bounds: __maxnreg__ is tried at every value instead");
  if (unit.keeps_cluster)
    progress.note(
        "regtune: the kernel declares blocks per cluster, the third launch bound; every budget but __maxnreg__ keeps "
        "it, and so should the bound that you write");
  const std::vector<Trial> planned = planned_trials(search_space(space), choices, plan);
  record.trials = planned;
  CompileOrder order = order_of(record, target.limits, first);
  // Without a budget there is nothing to hold back for.
  if (!request.compile_budget_s) order = in_one_wave(std::move(order));
  std::optional<CompiledCode> device_code;
  if (target.gpu) device_code = compile_device_code(pool, plan, target.architecture);
  progress.stage(fmt::format("compiling {} variants", record.trials.size()));
  tell_about_cost(sweep, order, request.compile_budget_s, progress);
  sweep.begin(record.kernel, unqualified_name(signature), target.limits, {});
  name_instances(sweep, unit, choices, signature, progress);
  sweep.add(order.first);
  if (target.gpu) device.prepare(plan, *device_code, record.settings.timeout_ms, record.settings.never_restore);
  if (target.gpu && plan.work.bytes > 0)
    record.work.peak_copy_gb_per_s = peak_copy_gb_per_s(*target.gpu, *store, device);
  const PastRuns past = store ? PastRuns(*store, record, request.retry_quarantined) : PastRuns();
  if (!past.told().empty()) progress.note("regtune: " + past.told());
  RunLog log(record, store ? &*store : nullptr, progress);  // from here on a run is in the cache

  while (true) {
    CompiledEntrants entrants(sweep, record, target.limits, past, log, order.rest);
    const std::optional<Entrant> reference = entrants.reference();
    if (!reference) throw nothing_launchable(record);
    if (!target.gpu) {
      entrants.finish({});
      record.route = sweep.route();
      return {std::move(record), ""};
    }
    const RaceResult result = race_as_guessed(
        launch.guesses, [&] { return race(device, *reference, entrants, record.settings, log, past.interrupted()); });
    record.settings = result.settings;
    record.clocks = result.clocks;
    record.gpu_seconds = result.gpu_seconds;
    entrants.finish(result.outcomes);
    record.verdict = decide(record.trials, reference_id(record), record.settings);
    record.route = sweep.route();
    const std::optional<std::string> difference = difference_of_winners(sweep, entrants, *record.verdict);
    if (!difference && request.counters) {
      progress.stage("reading the GPU's counters");
      device.finish(record.settings.timeout_ms);  // its buffers make room
      record.counters = read_counters(request.device, plan, *device_code, finalists(record.trials, entrants));
    }
    if (!difference) break;
    progress.note("regtune: " + *difference + "; everything is compiled again by plain NVRTC");
    record.trials = planned;
    sweep.fall_back(*difference);
    sweep.add(order.first);
    log.start_over();
  }
  log.finish();
  return {std::move(record), cache.string()};
}

}  // namespace regtune
