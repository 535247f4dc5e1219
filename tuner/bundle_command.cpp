#include "bundle_command.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "bundle.hpp"
#include "device.hpp"
#include "instances.hpp"
#include "regtune/error.hpp"
#include "report.hpp"
#include "source.hpp"
#include "study_scope.hpp"
#include "tuning_plan.hpp"

namespace regtune {
namespace {

std::vector<BuildCode> collect(Sweep& sweep, const std::string& architecture, Progress& progress) {
  std::vector<BuildCode> codes;
  while (std::optional<BuildCode> code = sweep.next()) {
    // When the linked way turns out to differ, everything that was begun is delivered again.
    std::erase_if(codes, [&](const BuildCode& before) { return before.build == code->build; });
    codes.push_back(std::move(*code));
    const std::size_t all = codes.size() + sweep.undelivered();
    progress.update(fmt::format("{}: compiled {} of {}", architecture, codes.size(), all), codes.size(), all);
  }
  return codes;
}

// One code as it can be told apart: its name and launch limits are not in its hash.
auto identity_of(const BuildCode& code) {
  return std::tuple(code.kernel, code.facts->code_hash, code.facts->max_threads_per_block);
}

// Of the caps of each code the least, as __maxnreg__: what the race would try first of those.
std::vector<Build> max_registers_of(const std::vector<BuildCode>& codes) {
  std::map<std::pair<std::string, std::string>, std::pair<int, SourceChoice>> least;
  for (const BuildCode& code : codes) {
    const auto* cap = std::get_if<RegisterCap>(&code.build.policy);
    if (!cap || !code.facts) continue;
    const std::pair entry(cap->registers_per_thread, code.build.choice);
    const auto [place, is_new] = least.try_emplace({code.kernel, code.facts->code_hash}, entry);
    if (!is_new && entry.first < place->second.first) place->second = entry;
  }
  std::vector<Build> builds;
  for (const auto& [code, cap] : least) {
    const Build build{MaxRegisters{cap.first}, cap.second};
    const bool is_there =
        std::any_of(codes.begin(), codes.end(), [&](const BuildCode& other) { return other.build == build; });
    if (!is_there) builds.push_back(build);
  }
  return builds;
}

std::vector<Build> builds_of(const std::vector<BuildCode>& codes) {
  std::vector<Build> builds;
  for (const BuildCode& code : codes) builds.push_back(code.build);
  return builds;
}

// One build for each distinct code, in which plain compilation was seen to give it. Where it does not, all is compiled
// again by the plain way, and `codes` are those.
std::vector<BundledCode> compared(Sweep& sweep, const std::string& kernel, std::vector<BuildCode>& codes,
                                  const std::string& architecture, Progress& progress) {
  std::vector<BundledCode> plain;
  std::set<decltype(identity_of(codes.front()))> seen;
  for (const BuildCode& code : codes) {
    const bool is_authors = std::holds_alternative<AuthorsOwn>(code.build.policy);
    if (!sweep.linked() || is_authors || !code.facts || code.inferred || !seen.insert(identity_of(code)).second)
      continue;
    progress.update(fmt::format("{}: {} codes compared with plain compilation", architecture, seen.size()));
    if (const std::optional<std::string> difference = sweep.difference_from_plain(code)) {
      progress.note("regtune: " + *difference + "; everything is compiled again by " + sweep.plain());
      const std::vector<Build> builds = builds_of(codes);
      sweep.fall_back(*difference);
      sweep.add(builds);
      codes = collect(sweep, architecture, progress);
      return {};
    }
    plain.push_back({Way::plain, kernel, code});
  }
  return plain;
}

struct Subject {
  const BundleRequest& request;
  Source source;
  LaunchDescription description;
};

BundledUnit bundled_unit(const Subject& subject, const std::string& architecture, BundleResult& result,
                         CompilerIdentity& compiler, Progress& progress) {
  const BundleRequest& request = subject.request;
  // A pool for each: an NVRTC process serves one set of options.
  CompilePool pool(request.jobs, request.compile_limit_s, request.compiler.nvcc_file);
  const GpuLimits limits = limits_of_target(architecture, pool.identity());
  progress.stage(fmt::format("{}: compiling for the first time", architecture));
  const Compilation compilation =
      begin_compilation({subject.source, subject.description, architecture, request.compiler.only},
                        {{}, request.every_cap}, nullptr, pool, progress);
  Sweep& sweep = *compilation.sweep;
  const SweepScope scope{request.rename, request.levers, false};
  const KernelSignature signature = described_kernel(compilation.unit, subject.description, sweep.first_code());
  const InferredLaunch launch = described_launch(subject.description, compilation.unit, pool, signature, 0);
  const TuningPlan plan = plan_tuning(compilation.unit, launch, nullptr, signature, sweep.first_code(), limits, scope,
                                      pool.identity(compilation.unit.front_end));
  for (const std::string& note : plan.notes) progress.note("regtune: " + note);
  result.blocks.clear();
  for (const Dim3& block : launch.description.blocks) result.blocks.push_back(spell_block(block));
  const std::string& kernel = plan.signature.mangled_name;

  progress.stage(fmt::format("{}: compiling {} budgets", architecture, plan.trials.size()));
  sweep.begin(kernel, unqualified_name(plan.signature), limits, {});
  name_instances(sweep, compilation.unit, plan.choices, plan.signature, progress);
  sweep.add(plan.order.first);
  std::vector<BuildCode> codes = collect(sweep, architecture, progress);
  if (compilation.unit.front_end != FrontEnd::ptxas) sweep.add(max_registers_of(codes));
  for (BuildCode& code : collect(sweep, architecture, progress)) codes.push_back(std::move(code));
  progress.stage(fmt::format("{}: comparing with plain compilation", architecture));
  std::vector<BundledCode> bundled = compared(sweep, kernel, codes, architecture, progress);
  const auto is_plain = [&](const BuildCode& code) { return !sweep.linked() || code.build == Build{AuthorsOwn{}}; };
  std::set<decltype(identity_of(codes.front()))> distinct;
  for (const BuildCode& code : codes) {
    bundled.push_back({is_plain(code) ? Way::plain : Way::linked, kernel, code});
    if (code.facts) distinct.insert(identity_of(code));
  }
  result.signature = plan.signature.display;
  result.architectures.push_back({architecture, codes.size(), distinct.size()});

  compiler = pool.identity(compilation.unit.front_end);
  BundledUnit unit{compilation.unit, BundledCodes(sweep.first_code(), std::move(bundled)),
                   compile_device_code(pool, plan.workload, architecture),
                   CompilePool::made_key(device_code_request(plan.workload, architecture, pool.identity())),
                   sweep.linked() ? "" : sweep.why_plain()};
  unit.unit.known_hash = source_hash(compilation.unit);
  return unit;
}

std::optional<std::string> text_beside(std::filesystem::path source) {
  source.replace_extension(".regtune.toml");
  std::error_code failure;
  if (!std::filesystem::is_regular_file(source, failure)) return {};
  return read_source(source).text;
}

}  // namespace

BundleResult make_bundle(const BundleRequest& request, Progress& progress) {
  Source source = read_source(request.source);
  LaunchDescription description = launch_description(source, request.flags);
  const Subject subject{request, source, std::move(description)};
  std::vector<std::string> architectures;
  {
    CompilePool pool(1, request.compile_limit_s);
    architectures = architectures_meant(request.architectures, request.device, pool.identity());
  }
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  Bundle bundle;
  bundle.regtune_version = REGTUNE_VERSION;
  bundle.made = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  bundle.host = host.data();
  bundle.source = source;
  bundle.description = request.flags.file ? read_source(*request.flags.file).text : text_beside(source.path);
  bundle.flags = request.flags;
  bundle.flags.file.reset();
  bundle.flags.include_folders.clear();
  for (std::string& file : bundle.flags.pre_included_files) file = std::filesystem::absolute(file).string();
  BundleResult result;
  for (const std::string& architecture : architectures)
    bundle.units[architecture] = bundled_unit(subject, architecture, result, bundle.compiler, progress);
  // Guessed from the author's code, which nobody can compile there.
  if (subject.description.blocks.empty() && !bundle.flags.block)
    bundle.flags.block = fmt::format("{}", fmt::join(result.blocks, ","));
  result.file = request.file ? *request.file : std::filesystem::path(source.path.stem().string() + ".rtb");
  result.compiler = bundle.compiler.name;
  write_bundle(bundle, result.file);
  result.bytes = std::filesystem::file_size(result.file);
  return result;
}

std::string bundle_text(const BundleResult& result) {
  std::string text = fmt::format("{}: {}, {} KiB, by {}\n", result.file.string(), result.signature,
                                 (result.bytes + 1023) / 1024, result.compiler);
  for (const BundledArchitecture& one : result.architectures)
    text += fmt::format("{}: {} budgets -> {} distinct code{}\n", one.architecture, one.budgets, one.distinct_codes,
                        one.distinct_codes == 1 ? "" : "s");
  return text;
}

}  // namespace regtune
