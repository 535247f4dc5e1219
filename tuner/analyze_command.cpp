#include "analyze_command.hpp"

#include <fmt/format.h>

#include "collapse.hpp"
#include "compile.hpp"
#include "compile_budget.hpp"
#include "compile_order.hpp"
#include "instances.hpp"
#include "interruption.hpp"
#include "kernel_choice.hpp"
#include "regtune/error.hpp"
#include "search_space.hpp"
#include "source.hpp"
#include "source_choices.hpp"
#include "store.hpp"
#include "study_scope.hpp"
#include "sweep.hpp"
#include "template_arguments.hpp"

namespace regtune {
namespace {

// What all studies of a request have in common.
struct Subject {
  const AnalyzeRequest& request;
  Source source;
  LaunchDescription description;
  std::optional<std::string> pattern;  // of kernels
  Store* store;
  Progress& progress;
};

// A cache that was named has to work; the default one is a convenience.
std::optional<Store> open_cache(const AnalyzeRequest& request, Analysis& analysis, Progress& progress) {
  const std::filesystem::path file = request.cache ? *request.cache : default_cache_path();
  try {
    std::optional<Store> store = Store::open(file);
    if (!store->mended().empty()) progress.note("regtune: " + store->mended());
    analysis.cache = file.string();
    return store;
  } catch (const Error& unusable) {
    if (request.cache) throw;
    progress.note(fmt::format("regtune: no compilation is kept: {}", unusable.what()));
    return {};
  }
}

std::vector<KernelSignature> kernels_meant(const Subject& subject, const CompileUnit& unit, const CompiledCode& first) {
  const Cubin cubin = read_cubin(first.cubin);
  const Source compiled{subject.source.path, compiled_text(unit)};
  if (subject.pattern) return kernels_matching(cubin, compiled, *subject.pattern);
  return {choose_kernel(cubin, compiled.text, subject.source.path.string(), subject.description.kernel,
                        first.lowered_names.empty() ? "" : first.lowered_names.front())};
}

BuildCode wait_for(Sweep& sweep) {
  std::optional<BuildCode> code = sweep.next();
  if (!code) throw Error(ErrorKind::internal, "a compilation was begun and never came");
  return std::move(*code);
}

std::vector<BuildCode> compile_all(Sweep& sweep, BuildCode author, std::vector<Build> builds, Progress& progress) {
  std::erase(builds, author.build);
  sweep.add(builds);
  std::vector<BuildCode> codes{std::move(author)};
  while (std::optional<BuildCode> code = sweep.next()) {
    // When the linked way turns out to differ, everything that was begun is delivered again.
    std::erase_if(codes, [&](const BuildCode& before) { return before.build == code->build; });
    codes.push_back(std::move(*code));
    progress.update(fmt::format("{} of {} compiled", codes.size(), builds.size() + 1), codes.size(), builds.size() + 1);
  }
  return codes;
}

std::vector<Trial> planned_trials(const std::vector<Variant>& variants, const LaunchDescription& description,
                                  const SourceChoices& choices) {
  std::vector<LaunchShape> shapes;
  for (const LaunchCase& launch : choices.launches) shapes.push_back(study_shape(description, launch));
  std::vector<Trial> planned;
  for (const Variant& variant : variants)
    planned.push_back({variant, shapes.at(choices.launch_of(variant)), {}, NotTimed{}});
  return planned;
}

// `sweep` has compiled the source for the first time.
Study study(const Subject& subject, const CompilerIdentity& compiler, const CompileUnit& unit,
            const KernelSignature& signature, Sweep sweep) {
  const GpuLimits limits = limits_of_target(unit.architecture, compiler);
  // The author's own code first: where no block is described, its bounds say what is studied.
  sweep.begin(signature.mangled_name, unqualified_name(signature), limits, {Build{AuthorsOwn{}}});
  BuildCode author = wait_for(sweep);
  if (!author.facts)
    throw Error(ErrorKind::source_not_compiled, fmt::format("{}: {}", signature.display, author.failure));
  const LaunchDescription description = description_for(subject.description, subject.request.flags, signature);
  const SourceChoices choices = source_choices(description, unit, study_blocks(description, *author.facts));
  SearchSpaceRequest space{limits, choices.blocks};
  space.with_bounds = unit.front_end != FrontEnd::ptxas;
  space.block_is_fixed = author.facts->required_threads_per_block > 0;
  const std::vector<Variant> variants = search_space(space);
  const std::vector<Trial> planned = planned_trials(variants, description, choices);
  name_instances(sweep, unit, choices, signature, subject.progress);
  subject.progress.stage(
      fmt::format("{}: {} variants of {}", unit.architecture, variants.size(), unqualified_name(signature)));
  const std::vector<Build> builds =
      in_one_wave(compile_order(planned, author.facts->static_shared_bytes, limits)).first;
  const std::optional<CompileCost> cost = sweep.cost_of(builds);
  const std::string note = cost ? cost_note(*cost, subject.request.compile_budget_s) : "";
  if (!note.empty()) subject.progress.note("regtune: " + note);
  const std::vector<BuildCode> codes = compile_all(sweep, std::move(author), builds, subject.progress);

  Study result;
  for (const BuildCode& code : codes)
    ++(code.skipped ? result.skipped : code.kept ? result.kept : code.inferred ? result.inferred : result.compiled);
  TuningRecord& record = result.record;
  record.regtune_version = REGTUNE_VERSION;
  record.architecture = unit.architecture;
  record.compiler = compiler.name;
  record.route = sweep.route();
  record.source_path = unit.source.path.string();
  record.source_hash = source_hash(unit);
  record.source_notes = unit.source_notes;
  record.options = unit.options;
  record.kernel = signature.mangled_name;
  record.signature = signature.display;
  record.author_bounds = signature.launch_bounds;
  record.author_shape = planned.front().shape;
  record.trials = collapse(planned, codes, limits);
  return result;
}

void study_architecture(const Subject& subject, const std::string& architecture, CompilePool& pool,
                        Analysis& analysis) {
  const AnalyzeRequest& request = subject.request;
  subject.progress.stage(fmt::format("{}: compiling for the first time", architecture));
  const Compilation compilation =
      begin_compilation({subject.source, subject.description, architecture, request.compiler.only},
                        {request.compile_budget_s, request.every_cap}, subject.store, pool, subject.progress);
  const CompileUnit& unit = compilation.unit;
  analysis.compiler = pool.identity(unit.front_end).name;
  subject.progress.detail(fmt::format("regtune: {}: compiled by {}, {}", architecture, analysis.compiler,
                                      pool.identity(unit.front_end).library_path));
  const Sweep& survey = *compilation.sweep;
  for (const KernelSignature& signature : kernels_meant(subject, unit, survey.first_code()))
    analysis.studies.push_back(study(subject, pool.identity(unit.front_end), unit, signature, survey));
}

}  // namespace

Analysis analyze(AnalyzeRequest request, Progress& progress) {
  std::optional<std::string> pattern = take_kernel_pattern(request.flags);
  Source source = read_source(request.source);
  LaunchDescription description = launch_description(source, request.flags);
  if (const std::string note = note_of_authors_instance(description); !note.empty()) progress.note("regtune: " + note);
  Analysis analysis;
  const auto new_pool = [&request] {
    return std::make_unique<CompilePool>(request.jobs, request.compile_limit_s, request.compiler.nvcc_file);
  };
  std::unique_ptr<CompilePool> pool = new_pool();
  const FrontEnd first = first_front_end(source, request.compiler.only);
  analysis.compiler = pool->identity(first).name;
  const CompilerIdentity& limiting = pool->identity(first == FrontEnd::ptxas ? first : FrontEnd::nvrtc);
  const std::vector<std::string> architectures = architectures_meant(request.architectures, request.device, limiting);
  // Refuses what the options may not hold, before a cache is opened.
  compile_unit(source, description, architectures.front(), limiting);
  std::optional<Store> store = open_cache(request, analysis, progress);
  const Subject subject{
      request, std::move(source), std::move(description), std::move(pattern), store ? &*store : nullptr, progress};
  bool any = false;
  std::optional<Error> refused;
  for (const std::string& architecture : architectures) {
    try {
      // A pool for each: an NVRTC process serves one set of options. So far the first has told what it is, and no more.
      if (!pool) pool = new_pool();
      study_architecture(subject, architecture, *std::exchange(pool, nullptr), analysis);
      any = true;
    } catch (const Error& failure) {
      if (failure.kind() != ErrorKind::source_not_compiled) throw;
      Study failed;
      failed.record.architecture = architecture;
      failed.record.compiler = analysis.compiler;
      failed.failure = failure.what();
      analysis.studies.push_back(std::move(failed));
      if (!refused) refused = failure;
    } catch (Interrupted& interrupted) {
      if (store) interrupted.kept = "what was compiled is kept in " + analysis.cache;
      throw;
    }
  }
  if (!any) throw *refused;
  return analysis;
}

}  // namespace regtune
