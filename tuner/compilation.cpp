#include "compilation.hpp"

#include <fmt/format.h>

#include "device_text.hpp"
#include "ptx_text.hpp"

namespace regtune {
namespace {

// The first line that tells an error, without what stands before it in its report.
std::string reason_of(const Error& refusal) {
  const std::string text = refusal.what();
  const std::vector<Complaint> complaints = complaints_in(text);
  if (complaints.empty()) return text.substr(0, text.find('\n'));
  return fmt::format("{}({}): {}", complaints.front().file, complaints.front().line, complaints.front().text);
}

Compilation begin(CompileUnit unit, const SweepSettings& settings, Store* store, CompilePool& pool) {
  Compilation compilation{std::move(unit), nullptr, nullptr};
  compilation.kept = std::make_unique<KeptCodes>(store, compilation.unit, pool.identity(compilation.unit.front_end));
  compilation.sweep =
      std::make_unique<Sweep>(pool, compilation.unit, *compilation.kept, CompileBudget(settings.budget_s));
  if (settings.every_cap) compilation.sweep->compile_every_cap();
  compilation.sweep->first();
  return compilation;
}

}  // namespace

FrontEnd first_front_end(const Source& source, const std::optional<FrontEnd>& only) {
  if (!is_ptx(source.text)) return only.value_or(FrontEnd::nvrtc);
  if (only)
    throw Error(ErrorKind::usage, fmt::format("{} is PTX, which ptxas alone compiles; leave out --compiler {}",
                                              source.path.string(), *only == FrontEnd::nvcc ? "nvcc" : "nvrtc"));
  return FrontEnd::ptxas;
}

CompileUnit unit_to_compile(const CompilationRequest& request, CompilePool& pool) {
  const FrontEnd front_end = first_front_end(request.source, request.only);
  CompileUnit unit = compile_unit(request.source, request.description, request.architecture, pool.identity(front_end));
  return front_end == FrontEnd::nvrtc ? unit_for_device(std::move(unit), request.description, pool) : unit;
}

CompileUnit unit_for_nvcc_instead(const CompilationRequest& request, const Error& refusal, CompilePool& pool,
                                  Progress& progress) {
  const bool is_for_nvcc =
      refusal.kind() == ErrorKind::source_not_compiled && !request.only && !is_ptx(request.source.text);
  if (!is_for_nvcc || !pool.nvcc()) throw refusal;
  const CompilerIdentity& nvcc = pool.identity(FrontEnd::nvcc);
  CompileUnit unit = compile_unit(request.source, request.description, request.architecture, nvcc);
  unit.source_notes.push_back(
      fmt::format("NVRTC does not take this file, so {} compiles it: {}", nvcc.name, reason_of(refusal)));
  progress.note("regtune: " + unit.source_notes.back());
  return unit;
}

Error refused_by_both(const Error& by_nvrtc, const Error& by_nvcc) {
  return Error(ErrorKind::source_not_compiled, fmt::format("{}\n{}", by_nvrtc.what(), by_nvcc.what()));
}

Compilation begin_compilation(const CompilationRequest& request, const SweepSettings& settings, Store* store,
                              CompilePool& pool, Progress& progress) {
  std::optional<Error> refused;
  try {
    return begin(unit_to_compile(request, pool), settings, store, pool);
  } catch (const Error& refusal) {
    refused = refusal;
  }
  CompileUnit unit = unit_for_nvcc_instead(request, *refused, pool, progress);
  try {
    return begin(std::move(unit), settings, store, pool);
  } catch (const Error& by_nvcc) {
    if (by_nvcc.kind() != ErrorKind::source_not_compiled) throw;
    throw refused_by_both(*refused, by_nvcc);
  }
}

}  // namespace regtune
