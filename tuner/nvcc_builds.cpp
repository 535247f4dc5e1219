#include "nvcc_builds.hpp"

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

std::string first_error(const std::string& log) {
  const std::size_t at = log.find("error");
  const std::size_t begin = at == std::string::npos ? 0 : log.rfind('\n', at) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
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

NvccBuilds::NvccBuilds(const CompilationRequest& request, const TuningRecord& record, Store* store, CompilePool& pool)
    : pool_(pool),
      unit_(compile_unit(request.source, request.description, request.architecture, pool.identity(FrontEnd::nvcc))),
      kept_(store, unit_, pool.identity(FrontEnd::nvcc)),
      kernel_(record.kernel),
      signature_(record.signature),
      limits_(record.gpu.value().limits) {
  unit_.kernel_name = bare_kernel_name(record.signature);
}

void NvccBuilds::begin(const std::vector<Build>& builds) {
  for (const Build& build : builds) {
    if (std::any_of(begun_.begin(), begun_.end(), [&](const Begun& begun) { return begun.build == build; })) continue;
    begun_.push_back({build, kept_.find(Way::plain, kernel_, build)});
    if (begun_.back().code) continue;
    CompileJob job{static_cast<int>(begun_.size()) - 1, request_for(unit_, build, NvrtcOutput::cubin, ""), {}, false};
    job.asker = Asker::nvcc_builds;
    pool_.submit_next(std::move(job));  // it takes as long as many links
  }
  pool_.feed();
}

const BuildCode& NvccBuilds::code_of(const Build& build) {
  begin({build});
  const auto begun =
      std::find_if(begun_.begin(), begun_.end(), [&](const Begun& candidate) { return candidate.build == build; });
  while (!begun->code) {
    const CompiledCode compiled = pool_.next({}, Asker::nvcc_builds).value();
    Begun& done = begun_.at(static_cast<std::size_t>(compiled.id));
    done.code = read_back(done.build, compiled);
    kept_.keep(Way::plain, kernel_, *done.code);
  }
  return *begun->code;
}

NvccCodes NvccBuilds::finish(const TuningRecord& record) {
  NvccCodes result{{pool_.identity(FrontEnd::nvcc).name, {}}, {}};
  const std::vector<int> ids = wanted_trials(record);
  std::vector<Build> builds;
  for (const int id : ids) builds.push_back(build_of(record, id));
  begin(builds);  // side by side
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const BuildCode& built = code_of(builds[i]);
    NvccCode& code = result.comparison.codes.emplace_back();
    code.variant_id = ids[i];
    if (!built.facts) {
      code.failure = first_error(built.failure);
      continue;
    }
    code.registers_per_thread = built.facts->registers_per_thread;
    code.spill_store_bytes = built.facts->spill_store_bytes;
    code.spill_load_bytes = built.facts->spill_load_bytes;
    result.candidates.push_back({candidate_id(record, ids[i]), built.kernel, built.cubin,
                                 record.trials.at(static_cast<std::size_t>(ids[i])).shape});
  }
  return result;
}

// The kernel of the record in nvcc's code, whose types can be spelled otherwise: unsigned long for unsigned long long.
const CubinKernel* NvccBuilds::same_kernel(const Cubin& cubin, const CompiledCode& code) const {
  if (!code.lowered_names.empty()) return find_kernel(cubin, code.lowered_names.front());
  if (const CubinKernel* found = find_kernel(cubin, kernel_)) return found;
  const std::string full = signature_.substr(0, signature_.find('('));
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

BuildCode NvccBuilds::read_back(const Build& build, const CompiledCode& code) const {
  BuildCode read{build, kernel_, code.cubin, code.log, {}, code.failure};
  if (!code.compiled) return read;
  try {
    const Cubin cubin = read_cubin(code.cubin);
    const CubinKernel* kernel = same_kernel(cubin, code);
    if (!kernel) {
      read.failure = "its code holds no kernel of that name";
      return read;
    }
    std::optional<int> cap;
    if (std::holds_alternative<AuthorsOwn>(build.policy) && unit_.author_cap != 0) cap = unit_.author_cap;
    const PtxasReport report = read_ptxas_report(code.log);
    read.kernel = kernel->name;
    read.facts = static_facts(*kernel, report.find(kernel->name), build.policy, limits_, cap);
  } catch (const Error& unreadable) {
    read.failure = unreadable.what();
  }
  return read;
}

void confirm_by_nvcc(Bench& bench, const TuningRecord& record, double budget_s, NvccCodes& codes) {
  if (!record.verdict) return;
  const auto candidate_of = [&](int id) {
    return std::find_if(codes.candidates.begin(), codes.candidates.end(),
                        [&](const Candidate& candidate) { return candidate.id == candidate_id(record, id); });
  };
  const auto reference = candidate_of(record.verdict->reference_id);
  std::vector<Claim> claims;
  std::vector<Candidate> candidates;
  for (const NvccCode& code : codes.comparison.codes) {
    const auto candidate = candidate_of(code.variant_id);
    if (code.variant_id == record.verdict->reference_id || candidate == codes.candidates.end() ||
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
  if (claims.empty() || reference == codes.candidates.end()) return;
  RefereeSettings settings;
  settings.confidence = record.settings.confidence;
  settings.margin = record.settings.margin;
  settings.budget_s = budget_s;
  settings.cold = record.settings.cold;
  const auto told = [&](int id) -> NvccCode& {
    return *std::find_if(codes.comparison.codes.begin(), codes.comparison.codes.end(),
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
