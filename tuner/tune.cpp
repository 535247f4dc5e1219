#include "tune.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compile.hpp"
#include "compile_budget.hpp"
#include "counters.hpp"
#include "decide.hpp"
#include "device.hpp"
#include "entrants.hpp"
#include "instances.hpp"
#include "interruption.hpp"
#include "measure.hpp"
#include "nvcc_builds.hpp"
#include "past_runs.hpp"
#include "regtune/error.hpp"
#include "run_claim.hpp"
#include "run_log.hpp"
#include "scratch_folder.hpp"
#include "source.hpp"
#include "store.hpp"
#include "sweep.hpp"
#include "target.hpp"
#include "tuned_file.hpp"
#include "tuning_plan.hpp"

namespace regtune {
namespace {

void tell_guesses(const std::vector<Guess>& guesses, Progress& progress) {
  for (const Guess& guess : guesses)
    progress.note(fmt::format("regtune: guessed {}: {}", line_of(guess), guess.reason));
}

void tell_about_cost(const Sweep& sweep, const CompileOrder& order, std::optional<double> budget_s,
                     Progress& progress) {
  std::vector<Build> all = order.first;
  all.insert(all.end(), order.rest.begin(), order.rest.end());
  const std::optional<CompileCost> cost = sweep.cost_of(all);
  const std::string note = cost ? cost_note(*cost, budget_s) : "";
  if (!note.empty()) progress.note("regtune: " + note);
}

// Where the launches are made: in a process of ours, or in the program that waits with one.
std::unique_ptr<Device> device_of(const TuneRequest& request) {
  if (request.captured && request.captured->context) return std::make_unique<Device>(*request.captured->context);
  return std::make_unique<Device>(request.device);
}

// A program that waits with its launch holds the GPU's memory, and does nothing with it.
void leave_out_program(const CapturedLaunch& captured, Target& target) {
  if (target.gpu) std::erase(target.gpu->other_users, fmt::format("process {}", captured.process));
}

// The compilers are at work when it returns.
void begin_sweep(Sweep& sweep, const TuningPlan& plan, const CompileUnit& unit, const GpuLimits& limits,
                 std::optional<double> budget_s, Progress& progress) {
  progress.stage(fmt::format("compiling {} variants", plan.trials.size()));
  tell_about_cost(sweep, plan.order, budget_s, progress);
  sweep.begin(plan.signature.mangled_name, unqualified_name(plan.signature), limits, {});
  name_instances(sweep, unit, plan.choices, plan.signature, progress);
  sweep.add(plan.order.first);
}

// What a program compiled itself lies in a folder that goes with the tuning: nothing that is stored names it.
void call_source(TuningRecord& record, const std::string& called) {
  record.source_path = called;
  record.description_folder.clear();
  for (std::string& note : record.source_notes) note = without_scratch_folders(std::move(note));
}

// Whether what another process found meanwhile is what this one was asked for.
std::function<bool(const TuningRecord&)> asked_alike(const MeasureSettings& settings, const TuneRequest& request) {
  return [settings, counters = request.counters](const TuningRecord& record) {
    const MeasureSettings& theirs = record.settings;
    return theirs.margin == settings.margin && theirs.confidence == settings.confidence &&
           theirs.budget_s == settings.budget_s && (!counters || record.counters);
  };
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

// The author's own code may fail because a guess is wrong: then the error says which lines to write.
template <class Race>
RaceResult race_as_guessed(const std::vector<Guess>& guesses, const Race& race) {
  try {
    return race();
  } catch (const Error& failure) {
    throw Error(failure.kind(), std::string(failure.what()) + advice_for_failure(guesses, failure.what()));
  }
}

// What a kernel writes beside its buffers is no guess, and no secret either.
void tell_about_variables(const Device& device, Progress& progress) {
  for (const auto& [name, is_compared] : device.written_variables()) {
    progress.detail(fmt::format("regtune: the kernel writes the variable {} of its module", name));
    if (!is_compared)
      progress.note(
          fmt::format("regtune: the kernel leaves another value in the variable {} each time it runs on the "
                      "same data: it is compared with nothing",
                      name));
  }
}

// An outcome for every trial, and the verdict; without a GPU the facts alone. Who is interrupted hears what is kept.
void race_and_decide(CompiledEntrants& entrants, Device& device, const PastRuns& past, RunLog& log,
                     const std::vector<Guess>& guesses, TuningRecord& record) try {
  const std::optional<Entrant> reference = entrants.reference();
  if (!reference) throw nothing_launchable(record);
  if (!record.gpu) {
    entrants.finish({});
    return;
  }
  const RaceResult result = race_as_guessed(
      guesses, [&] { return race(device, *reference, entrants, record.settings, log, past.interrupted()); });
  record.settings = result.settings;
  record.clocks = result.clocks;
  record.gpu_seconds = result.gpu_seconds;
  entrants.finish(result.outcomes);
  record.verdict = decide(record.trials, choose_reference(record.trials).value(), record.settings);
} catch (Interrupted& interrupted) {
  interrupted.kept = log.kept();
  throw;
}

// What is recommended must be what a user gets who types the option or writes the bound: the code that was timed.
std::optional<std::string> difference_of_winners(Sweep& sweep, const CompiledEntrants& entrants,
                                                 const std::optional<Verdict>& verdict) {
  if (!verdict) return {};
  std::vector<int> winners{verdict->best_id, verdict->best_in_source_id};
  if (verdict->best_renamed_id) winners.push_back(*verdict->best_renamed_id);
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

// Where the user names one compiler, the other is left alone.
bool leaves_nvcc_alone(const TuneRequest& request) {
  return request.compiler.only && !request.confirm_by_nvcc;
}

// Beside NVRTC's codes.
std::unique_ptr<NvccBuilds> builds_of_nvcc(const TuneRequest& request, const CompilationRequest& compilation,
                                           const TuningRecord& record, Store* store, CompilePool& pool) {
  const bool is_nvrtcs = front_end_of(record.compiler) == FrontEnd::nvrtc;
  if (!record.gpu || !is_nvrtcs || leaves_nvcc_alone(request) || !pool.nvcc()) return nullptr;
  return std::make_unique<NvccBuilds>(compilation, record, store, pool);
}

// What a winner will be compared with is compiled while the race goes on. Where compilations are budgeted, nothing is
// compiled that may turn out not to be needed.
void compile_ahead(Sweep& sweep, NvccBuilds* nvcc, CompiledEntrants& entrants) {
  entrants.on_likely_winners([&sweep, nvcc](const std::vector<Build>& builds) {
    sweep.begin_plain(builds);
    if (!nvcc) return;
    std::vector<Build> own_name = builds;
    std::erase_if(own_name, [](const Build& build) { return build.choice.renamed; });
    nvcc->begin(own_name);
  });
}

NvccComparison compare_with_nvcc(NvccBuilds& nvcc, const TuneRequest& request, const TuningRecord& record,
                                 Device& device, Progress& progress) {
  progress.stage("comparing with nvcc");
  NvccCodes codes = nvcc.finish(record);
  if (request.confirm_by_nvcc) confirm_by_nvcc(device, record, record.settings.budget_s, codes);
  return std::move(codes.comparison);
}

}  // namespace

TuneResult tune(const TuneRequest& request, Progress& progress) {
  const std::unique_ptr<Device> started = device_of(request);  // the driver comes up while the source is compiled
  Device& device = *started;
  TunedFile file(
      {request.source, request.flags, request.jobs, request.compile_limit_s, request.compiler, request.text});
  const Source& source = file.source();
  const LaunchDescription described = file.description();
  Target target = choose_target(request.architecture, device, file.compiler());
  if (request.captured) leave_out_program(*request.captured, target);
  tell_about_gpu(target, device, progress);
  if (request.confirm_by_nvcc) file.require_nvcc();  // that there is none is better known before the work
  // An unusable cache is better known before the work than after. Without a GPU nothing is stored.
  std::filesystem::path cache;
  std::optional<Store> store;
  if (target.gpu) store = Store::open(cache = request.cache ? *request.cache : default_cache_path());
  if (store && !store->mended().empty()) progress.note("regtune: " + store->mended());
  Store* const kept_in = store ? &*store : nullptr;

  progress.stage("compiling for the first time");
  if (target.gpu && !leaves_nvcc_alone(request)) file.look_for_nvcc();
  const Compilation compilation =
      file.compile(described, target.architecture, {request.compile_budget_s, request.every_cap}, kept_in, progress);
  CompilePool& pool = file.pool();
  const CompileUnit& unit = compilation.unit;
  progress.detail(fmt::format("regtune: compiled by {}, {}", pool.identity(unit.front_end).name,
                              pool.identity(unit.front_end).library_path));
  Sweep& sweep = *compilation.sweep;
  const CompiledCode& first = sweep.first_code();
  const KernelSignature signature = described_kernel(unit, described, first);
  const InferredLaunch launch =
      request.captured ? launch_in_program(described, *request.captured)
                       : described_launch(described, unit, pool, signature, target.gpu ? target.gpu->memory_bytes : 0);
  tell_guesses(launch.guesses, progress);
  const SweepScope scope{request.rename, request.levers, request.compile_budget_s.has_value()};
  const TuningPlan plan = plan_tuning(unit, launch, request.captured, signature, first, target.limits, scope,
                                      pool.identity(unit.front_end));
  for (const std::string& note : plan.notes) progress.note("regtune: " + note);
  TuningRecord record = planned_record(plan, unit, target, pool.identity(unit.front_end), request.measure);
  if (!request.source_called.empty()) call_source(record, request.source_called);
  record.command_line = request.command_line;
  ClaimedRun claimed;  // from here on a run is in the cache
  if (store) claimed = claim_run(*store, record, asked_alike(record.settings, request), progress);
  if (claimed.finished) return {std::move(*claimed.finished), cache.string()};

  std::optional<CompiledCode> device_code;
  if (target.gpu) device_code = compile_device_code(pool, plan.workload, target.architecture);
  begin_sweep(sweep, plan, unit, target.limits, request.compile_budget_s, progress);
  const std::unique_ptr<NvccBuilds> nvcc =
      builds_of_nvcc(request, {source, launch.description, record.architecture, {}}, record, kept_in, pool);
  if (nvcc && !request.compile_budget_s) nvcc->begin({{AuthorsOwn{}}});
  if (target.gpu)
    device.prepare(plan.workload, *device_code, record.settings.timeout_ms, record.settings.never_restore);
  if (target.gpu && record.work.bytes > 0)
    record.work.peak_copy_gb_per_s = peak_copy_gb_per_s(*target.gpu, *store, device);
  const PastRuns past = store ? PastRuns(*store, record, request.retry_quarantined) : PastRuns();
  if (!past.told().empty()) progress.note("regtune: " + past.told());
  RunLog log(record, kept_in, progress, claimed.run);

  while (true) {
    CompiledEntrants entrants(sweep, record, target.limits, past, log, plan.order.rest);
    if (!request.compile_budget_s) compile_ahead(sweep, nvcc.get(), entrants);
    race_and_decide(entrants, device, past, log, plan.guesses, record);
    tell_about_variables(device, progress);
    record.route = sweep.route();
    const std::optional<std::string> difference = difference_of_winners(sweep, entrants, record.verdict);
    if (!difference) {
      if (nvcc && record.verdict) record.nvcc = compare_with_nvcc(*nvcc, request, record, device, progress);
      if (target.gpu && request.counters) {
        progress.stage("reading the GPU's counters");
        device.finish(record.settings.timeout_ms);  // its buffers make room
        record.counters = read_counters(request.device, plan.workload, *device_code, finalists(record.trials, entrants),
                                        record.settings.never_restore);
      }
      break;
    }
    progress.note("regtune: " + *difference + "; everything is compiled again by " + sweep.plain());
    record.trials = plan.trials;
    sweep.fall_back(*difference);
    sweep.add(plan.order.first);
    log.start_over();
  }
  log.finish();
  return {std::move(record), cache.string()};
}

}  // namespace regtune
