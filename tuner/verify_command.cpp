#include "verify_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "captured_text.hpp"
#include "compile.hpp"
#include "decide.hpp"
#include "device.hpp"
#include "device_text.hpp"
#include "instances.hpp"
#include "kept_codes.hpp"
#include "key.hpp"
#include "lookup_command.hpp"
#include "measure_json.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "report.hpp"
#include "source.hpp"
#include "source_choices.hpp"
#include "study_scope.hpp"
#include "sweep.hpp"
#include "timing_text.hpp"
#include "toml_description.hpp"
#include "tuning_plan.hpp"
#include "workload.hpp"

namespace regtune {
namespace {

constexpr double kCompileLimitS = 600;

const Trial& trial_of(const TuningRecord& record, int id) {
  return record.trials.at(static_cast<std::size_t>(id));
}

Source source_of(const TuningRecord& record) {
  try {
    return read_source(record.source_path);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}; that is how the source was named when it was tuned: run verify in the "
                                          "same folder",
                                          error.what()));
  }
}

// The launch that was tuned, as it was stored with the run: flags and guesses are in it.
LaunchDescription description_of(const TuningRecord& record, const Source& source) {
  if (record.description.empty())
    throw Error(ErrorKind::bad_description, fmt::format("{}: the run of {} holds no launch description; tune it again",
                                                        record.source_path, record.started));
  LaunchDescription stored =
      description_from_toml(record.description, "the launch description of " + record.started, 0);
  stored.base_folder = record.description_folder;
  stored.seed = record.settings.seed;
  stored.options = record.options;  // those of nvcc alone are there too
  return launch_description(source, std::move(stored));
}

// A launch that was caught in a program cannot be made without it.
void require_described_launch(const TuningRecord& record) {
  if (const std::optional<CapturedFacts> captured = captured_facts(record.description))
    throw Error(ErrorKind::bad_description,
                fmt::format("{} was tuned inside {}, without which its launch cannot be made; tune it there again, "
                            "by regtune run",
                            record.signature, captured->program));
}

void require_same_source(const TuningRecord& record, const CompileUnit& unit) {
  if (source_hash(unit) == record.source_hash) return;
  throw Error(ErrorKind::claim_not_held,
              fmt::format("{}: the source, or a file that it includes, has changed since {}: what is stored is not "
                          "about this text. Tune it again",
                          record.source_path, record.started));
}

void require_same_launch(const TuningRecord& record, const KernelSignature& signature, const WorkloadPlan& plan) {
  const auto refuse = [](const std::string& what, const std::string& then, const std::string& now) {
    throw Error(ErrorKind::bad_description,
                fmt::format("the launch is not the one that was tuned: {} was '{}' and is '{}' now; tune it again",
                            what, then, now));
  };
  if (signature.mangled_name != record.kernel) refuse("the kernel", record.signature, signature.display);
  const std::vector<std::string> now = describe_arguments(plan, signature);
  for (std::size_t i = 0; i < std::max(now.size(), record.arguments.size()); ++i) {
    const std::string then_line = i < record.arguments.size() ? record.arguments[i] : "";
    const std::string now_line = i < now.size() ? now[i] : "";
    if (then_line != now_line) refuse("an argument", then_line, now_line);
  }
  const LaunchShape& then = record.author_shape;
  const LaunchShape& shape = plan.shapes.front();
  if (!(then.grid == shape.grid)) refuse("the grid", spell_block(then.grid), spell_block(shape.grid));
  if (then.dynamic_shared_bytes != shape.dynamic_shared_bytes)
    refuse("the shared memory", std::to_string(then.dynamic_shared_bytes), std::to_string(shape.dynamic_shared_bytes));
}

// The codes of these variants, compiled now.
std::vector<Candidate> candidates_of(const TuningRecord& record, const std::vector<int>& ids, Sweep& sweep,
                                     const CompileUnit& unit, const SourceChoices& choices,
                                     const KernelSignature& signature, Progress& progress) {
  std::vector<Build> builds;
  const auto build_of = [&](int id) {
    const Variant& variant = trial_of(record, id).variant;
    return Build{variant.policy, variant.choice};
  };
  for (const int id : ids)
    if (std::find(builds.begin(), builds.end(), build_of(id)) == builds.end()) builds.push_back(build_of(id));
  sweep.begin(record.kernel, unqualified_name(signature), record.gpu->limits, {});
  name_instances(sweep, unit, choices, signature, progress);
  sweep.add(builds);
  std::vector<BuildCode> codes;
  while (std::optional<BuildCode> code = sweep.next()) codes.push_back(std::move(*code));
  std::vector<Candidate> candidates;
  for (const int id : ids) {
    const auto code =
        std::find_if(codes.begin(), codes.end(), [&](const BuildCode& c) { return c.build == build_of(id); });
    const Trial& trial = trial_of(record, id);
    const std::string budget = spell_choice(record, id);
    if (code == codes.end() || !code->facts)
      throw Error(ErrorKind::claim_not_held, fmt::format("{} no longer compiles; tune it again: {}", budget,
                                                         code == codes.end() ? "nothing came of it" : code->failure));
    if (trial.facts && code->facts->code_hash != trial.facts->code_hash)
      progress.note(
          fmt::format("regtune: {} is other machine code now than what was timed then ({})", budget, record.compiler));
    candidates.push_back({id, code->kernel, code->cubin, trial.shape});
  }
  return candidates;
}

const char* spell(Finding::Says says) {
  switch (says) {
    case Finding::Says::holds:
      return "holds";
    case Finding::Says::fails:
      return "does not hold";
    case Finding::Says::unresolved:
      break;
  }
  return "cannot be told";
}

}  // namespace

bool Verification::holds() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.says == Finding::Says::holds; });
}

Verification verify(const VerifyRequest& request, Progress& progress) {
  LookupAnswer answer = look_up({request.kernel, request.sizes, {}, request.cache, request.device, true});
  if (!answer.record) return {{}, answer.miss, {}, {}};
  Device device(request.device);
  if (!device.state())
    throw Error(ErrorKind::gpu_failed,
                "verify measures, and there is no GPU here; run it where one is: " + device.why_not());
  Verification verification{std::move(answer.record), "", {}, {}};
  const TuningRecord& record = *verification.stored;
  require_described_launch(record);
  const Source source = source_of(record);
  LaunchDescription description = description_of(record, source);
  CompilePool pool(request.jobs, kCompileLimitS);
  const FrontEnd front_end = front_end_of(record.compiler);
  const CompileUnit as_written = compile_unit(source, description, record.architecture, pool.identity(front_end));
  require_same_source(record, as_written);
  const std::vector<Claim> claims = claims_of(record);
  if (claims.empty()) return verification;  // nothing but the author's code was ever near
  const CompileUnit unit = front_end == FrontEnd::nvrtc ? unit_for_device(as_written, description, pool) : as_written;
  progress.stage("compiling");
  KeptCodes nothing_kept(nullptr, unit, pool.identity(front_end));
  Sweep sweep(pool, unit, nothing_kept);
  const CompiledCode& first = sweep.first();
  const KernelSignature signature = described_kernel(unit, description, first);
  description = described_launch(std::move(description), unit, pool, signature, record.gpu->memory_bytes).description;
  const SourceChoices choices = source_choices(description, unit, described_blocks(description));
  const WorkloadPlan plan = plan_workload(description, signature, choices.launches);
  require_same_launch(record, signature, plan);
  const CompiledCode device_code = compile_device_code(pool, plan, record.architecture);

  std::vector<int> ids{record.verdict->reference_id};
  for (const Claim& claim : claims) ids.push_back(claim.variant_id);
  std::vector<Candidate> candidates = candidates_of(record, ids, sweep, unit, choices, signature, progress);
  const Candidate reference = candidates.front();
  candidates.erase(candidates.begin());
  device.prepare(plan, device_code, record.settings.timeout_ms, record.settings.never_restore);
  progress.stage(fmt::format("measuring again, {:g} s of GPU time at the most", request.budget_s));
  RefereeSettings settings;
  settings.confidence = record.settings.confidence;
  settings.margin = record.settings.margin;
  settings.budget_s = request.budget_s;
  settings.cold = record.settings.cold;
  Findings findings = referee(device, reference, claims, candidates, settings, record.settings.seed);
  verification.findings = std::move(findings.of_claims);
  verification.clocks = std::move(findings.clocks);
  return verification;
}

std::string verification_text(const Verification& verification) {
  const TuningRecord& record = *verification.stored;
  std::string text = answer_text(record);
  for (const Finding& finding : verification.findings)
    text += fmt::format("measured again, {} rounds: {}: {}: {}\n", finding.rounds,
                        spell_choice(record, finding.claim.variant_id), spell(finding.says), finding.reason);
  if (verification.clocks) text += clocks_text(*verification.clocks) + "\n";
  if (verification.findings.empty())
    text += "nothing to measure again: the author's code was the only one that was confirmed\n";
  text += verification.holds() ? "the stored answer holds\n" : "the stored answer is not confirmed: tune again\n";
  return text;
}

nlohmann::json verification_json(const Verification& verification) {
  const TuningRecord& record = *verification.stored;
  const auto interval = [](const Interval& i) -> nlohmann::json {
    return {{"low", i.low}, {"median", i.median}, {"high", i.high}};
  };
  nlohmann::json json{{"kernel", record.kernel},
                      {"measured", record.started},
                      {"holds", verification.holds()},
                      {"claims", nlohmann::json::array()}};
  for (const Finding& finding : verification.findings)
    json["claims"].push_back({{"variant", finding.claim.variant_id},
                              {"budget", spell_choice(record, finding.claim.variant_id)},
                              {"gains", finding.claim.gains},
                              {"stored", interval(finding.claim.speedup)},
                              {"now", interval(finding.speedup)},
                              {"rounds", finding.rounds},
                              {"finding", spell(finding.says)},
                              {"reason", finding.reason}});
  if (verification.clocks) json["clocks"] = clocks_json(*verification.clocks);
  return json;
}

}  // namespace regtune
