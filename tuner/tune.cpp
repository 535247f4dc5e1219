#include "tune.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "collapse.hpp"
#include "compile.hpp"
#include "decide.hpp"
#include "device.hpp"
#include "kernel_choice.hpp"
#include "measure.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "run_log.hpp"
#include "search_space.hpp"
#include "source.hpp"
#include "store.hpp"
#include "sweep.hpp"
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
  const std::optional<GpuLimits> limits = gpu_limits(target.architecture);
  const int number = limits ? limits->compute_major * 10 + limits->compute_minor : 0;
  const std::vector<int>& known = compiler.architectures;
  if (std::find(known.begin(), known.end(), number) == known.end())
    throw Error(ErrorKind::unknown_architecture, fmt::format("{}: {} compiles for sm_{} only", target.architecture,
                                                             compiler.name, fmt::join(known, ", sm_")));
  const bool can_be_timed = gpu && number == gpu->id.compute_major * 10 + gpu->id.compute_minor;
  target.limits = can_be_timed ? gpu->limits : *limits;
  if (can_be_timed) target.gpu = std::move(gpu);
  return target;
}

// The author's own code says whether the source compiles at all, and which kernels it holds.
CompiledCode compile_authors_code(CompilePool& pool, const CompileUnit& unit, const CompilerIdentity& compiler) {
  pool.submit({0, compile_request(unit, AuthorsOwn{})});
  CompiledCode compiled = pool.next().value();
  if (!compiled.compiled)
    throw Error(ErrorKind::source_not_compiled,
                fmt::format("{}: {} does not compile it for {}:\n{}", unit.source.path.string(), compiler.name,
                            unit.architecture, compiled.failure));
  return compiled;
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
  record.author_shape = plan.shapes.front();
  record.settings = settings;
  record.settings.seed = plan.seed;
  return record;
}

std::vector<Dim3> blocks_of(const WorkloadPlan& plan) {
  std::vector<Dim3> blocks;
  for (const LaunchShape& shape : plan.shapes) blocks.push_back(shape.block);
  return blocks;
}

std::vector<RegisterPolicy> policies_of(const std::vector<Variant>& variants) {
  std::vector<RegisterPolicy> policies;
  for (const Variant& variant : variants)
    if (std::find(policies.begin(), policies.end(), variant.policy) == policies.end())
      policies.push_back(variant.policy);
  return policies;
}

// The candidates of the race: trials whose code is their own and can be launched.
std::vector<Entrant> entrants_of(const TuningRecord& record, const std::vector<PolicyCode>& codes) {
  std::vector<Entrant> entrants;
  for (const Trial& trial : record.trials) {
    if (!std::holds_alternative<NotTimed>(trial.outcome)) continue;
    const bool in_source = std::any_of(record.trials.begin(), record.trials.end(), [&](const Trial& other) {
      return travels_with_source(other.variant.policy) &&
             timed_trial(record.trials, other.variant.id).variant.id == trial.variant.id;
    });
    entrants.push_back(
        {{trial.variant.id, record.kernel, code_of(codes, trial.variant.policy).cubin, trial.shape}, in_source});
  }
  return entrants;
}

int reference_of(const TuningRecord& record) {
  if (const std::optional<int> reference = choose_reference(record.trials)) return *reference;
  const auto* refused = std::get_if<NotLaunchable>(&record.trials.front().outcome);
  throw Error(ErrorKind::nothing_launchable,
              fmt::format("{}: no register budget makes it launchable with this block: {}. Choose a smaller --block",
                          record.signature, refused ? refused->reason : "none compiled"));
}

void prepare_device(Device& device, CompilePool& pool, const WorkloadPlan& plan, const TuningRecord& record,
                    const CompilerIdentity& compiler) {
  pool.submit({0, device_code_request(plan, record.architecture, compiler)});
  const CompiledCode device_code = pool.next().value();
  if (!device_code.compiled)
    throw Error(ErrorKind::internal, "regtune's own device code does not compile: " + device_code.failure);
  device.prepare(plan, device_code, record.settings.timeout_ms);
}

}  // namespace

TuneResult tune(const TuneRequest& request, Progress& progress) {
  Device device(request.device);  // the driver comes up while the source is read and compiled
  const Source source = read_source(request.source);
  const LaunchDescription description = with_flags(read_description(source.path, source.text), request.flags);
  const CompilerIdentity compiler = CompilePool::identify();
  const Target target = choose_target(request, device, compiler);
  if (target.gpu)
    for (const std::string& user : target.gpu->other_users)
      progress.note("regtune: the GPU is not idle, which makes times uncertain: " + user);
  if (!target.gpu) progress.note("regtune: nothing will be timed: " + device.why_not());

  const CompileUnit unit = compile_unit(source, description, target.architecture, compiler);
  CompilePool pool(request.jobs, request.compile_limit_s);
  progress.stage("compiling the author's code");
  const CompiledCode authors_code = compile_authors_code(pool, unit, compiler);
  const KernelSignature signature =
      choose_kernel(read_cubin(authors_code.cubin), source.text, source.path.string(), description.kernel,
                    authors_code.lowered_names.empty() ? "" : authors_code.lowered_names.front());
  const WorkloadPlan plan = plan_workload(description, signature);
  for (const std::string& note : plan.notes) progress.note("regtune: " + note);
  TuningRecord record = head_of_record(target, compiler, unit, signature, plan, description, request.measure);

  const std::filesystem::path cache = target.gpu && !request.cache ? default_cache_path() : request.cache.value_or("");
  RunLog log(record, cache, progress);
  if (target.gpu) prepare_device(device, pool, plan, record, compiler);

  const std::vector<Variant> variants = search_space(target.limits, blocks_of(plan));
  const std::vector<RegisterPolicy> policies = policies_of(variants);
  progress.stage(fmt::format("compiling {} register budgets", policies.size()));
  std::size_t compiled = 0;
  const std::vector<PolicyCode> codes =
      compile_policies(pool, {unit, record.kernel, target.limits}, policies, authors_code,
                       [&](const PolicyCode& code) { log.on_compiled(code, ++compiled, policies.size()); });
  record.trials = collapse(variants, codes, plan.shapes, target.limits);
  const int reference_id = reference_of(record);
  if (!target.gpu) return {std::move(record), ""};

  const std::vector<Entrant> entrants = entrants_of(record, codes);
  progress.stage(fmt::format("timing {} distinct codes", entrants.size()));
  const RaceResult result =
      race(device, entrants, timed_trial(record.trials, reference_id).variant.id, record.settings, log);
  record.settings = result.settings;
  for (const auto& [id, outcome] : result.outcomes) record.trials.at(static_cast<std::size_t>(id)).outcome = outcome;
  record.verdict = decide(record.trials, reference_id, record.settings);
  log.finish();
  return {std::move(record), cache.string()};
}

}  // namespace regtune
