#include "export_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "key.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "source_patch.hpp"

namespace regtune {
namespace {

// The hash depends on the template-id by which the kernel was asked for, which the record has in the compiler's
// spelling only: what the description says, and what the user says now, are tried.
bool is_tuned_source(const Source& source, const TuningRecord& run, const std::vector<std::string>& kernels,
                     const std::vector<std::string>& include_folders) {
  std::vector<std::optional<std::string>> names{std::nullopt};
  for (const std::string& kernel : kernels) names.emplace_back(kernel);
  return std::any_of(names.begin(), names.end(), [&](const std::optional<std::string>& name) {
    DescriptionFlags flags;
    flags.kernel = name;
    flags.include_folders = include_folders;
    LaunchDescription description = launch_description(source, flags);
    description.options = run.options;
    return source_hash(compile_unit(source, description, run.architecture, {})) == run.source_hash;
  });
}

Source tuned_source(const TuningRecord& run, const std::vector<std::string>& kernels,
                    const std::vector<std::string>& include_folders) {
  Source source;
  try {
    source = read_source(run.source_path);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}; that is how the source was named when it was tuned: run export in the "
                                          "same folder",
                                          error.what()));
  }
  if (!is_tuned_source(source, run, kernels, include_folders))
    throw Error(ErrorKind::claim_not_held,
                fmt::format("{}: the source, or a file that it includes, has changed since {}, or was tuned with other "
                            "-I folders or under a template-id that only a flag named (name it here, too): tune it "
                            "again",
                            run.source_path, run.started));
  return source;
}

SourceBudget source_budget(const ExportedKernel& kernel) {
  const TuningRecord& run = kernel.newest();
  const std::optional<StaticFacts>& authors = run.trials.front().facts;
  return {run.signature,
          bare_kernel_name(run.signature),
          kernel.in_source.variant.policy,
          authors && authors->max_threads_per_block > 0,
          kernel.in_source.variant.choice.macros,
          kernel.in_source.variant.choice.spills_to_shared};
}

std::string budget_in_words(const Variant& variant) {
  return spell(variant.policy, variant.choice.spills_to_shared);
}

// Of each kernel name the one budget; several that differ cannot stand in one text.
std::map<std::string, const ExportedKernel*> one_of_each(const std::vector<const ExportedKernel*>& kernels) {
  std::map<std::string, const ExportedKernel*> by_name;
  for (const ExportedKernel* kernel : kernels) {
    const auto [place, is_new] = by_name.try_emplace(bare_kernel_name(kernel->newest().signature), kernel);
    const ExportedKernel& other = *place->second;
    const Variant& a = other.in_source.variant;
    const Variant& b = kernel->in_source.variant;
    const bool alike = a.policy == b.policy && a.choice.macros == b.choice.macros &&
                       a.choice.spills_to_shared == b.choice.spills_to_shared;
    if (is_new || alike) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{} on {} wants {}, and {} on {} wants {}: a source holds only one; name one kernel, or a "
                            "GPU by --gpu, or take --format header",
                            other.newest().signature, other.newest().architecture, budget_in_words(a),
                            kernel->newest().signature, kernel->newest().architecture, budget_in_words(b)));
  }
  return by_name;
}

bool leaves_source_alone(const ExportedKernel& kernel) {
  const Variant& variant = kernel.in_source.variant;
  return std::holds_alternative<AuthorsOwn>(variant.policy) && variant.choice.macros.empty();
}

}  // namespace

ExportText patch_text(const ExportedKernels& exported, const std::vector<std::string>& kernels,
                      const std::vector<std::string>& include_folders) {
  ExportText patch;
  std::map<std::string, std::vector<const ExportedKernel*>> by_source;
  for (const ExportedKernel& kernel : exported.kernels) by_source[kernel.newest().source_path].push_back(&kernel);
  std::size_t written = 0;
  std::string refused;
  for (const auto& [path, of_source] : by_source) {
    std::optional<Source> source;
    std::string text;
    for (const auto& [name, kernel] : one_of_each(of_source)) {
      const TuningRecord& run = kernel->newest();
      for (const std::string& line : worth_lines(*kernel, kernel->in_source))
        patch.notes.push_back(
            fmt::format("{}: {}: {}", run.signature, budget_in_words(kernel->in_source.variant), line));
      if (leaves_source_alone(*kernel)) continue;
      if (!source) text = (source = tuned_source(run, kernels, include_folders))->text;
      try {
        text = with_budget(text, source_budget(*kernel));
        ++written;
      } catch (const Error& error) {
        patch.notes.emplace_back(error.what());
        refused = error.what();
      }
    }
    if (source) patch.text += unified_diff(source->text, text, path);
  }
  if (written == 0 && !refused.empty()) throw Error(ErrorKind::no_kernel, refused);
  return patch;
}

}  // namespace regtune
