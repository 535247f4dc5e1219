#include "export_text.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "from_ptx.hpp"
#include "policy.hpp"
#include "report.hpp"

namespace regtune {
namespace {

// One line of a comment: stored texts come from files that anybody may have written.
std::string comment(const std::string& mark, const std::string& text) {
  std::string line;
  for (const char c : text) line += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? ' ' : c;
  while (!line.empty() && (line.back() == '\\' || line.back() == ' ')) line.pop_back();  // it would go on
  return mark + (line.empty() ? "" : " ") + line + "\n";
}

std::string measured_on(const TuningRecord& run) {
  return fmt::format("{} ({} SMs), driver {}, {}, measured {}", run.gpu->id.name, run.gpu->id.sm_count,
                     run.gpu->driver_version, run.compiler, run.started);
}

std::string spell_interval(const Interval& speedup) {
  return fmt::format("{:.2f}x ({:.3f} to {:.3f})", speedup.median, speedup.low, speedup.high);
}

// What has to be as it was when it was measured, beside the budget.
std::vector<std::string> conditions(const ExportedKernel& kernel, const ExportedChoice& choice) {
  std::vector<std::string> lines;
  if (is_from_ptx(kernel.newest())) lines.emplace_back(kFromPtx);
  for (const auto& [name, value] : choice.variant.choice.macros)
    lines.push_back(fmt::format("with {}={} in the source", name, value));
  if (choice.variant.choice.spills_to_shared)
    lines.push_back(
        fmt::format("with {} as the first statement of its body (CUDA 13 and later; not with -G, -rdc or "
                    "dynamic shared memory)",
                    shared_spilling_statement));
  if (!choice.variant.choice.instance.empty()) lines.push_back("as " + choice.variant.choice.instance);
  if (choice.variant.block != kernel.newest().author_shape.block)
    lines.push_back(fmt::format("launched in blocks of {}", spell_block(choice.variant.block)));
  if (const auto* bounds = std::get_if<LaunchBounds>(&choice.variant.policy))
    lines.push_back(fmt::format("blocks of more than {} threads cannot be launched", bounds->max_threads_per_block));
  // The header is for nvcc's builds, and the times are of the compiler that is named below.
  if (const std::optional<NvccComparison>& nvcc = kernel.newest().nvcc)
    for (const NvccCode& code : nvcc->codes)
      if (code.variant_id == choice.variant.id && !code.finding.empty())
        lines.push_back(fmt::format("{}: {}", nvcc->compiler, code.finding));
  return lines;
}

bool is_authors(const ExportedChoice& choice) {
  return std::holds_alternative<AuthorsOwn>(choice.variant.policy);
}

// Of the macro on that kernel's architecture.
std::string expansion(const ExportedKernel& kernel) {
  const ExportedChoice& choice = kernel.in_source;
  if (is_authors(choice)) return "REGTUNE_ELSE_" + kernel.name;
  if (std::holds_alternative<CompilerDefault>(choice.variant.policy)) return "";
  return spell(choice.variant.policy);
}

int cuda_arch(const ExportedKernel& kernel) {
  const GpuId& gpu = kernel.newest().gpu->id;
  return gpu.compute_major * 100 + gpu.compute_minor * 10;
}

void append_about(std::string& text, const std::string& mark, const ExportedKernel& kernel,
                  const ExportedChoice& choice) {
  const TuningRecord& run = kernel.newest();
  text += comment(mark, fmt::format("{}: {}", run.architecture,
                                    spell(choice.variant.policy, choice.variant.choice.spills_to_shared)));
  for (const std::string& line : worth_lines(kernel, choice)) text += comment(mark, "  " + line);
  for (const std::string& line : conditions(kernel, choice)) text += comment(mark, "  " + line);
  text += comment(mark, "  " + measured_on(run));
}

constexpr const char* kHeaderUse = R"(//
//   #include "this file"
//   __global__ void REGTUNE_BOUNDS_name name(...) { ... }
//
// On architectures that are not named here, and where the author's own code was best, REGTUNE_BOUNDS_name stands for
// REGTUNE_ELSE_name: nothing, unless it is defined before, as the bound that stood there. Where a kernel is to spill to
// shared memory there is REGTUNE_BEGIN_name too, for the first line of its body: #ifdef, REGTUNE_BEGIN_name, #endif.
#pragma once
)";

// What a body begins with, on the architectures where it is to spill to shared memory; else it begins with nothing.
void append_statement(std::string& text, const std::vector<const ExportedKernel*>& of_name) {
  const char* directive = "#if defined(__CUDA_ARCH__) &&";
  const std::string& name = of_name.front()->name;
  for (const ExportedKernel* kernel : of_name) {
    if (!kernel->in_source.variant.choice.spills_to_shared) continue;
    text += fmt::format("{} __CUDA_ARCH__ == {}\n#define REGTUNE_BEGIN_{} {}\n", directive, cuda_arch(*kernel), name,
                        shared_spilling_statement);
    directive = "#elif defined(__CUDA_ARCH__) &&";
  }
  if (std::string_view(directive).starts_with("#elif")) text += "#endif\n";
}

// The kernels of one name, one for each architecture.
void append_macro(std::string& text, const std::vector<const ExportedKernel*>& of_name) {
  const std::string& name = of_name.front()->name;
  text += "\n" + comment("//", of_name.front()->newest().signature);
  for (const ExportedKernel* kernel : of_name) append_about(text, "//", *kernel, kernel->in_source);
  text += fmt::format("#ifndef REGTUNE_ELSE_{0}\n#define REGTUNE_ELSE_{0}\n#endif\n", name);
  const char* directive = "#if defined(__CUDA_ARCH__) &&";
  for (const ExportedKernel* kernel : of_name) {
    const std::string expanded = expansion(*kernel);
    text += fmt::format("{} __CUDA_ARCH__ == {}\n#define REGTUNE_BOUNDS_{}{}{}\n", directive, cuda_arch(*kernel), name,
                        expanded.empty() ? "" : " ", expanded);
    directive = "#elif defined(__CUDA_ARCH__) &&";
  }
  text += fmt::format("#else\n#define REGTUNE_BOUNDS_{0} REGTUNE_ELSE_{0}\n#endif\n", name);
  append_statement(text, of_name);
}

std::string cmake_quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$' || c == ';') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return quoted + "\"";
}

// What nvcc must be told; empty: the budget is no option.
std::string nvcc_options(const Variant& variant) {
  const auto* cap = std::get_if<RegisterCap>(&variant.policy);
  if (!cap) return "";
  std::string options = fmt::format("--maxrregcount={}", cap->registers_per_thread);
  if (variant.choice.register_usage_level >= 0)
    options += fmt::format(";-Xptxas=--register-usage-level={}", variant.choice.register_usage_level);
  return options;
}

void append_source(std::string& text, const std::string& path, const std::vector<const ExportedKernel*>& kernels,
                   std::vector<std::string>& notes) {
  std::set<std::string> options;
  bool has_bounds = false;
  text += "\n" + comment("#", path);
  for (const ExportedKernel* kernel : kernels) {
    text += comment("#", kernel->newest().signature);
    append_about(text, "#", *kernel, kernel->best);
    options.insert(nvcc_options(kernel->best.variant));
    const std::optional<StaticFacts>& authors = kernel->newest().trials.front().facts;
    has_bounds = has_bounds || (authors && authors->max_threads_per_block > 0);
  }
  if (options.size() > 1) {
    const std::string why =
        "its kernels and architectures want different caps, or not all want one, and a cap holds for all of a file: "
        "none is set";
    text += comment("#", why);
    notes.push_back(fmt::format("{}: {}; name one kernel, or a GPU by --gpu", path, why));
    return;
  }
  const std::string option = *options.begin();
  if (option.empty()) {
    text += comment("#", "no option: what is best can be written into the source (--format header, --patch)");
    return;
  }
  if (has_bounds) {
    const std::string why = "the source declares bounds, beside which the compiler ignores a cap: take them out";
    text += comment("#", why);
    notes.push_back(fmt::format("{}: {}", path, why));
  }
  // One generator expression for each option: a semicolon would end it.
  const std::size_t property = text.size();
  text += fmt::format("set_property(SOURCE {} APPEND PROPERTY COMPILE_OPTIONS", cmake_quoted(path));
  for (std::size_t at = 0; at < option.size();) {
    const std::size_t end = std::min(option.find(';', at), option.size());
    text += fmt::format("\n  \"$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:{}>\"", option.substr(at, end - at));
    at = end + 1;
  }
  text += ")\n";
  if (!is_from_ptx(kernels.front()->newest())) return;
  // No build compiles that PTX, and what it was made from is not known.
  for (std::size_t line = property; line < text.size(); line = text.find('\n', line) + 1) text.insert(line, "# ");
  notes.push_back(fmt::format("{}: {}; name the source in the place of the PTX", path, kFromPtx));
}

}  // namespace

std::vector<std::string> worth_lines(const ExportedKernel& kernel, const ExportedChoice& choice) {
  if (is_authors(choice) && kernel.runs.size() == 1)
    return {fmt::format("nothing {}is faster: leave it as it is ({})",
                        is_authors(kernel.best) ? "" : "that can be written into the source ",
                        spell_sizes(kernel.newest().sizes))};
  const bool authors = kernel.newest().verdict->reference_id == 0;
  const std::string over = authors ? "over the author's code" : "over what stands in for the author's code";
  if (kernel.runs.size() == 1)
    return {fmt::format("{} {}, {}", spell_interval(choice.shares.front().speedup), over,
                        spell_sizes(kernel.newest().sizes))};
  std::vector<std::string> lines{
      fmt::format("{:.2f}x {}, the mean over {} sizes", choice.speedup, over, choice.shares.size())};
  for (const SizeShare& share : choice.shares)
    lines.push_back(fmt::format(
        "{}: {}, weight {:.0f} %{}", spell_sizes(share.sizes), spell_interval(share.speedup), share.weight * 100,
        share.loss < 0.0005 ? ", the best there"
                            : fmt::format(", {:.1f} % slower than the best there", share.loss * 100)));
  return lines;
}

ExportText header_text(const ExportedKernels& exported) {
  ExportText header{fmt::format("// Launch bounds that regtune {} has measured, for builds with nvcc.\n{}",
                                REGTUNE_VERSION, kHeaderUse),
                    {}};
  std::vector<const ExportedKernel*> of_name;
  for (std::size_t i = 0; i < exported.kernels.size(); ++i) {
    const ExportedKernel& kernel = exported.kernels[i];
    of_name.push_back(&kernel);
    if (std::holds_alternative<RegisterCap>(kernel.best.variant.policy) &&
        kernel.best.speedup > kernel.in_source.speedup * (1 + kernel.newest().settings.margin))
      header.notes.push_back(fmt::format("{}, {}: {} is faster than any bound ({:.2f}x and {:.2f}x): --format cmake",
                                         kernel.newest().signature, kernel.newest().architecture,
                                         spell(kernel.best.variant.policy), kernel.best.speedup,
                                         kernel.in_source.speedup));
    if (i + 1 < exported.kernels.size() && exported.kernels[i + 1].name == kernel.name) continue;
    append_macro(header.text, of_name);
    of_name.clear();
  }
  return header;
}

ExportText cmake_text(const ExportedKernels& exported) {
  ExportText cmake{fmt::format("# Register caps that regtune {} has measured, for builds with nvcc: include() it in "
                               "the folder from which the\n# sources have these names. A cap holds for every kernel of "
                               "its file, those that are not named here too.\n",
                               REGTUNE_VERSION),
                   {}};
  std::map<std::string, std::vector<const ExportedKernel*>> by_source;
  for (const ExportedKernel& kernel : exported.kernels) by_source[kernel.newest().source_path].push_back(&kernel);
  for (const auto& [path, kernels] : by_source) append_source(cmake.text, path, kernels, cmake.notes);
  return cmake;
}

}  // namespace regtune
