#include "nvcc_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernel_choice.hpp"
#include "key.hpp"
#include "ptxas_report.hpp"
#include "referee.hpp"
#include "signature.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

// The author's code and what is recommended under the kernel's own name, each once.
std::vector<int> wanted_trials(const TuningRecord& record) {
  std::vector<int> ids{0};
  if (!record.verdict) return ids;
  for (const int id : {record.verdict->reference_id, record.verdict->best_id, record.verdict->best_in_source_id})
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  return ids;
}

// A bench knows a code by its id, and those of NVRTC's codes are taken.
int candidate_id(const TuningRecord& record, int variant_id) {
  return static_cast<int>(record.trials.size()) + variant_id;
}

Build build_of(const TuningRecord& record, int id) {
  const Variant& variant = record.trials.at(static_cast<std::size_t>(id)).variant;
  return {variant.policy, variant.choice};
}

// The kernel of the record in nvcc's code, whose types can be spelled otherwise: unsigned long for unsigned long long.
const CubinKernel* same_kernel(const Cubin& cubin, const CompiledCode& code, const TuningRecord& record) {
  if (!code.lowered_names.empty()) return find_kernel(cubin, code.lowered_names.front());
  if (const CubinKernel* found = find_kernel(cubin, record.kernel)) return found;
  const std::string full = record.signature.substr(0, record.signature.find('('));
  const std::string bare = full.substr(0, full.find('<'));
  for (const bool with_arguments : {true, false}) {
    std::vector<const CubinKernel*> alike;
    for (const CubinKernel& kernel : cubin.kernels) {
      const std::string name = kernel_signature(kernel, "").name;
      if (with_arguments ? name == full : name.substr(0, name.find('<')) == bare) alike.push_back(&kernel);
    }
    if (alike.size() == 1) return alike.front();
  }
  return nullptr;
}

BuildCode read_back(const CompileUnit& unit, const Build& build, const CompiledCode& code, const TuningRecord& record) {
  BuildCode read{build, record.kernel, code.cubin, code.log, {}, code.failure};
  if (!code.compiled) return read;
  try {
    const Cubin cubin = read_cubin(code.cubin);
    const CubinKernel* kernel = same_kernel(cubin, code, record);
    if (!kernel) {
      read.failure = "its code holds no kernel of that name";
      return read;
    }
    std::optional<int> cap;
    if (std::holds_alternative<AuthorsOwn>(build.policy) && unit.author_cap != 0) cap = unit.author_cap;
    const PtxasReport report = read_ptxas_report(code.log);
    read.kernel = kernel->name;
    read.facts = static_facts(*kernel, report.find(kernel->name), build.policy, record.gpu->limits, cap);
  } catch (const Error& unreadable) {
    read.failure = unreadable.what();
  }
  return read;
}

std::string first_error(const std::string& log) {
  const std::size_t at = log.find("error");
  const std::size_t begin = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

std::vector<BuildCode> compile_builds(const CompileUnit& unit, const std::vector<Build>& builds, KeptCodes& kept,
                                      const TuningRecord& record, CompilePool& pool) {
  std::vector<BuildCode> codes(builds.size());
  for (std::size_t i = 0; i < builds.size(); ++i) {
    if (std::optional<BuildCode> known = kept.find(Way::plain, record.kernel, builds[i]))
      codes[i] = std::move(*known);
    else
      pool.submit({static_cast<int>(i), request_for(unit, builds[i], NvrtcOutput::cubin, ""), {}, false});
  }
  while (const std::optional<CompiledCode> compiled = pool.next()) {
    const auto i = static_cast<std::size_t>(compiled->id);
    codes.at(i) = read_back(unit, builds[i], *compiled, record);
    kept.keep(Way::plain, record.kernel, codes[i]);
  }
  return codes;
}

const char* spell(Finding::Says says) {
  switch (says) {
    case Finding::Says::holds:
      return "the gain holds";
    case Finding::Says::fails:
      return "the gain does not hold";
    case Finding::Says::unresolved:
      break;
  }
  return "whether it gains cannot be told";
}

}  // namespace

std::optional<NvccBuilds> compile_by_nvcc(const CompilationRequest& request, const TuningRecord& record, Store* store,
                                          CompilePool& pool) {
  if (!pool.nvcc()) return {};
  const CompilerIdentity& nvcc = pool.identity(FrontEnd::nvcc);
  CompileUnit unit = compile_unit(request.source, request.description, request.architecture, nvcc);
  unit.kernel_name = bare_kernel_name(record.signature);
  KeptCodes kept(store, unit, nvcc);
  const std::vector<int> ids = wanted_trials(record);
  std::vector<Build> builds;
  for (const int id : ids) builds.push_back(build_of(record, id));
  const std::vector<BuildCode> codes = compile_builds(unit, builds, kept, record, pool);
  NvccBuilds result{{nvcc.name, {}}, {}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    NvccCode& code = result.comparison.codes.emplace_back();
    code.variant_id = ids[i];
    if (!codes[i].facts) {
      code.failure = first_error(codes[i].failure);
      continue;
    }
    code.registers_per_thread = codes[i].facts->registers_per_thread;
    code.spill_store_bytes = codes[i].facts->spill_store_bytes;
    code.spill_load_bytes = codes[i].facts->spill_load_bytes;
    result.candidates.push_back({candidate_id(record, ids[i]), codes[i].kernel, codes[i].cubin,
                                 record.trials.at(static_cast<std::size_t>(ids[i])).shape});
  }
  return result;
}

void confirm_by_nvcc(Bench& bench, const TuningRecord& record, double budget_s, NvccBuilds& builds) {
  if (!record.verdict) return;
  const auto candidate_of = [&](int id) {
    return std::find_if(builds.candidates.begin(), builds.candidates.end(),
                        [&](const Candidate& candidate) { return candidate.id == candidate_id(record, id); });
  };
  const auto reference = candidate_of(record.verdict->reference_id);
  std::vector<Claim> claims;
  std::vector<Candidate> candidates;
  for (const NvccCode& code : builds.comparison.codes) {
    const auto candidate = candidate_of(code.variant_id);
    if (code.variant_id == record.verdict->reference_id || candidate == builds.candidates.end() ||
        record.verdict->kind != Verdict::Kind::improved)
      continue;
    const bool is_best = code.variant_id == record.verdict->best_id;
    if (!is_best && code.variant_id != record.verdict->best_in_source_id) continue;
    // That it gains by more than the margin; how much it gained under NVRTC is no claim about nvcc. The referee grants
    // a stored gain the margin, so what comes out as 1 + margin is asked for.
    const double least = (1 + record.settings.margin) / (1 - record.settings.margin);
    claims.push_back({code.variant_id, true, {least, least, least}});
    candidates.push_back(*candidate);
  }
  if (claims.empty() || reference == builds.candidates.end()) return;
  RefereeSettings settings;
  settings.confidence = record.settings.confidence;
  settings.margin = record.settings.margin;
  settings.budget_s = budget_s;
  settings.cold = record.settings.cold;
  const auto told = [&](int id) -> NvccCode& {
    return *std::find_if(builds.comparison.codes.begin(), builds.comparison.codes.end(),
                         [&](const NvccCode& code) { return code.variant_id == id; });
  };
  try {
    const Findings findings = referee(bench, *reference, claims, candidates, settings, record.settings.seed);
    for (const Finding& finding : findings.of_claims) {
      NvccCode& code = told(finding.claim.variant_id);
      code.speedup = finding.speedup;
      code.rounds = finding.rounds;
      code.finding = finding.rounds == 0 ? fmt::format("{}: {}", spell(finding.says), finding.reason)
                                         : fmt::format("{} ({:.3f}x, {:.3f} to {:.3f}, in {} rounds)",
                                                       spell(finding.says), finding.speedup.median, finding.speedup.low,
                                                       finding.speedup.high, finding.rounds);
    }
  } catch (const Error& failure) {
    // What was found out under NVRTC stands.
    for (const Claim& claim : claims) told(claim.variant_id).finding = std::string("not timed: ") + failure.what();
  }
}

}  // namespace regtune
