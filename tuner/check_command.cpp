#include "check_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "compilation.hpp"
#include "compile.hpp"
#include "kernel_choice.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"
#include "source.hpp"
#include "static_facts.hpp"
#include "study_scope.hpp"

namespace regtune {
namespace {

using nlohmann::json;

constexpr int kBaselineFormat = 1;

std::string name_of(const CheckedKernel& kernel) {
  return fmt::format("{}, {}", kernel.signature, kernel.architecture);
}

std::int64_t spill_bytes(const CheckedKernel& kernel) {
  return std::int64_t{kernel.spill_store_bytes} + kernel.spill_load_bytes;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in)
    throw Error(ErrorKind::file_not_found,
                fmt::format("--baseline {}: cannot be read; --write-baseline writes one", file.string()));
  return text;
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text << '\n';
  if (!out.flush())
    throw Error(ErrorKind::usage,
                fmt::format("--write-baseline {}: cannot be written; is there such a folder, and may you write in it?",
                            file.string()));
}

json facts_json(const CheckedKernel& kernel) {
  return {{"architecture", kernel.architecture},
          {"kernel", kernel.kernel},
          {"signature", kernel.signature},
          {"registers_per_thread", kernel.registers_per_thread},
          {"spill_store_bytes", kernel.spill_store_bytes},
          {"spill_load_bytes", kernel.spill_load_bytes},
          {"stack_frame_bytes", kernel.stack_frame_bytes},
          {"static_shared_bytes", kernel.static_shared_bytes}};
}

int count_from(const json& entry, const char* key) {
  const auto value = entry.at(key).get<std::int64_t>();
  if (!entry.at(key).is_number_integer() || value < 0 || value > 1 << 30)
    throw Error(ErrorKind::bad_description, fmt::format("{} is {}, which no kernel has", key, entry.at(key).dump()));
  return static_cast<int>(value);
}

CheckedKernel kernel_from(const json& entry) {
  CheckedKernel kernel;
  kernel.architecture = entry.at("architecture").get<std::string>();
  kernel.kernel = entry.at("kernel").get<std::string>();
  kernel.signature = entry.at("signature").get<std::string>();
  kernel.registers_per_thread = count_from(entry, "registers_per_thread");
  kernel.spill_store_bytes = count_from(entry, "spill_store_bytes");
  kernel.spill_load_bytes = count_from(entry, "spill_load_bytes");
  kernel.stack_frame_bytes = count_from(entry, "stack_frame_bytes");
  kernel.static_shared_bytes = count_from(entry, "static_shared_bytes");
  return kernel;
}

const CheckedKernel* find(const std::vector<CheckedKernel>& kernels, const CheckedKernel& like) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const CheckedKernel& kernel) {
    return kernel.kernel == like.kernel && kernel.architecture == like.architecture;
  });
  return found == kernels.end() ? nullptr : &*found;
}

std::vector<KernelSignature> kernels_meant(const Cubin& cubin, const Source& source, const CompiledCode& code,
                                           const std::optional<std::string>& wanted) {
  if (!wanted || is_kernel_pattern(*wanted)) return kernels_matching(cubin, source, wanted.value_or("all"));
  const bool is_template = wanted->find('<') != std::string::npos && !code.lowered_names.empty();
  return {
      choose_kernel(cubin, source.text, source.path.string(), wanted, is_template ? code.lowered_names.front() : "")};
}

CheckedKernel checked_kernel(const CompileUnit& unit, const CompiledCode& code, const CubinKernel& kernel,
                             const KernelSignature& signature, const LaunchDescription& description,
                             const GpuLimits& limits) {
  const PtxasReport report = read_ptxas_report(code.log);
  const std::optional<int> cap = unit.author_cap == 0 ? std::nullopt : std::optional(unit.author_cap);
  const StaticFacts facts = static_facts(kernel, report.find(kernel.name), AuthorsOwn{}, limits, cap);
  const LaunchShape shape = study_shape(description, {study_blocks(description, facts).front()});
  const BlockResources resources{facts.registers_per_thread, facts.static_shared_bytes, shape.dynamic_shared_bytes,
                                 facts.max_threads_per_block, facts.required_threads_per_block};
  CheckedKernel checked{unit.architecture,
                        kernel.name,
                        signature.display,
                        facts.registers_per_thread,
                        facts.spill_store_bytes,
                        facts.spill_load_bytes,
                        facts.stack_frame_bytes,
                        facts.static_shared_bytes,
                        shape.block,
                        {},
                        why_not_launchable(limits, resources, shape.block).value_or("")};
  if (checked.why_not_launchable.empty()) checked.occupancy = occupancy(limits, resources, shape.block);
  return checked;
}

void append(CheckFindings& to, CheckFindings from) {
  std::move(from.breaches.begin(), from.breaches.end(), std::back_inserter(to.breaches));
  std::move(from.notes.begin(), from.notes.end(), std::back_inserter(to.notes));
}

// The author's own code for each architecture, side by side; by nvcc, one after the other, where NVRTC refuses it.
struct CheckedCode {
  CompileUnit unit;
  CompiledCode code;
};

Error not_compiled(const CompileUnit& unit, const CompiledCode& code, CompilePool& pool) {
  return Error(
      ErrorKind::source_not_compiled,
      fmt::format(
          "{}: {} does not compile it for {}; mend the lines below, or give your build's options behind --:\n{}",
          unit.source.path.string(), pool.identity(unit.front_end).name, unit.architecture, code.failure));
}

CheckedCode compile_by_nvcc_instead(const CompilationRequest& request, const Error& refusal, CompilePool& pool,
                                    Progress& progress) {
  CompileUnit unit = unit_for_nvcc_instead(request, refusal, pool, progress);
  CompiledCode code = pool.prepare({0, request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), {}, true});
  if (!code.compiled) throw refused_by_both(refusal, not_compiled(unit, code, pool));
  return {std::move(unit), std::move(code)};
}

std::vector<CheckedCode> compile_all(const std::vector<CompilationRequest>& requests, CompilePool& pool,
                                     Progress& progress) {
  std::vector<CheckedCode> all(requests.size());
  std::vector<std::optional<Error>> refusals(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    try {
      all[i].unit = unit_to_compile(requests[i], pool);
      pool.submit({static_cast<int>(i), request_for(all[i].unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), {}, false});
    } catch (const Error& refusal) {
      refusals[i] = refusal;
    }
  }
  while (std::optional<CompiledCode> code = pool.next()) {
    const auto i = static_cast<std::size_t>(code->id);
    all.at(i).code = std::move(*code);
    if (!all[i].code.compiled) refusals[i] = not_compiled(all[i].unit, all[i].code, pool);
  }
  for (std::size_t i = 0; i < requests.size(); ++i)
    if (refusals[i]) all[i] = compile_by_nvcc_instead(requests[i], *refusals[i], pool, progress);
  return all;
}

std::vector<CheckedKernel> compile_and_read(const CheckRequest& request, const std::optional<std::string>& pattern,
                                            CompilePool& pool, std::string& compiler, Progress& progress) {
  const Source source = read_source(request.source);
  const LaunchDescription description = launch_description(source, request.flags);
  const std::vector<std::string> architectures =
      architectures_meant(request.architectures, request.device, pool.identity());
  progress.stage(fmt::format("compiling for {}", fmt::join(architectures, ", ")));
  std::vector<CompilationRequest> requests;
  for (const std::string& architecture : architectures)
    requests.push_back({source, description, architecture, request.compiler.only});

  const std::optional<std::string> wanted = pattern ? pattern : request.flags.kernel;
  std::vector<CheckedKernel> checked;
  for (const auto& [unit, code] : compile_all(requests, pool, progress)) {
    compiler = pool.identity(unit.front_end).name;
    const Cubin cubin = read_cubin(code.cubin);
    const GpuLimits limits = limits_of_target(unit.architecture, pool.identity());
    const Source compiled{source.path, compiled_text(unit)};
    for (const KernelSignature& signature : kernels_meant(cubin, compiled, code, wanted))
      checked.push_back(checked_kernel(unit, code, *find_kernel(cubin, signature.mangled_name), signature,
                                       description_for(description, request.flags, signature), limits));
  }
  return checked;
}

}  // namespace

CheckFindings compare_with_limits(const std::vector<CheckedKernel>& kernels, const CheckLimits& limits) {
  CheckFindings findings;
  const auto breach = [&](const CheckedKernel& kernel, const std::string& what) {
    findings.breaches.push_back(name_of(kernel) + ": " + what);
  };
  for (const CheckedKernel& kernel : kernels) {
    if (limits.max_spill_bytes && spill_bytes(kernel) > *limits.max_spill_bytes)
      breach(kernel,
             fmt::format("spills {} bytes ({} stored, {} loaded per thread), and {} are allowed", spill_bytes(kernel),
                         kernel.spill_store_bytes, kernel.spill_load_bytes, *limits.max_spill_bytes));
    if (limits.max_registers && kernel.registers_per_thread > *limits.max_registers)
      breach(kernel,
             fmt::format("takes {} registers, and {} are allowed", kernel.registers_per_thread, *limits.max_registers));
    if (limits.max_stack_bytes && kernel.stack_frame_bytes > *limits.max_stack_bytes)
      breach(kernel, fmt::format("has a stack frame of {} bytes, and {} are allowed", kernel.stack_frame_bytes,
                                 *limits.max_stack_bytes));
    if (!limits.min_occupancy) continue;
    if (!kernel.occupancy)
      breach(kernel, "cannot be launched: " + kernel.why_not_launchable);
    else if (kernel.occupancy->fraction < *limits.min_occupancy)
      breach(kernel, fmt::format("has an occupancy of {:.3f} with blocks of {} threads, limited by {}, and {} is asked "
                                 "for",
                                 kernel.occupancy->fraction, kernel.block.volume(),
                                 to_string(kernel.occupancy->limiter), *limits.min_occupancy));
  }
  return findings;
}

CheckFindings compare_with_baseline(const std::vector<CheckedKernel>& kernels, const std::string& compiler,
                                    const Baseline& baseline) {
  CheckFindings findings;
  const std::string compilers =
      compiler == baseline.compiler ? "" : fmt::format(" ({} then, {} now)", baseline.compiler, compiler);
  for (const CheckedKernel& kernel : kernels) {
    const CheckedKernel* before = find(baseline.kernels, kernel);
    if (!before) {
      findings.notes.push_back(fmt::format("{}: not in the baseline: add it with --write-baseline", name_of(kernel)));
      continue;
    }
    const auto compare = [&](const char* what, std::int64_t then, std::int64_t now) {
      if (now > then)
        findings.breaches.push_back(
            fmt::format("{}: {}: {}, and {} in the baseline{}", name_of(kernel), what, now, then, compilers));
      if (now < then)
        findings.notes.push_back(
            fmt::format("{}: {}: {}, and {} in the baseline{}: improved, refresh it with "
                        "--write-baseline",
                        name_of(kernel), what, now, then, compilers));
    };
    compare("registers", before->registers_per_thread, kernel.registers_per_thread);
    compare("spill bytes", spill_bytes(*before), spill_bytes(kernel));
    compare("stack bytes", before->stack_frame_bytes, kernel.stack_frame_bytes);
    compare("static shared bytes", before->static_shared_bytes, kernel.static_shared_bytes);
  }
  return findings;
}

json baseline_json(const std::vector<CheckedKernel>& kernels, const std::string& compiler) {
  json entries = json::array();
  for (const CheckedKernel& kernel : kernels) entries.push_back(facts_json(kernel));
  return {{"regtune_baseline", kBaselineFormat}, {"compiler", compiler}, {"kernels", std::move(entries)}};
}

Baseline baseline_from_text(const std::string& text, const std::string& file) {
  try {
    const json document = json::parse(text);
    if (document.at("regtune_baseline") != kBaselineFormat)
      throw Error(ErrorKind::bad_description,
                  fmt::format("format {} is not known", document.at("regtune_baseline").dump()));
    Baseline baseline;
    baseline.compiler = document.at("compiler").get<std::string>();
    for (const json& entry : document.at("kernels")) baseline.kernels.push_back(kernel_from(entry));
    return baseline;
  } catch (const std::exception& broken) {  // of the JSON library or ours
    throw Error(ErrorKind::bad_description,
                fmt::format("--baseline {}: not a baseline: {}; --write-baseline writes one", file, broken.what()));
  }
}

CheckResult check(CheckRequest request, Progress& progress) {
  // A broken baseline is better known before the work than after.
  std::optional<Baseline> baseline;
  if (request.baseline) baseline = baseline_from_text(read_text(*request.baseline), request.baseline->string());
  const std::optional<std::string> pattern = take_kernel_pattern(request.flags);
  CompilePool pool(request.jobs, request.compile_limit_s, request.compiler.nvcc_file);
  CheckResult result;
  result.source = request.source.string();
  result.kernels = compile_and_read(request, pattern, pool, result.compiler, progress);
  result.findings = compare_with_limits(result.kernels, request.limits);
  if (baseline) append(result.findings, compare_with_baseline(result.kernels, result.compiler, *baseline));
  if (request.write_baseline && result.findings.breaches.empty())
    write_text(*request.write_baseline, baseline_json(result.kernels, result.compiler).dump(2));
  return result;
}

json check_json(const CheckResult& result) {
  json kernels = json::array();
  for (const CheckedKernel& kernel : result.kernels) {
    json entry = facts_json(kernel);
    entry["block_threads"] = kernel.block.volume();
    entry["occupancy"] = kernel.occupancy ? json(kernel.occupancy->fraction) : json();
    entry["limiter"] = kernel.occupancy ? json(to_string(kernel.occupancy->limiter)) : json();
    kernels.push_back(std::move(entry));
  }
  return {{"passed", result.findings.breaches.empty()},
          {"source", result.source},
          {"compiler", result.compiler},
          {"kernels", std::move(kernels)},
          {"breaches", result.findings.breaches},
          {"notes", result.findings.notes}};
}

}  // namespace regtune
