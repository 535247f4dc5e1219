#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "code_equality.hpp"
#include "kernel_choice.hpp"
#include "link_options.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

// NVRTC does not give every kernel the same code each time (one of ours came out in three ways over 40 runs, the
// most frequent 36 times), so a difference counts only when it stays.
constexpr int kTries = 4;

// Why LTO-IR is not even tried; empty: it is.
std::string why_not_linked(const CompilerIdentity& compiler, const CompileUnit& unit) {
  if (!compiler.why_no_linker.empty()) return compiler.why_no_linker;
  std::string why;
  link_options({unit.architecture, 0, "", unit.options, true}, why);
  return why;
}

// The name under a choice of macros and template arguments, whatever it is joined with.
const std::string* find_instance(const std::vector<std::pair<SourceChoice, std::string>>& instances,
                                 const SourceChoice& choice) {
  const auto found = std::find_if(instances.begin(), instances.end(), [&](const auto& instance) {
    return instance.first.macros == choice.macros && instance.first.instance == choice.instance;
  });
  return found == instances.end() ? nullptr : &found->second;
}

}  // namespace

Sweep::Sweep(CompilePool& pool, CompileUnit unit, CodeKeeper& keeper)
    : pool_(pool), unit_(std::move(unit)), keeper_(keeper), why_plain_(why_not_linked(pool.identity(), unit_)) {}

// Precompiled headers of one kind of output serve no other. The text that all caps share is compiled once, and so
// needs none: to precompile costs more than to compile.
std::string Sweep::header_folder(NvrtcOutput output) const {
  if (pool_.scratch_folder().empty()) return "";
  return pool_.scratch_folder() + (output == NvrtcOutput::lto_ir ? "/lto" : "/plain");
}

bool Sweep::shares_text(const Build& build) const {
  const SourceChoice& choice = build.choice;
  const bool is_authors = choice.macros.empty() && choice.instance.empty();
  return !choice.renamed && (is_authors || find_instance(instances_, choice) != nullptr) &&
         (std::holds_alternative<CompilerDefault>(build.policy) || std::holds_alternative<RegisterCap>(build.policy));
}

CompileJob Sweep::plain_job(int id, const Build& build, bool in_server) const {
  return {id, compile_request(unit_, build, NvrtcOutput::cubin, header_folder(NvrtcOutput::cubin)), {}, in_server};
}

CompileJob Sweep::linked_job(int id, const Build& build, bool only_this_kernel) const {
  const std::string folder = shares_text(build) ? "" : header_folder(NvrtcOutput::lto_ir);
  const std::string kernel_to_keep = only_this_kernel && several_kernels_ ? kernel_of(build) : "";
  std::string why_not;  // none: the constructor has asked
  return {id, compile_request(unit_, build, NvrtcOutput::lto_ir, folder),
          link_options({unit_.architecture, cap_of(unit_, build.policy), kernel_to_keep, options_of(unit_, build),
                        pool_.identity().linker_takes_no_cache},
                       why_not),
          false};
}

std::string Sweep::kernel_of(const Build& build) const {
  const std::string* instance = find_instance(instances_, build.choice);
  const std::string& own = instance ? *instance : kernel_;
  return build.choice.renamed ? renamed_kernel(own, unit_.kernel_name) : own;
}

Error Sweep::not_compiled(const std::string& why) const {
  return Error(ErrorKind::source_not_compiled,
               fmt::format("{}: {} does not compile it for {}:\n{}", unit_.source.path.string(), pool_.identity().name,
                           unit_.architecture, why));
}

const CompiledCode& Sweep::first() {
  if (std::optional<CompiledCode> kept = keeper_.first(way())) {
    first_is_kept_ = true;
    return first_ = std::move(*kept);
  }
  if (linked()) {
    // The text without bounds is what every cap is made of: compiled in the server, so that all workers have its
    // LTO-IR.
    first_ = pool_.prepare(linked_job(0, {CompilerDefault{}}, false));
    if (!first_.compiled)
      why_plain_ = "no LTO-IR of this source: " + first_.failure.substr(0, first_.failure.find('\n'));
  }
  if (!linked()) first_ = pool_.prepare(plain_job(0, {AuthorsOwn{}}, true));
  if (!first_.compiled) throw not_compiled(first_.failure);
  return first_;
}

void Sweep::begin(const std::string& kernel, const std::string& name, const GpuLimits& limits,
                  const std::vector<Build>& builds) {
  kernel_ = kernel;
  unit_.kernel_name = name;
  limits_ = limits;
  several_kernels_ = read_cubin(first_.cubin).kernels.size() > 1;
  add(builds);
}

BuildCode Sweep::name_instance(const SourceChoice& choice) {
  const Build build{CompilerDefault{}, choice};
  if (std::optional<BuildCode> kept = keeper_.find(way(), kernel_, build)) {
    if (kept->facts) instances_.emplace_back(choice, kept->kernel);
    return std::move(*kept);
  }
  // Named before it is compiled: the text of every cap is asked for in the same words.
  instances_.emplace_back(choice, kernel_);
  const CompiledCode compiled = pool_.prepare(linked() ? linked_job(0, build, false) : plain_job(0, build, true));
  if (compiled.compiled && !compiled.lowered_names.empty())
    instances_.back().second = compiled.lowered_names.front();
  else
    instances_.pop_back();
  return read_back(build, compiled);
}

void Sweep::add(const std::vector<Build>& builds) {
  // Not before a build of it is wanted: of a run that ends with an error nothing is kept.
  if (!first_is_kept_ && !builds.empty()) keeper_.keep_first(way(), first_);
  first_is_kept_ = first_is_kept_ || !builds.empty();
  std::vector<int> to_compile;
  for (const Build& build : builds) {
    const auto index = static_cast<int>(builds_.size());
    builds_.push_back(build);
    ++undelivered_;
    if (std::optional<BuildCode> kept = keeper_.find(way_of(build), kernel_, build)) {
      ready_[index] = std::move(*kept);
    } else {
      to_compile.push_back(index);
    }
  }
  if (linked() && !to_compile.empty() && witness_cap_ == 0) {
    // A cap that binds, so that the comparison sees the register allocator at work.
    const Cubin cubin = read_cubin(first_.cubin);
    const CubinKernel* compiled = find_kernel(cubin, kernel_);
    witness_cap_ = std::clamp(compiled ? compiled->registers_per_thread * 3 / 4 : 64, compiler_minimum_registers, 255);
    trusted_ = false;
    submit_witnesses();
  }
  for (const int index : to_compile) submit(index);
}

void Sweep::submit(int index) {
  const Build& build = builds_[static_cast<std::size_t>(index)];
  const int id = generation_ * kGeneration + index;
  const bool precompiles = unit_.header_end > 0 && unit_.precompiles_headers;
  if (linked() && precompiles && way_of(build) == Way::linked && !shares_text(build) && !headers_are_precompiled_) {
    if (primer_ >= 0) return waiting_for_headers_.push_back(index);
    primer_ = index;
  }
  if (build == Build{AuthorsOwn{}})
    pool_.submit(plain_job(id, build, linked()));
  else if (linked())
    pool_.submit(linked_job(id, build, true));
  else
    pool_.submit(plain_job(id, build, false));
}

BuildCode Sweep::read_back(const Build& build, const CompiledCode& compiled) const {
  BuildCode code{build, kernel_of(build), compiled.cubin, compiled.log, {}, compiled.failure};
  if (!compiled.compiled) return code;
  try {
    const Cubin cubin = read_cubin(compiled.cubin);
    const CubinKernel* kernel = find_kernel(cubin, code.kernel);
    if (!kernel) {
      code.failure = fmt::format("the compiled file holds no {}", code.kernel);
      return code;
    }
    std::optional<int> option_cap;
    if (std::holds_alternative<AuthorsOwn>(build.policy) && unit_.author_cap != 0) option_cap = unit_.author_cap;
    const PtxasReport report = read_ptxas_report(compiled.log);
    code.facts = static_facts(*kernel, report.find(kernel->name), build.policy, limits_, option_cap);
  } catch (const Error& unreadable) {
    code.failure = unreadable.what();
  }
  return code;
}

std::optional<BuildCode> Sweep::next(Deadline deadline) {
  while (undelivered_ > 0) {
    if (trusted_ && !ready_.empty()) {
      BuildCode code = std::move(ready_.begin()->second);
      ready_.erase(ready_.begin());
      --undelivered_;
      if (!code.kept) keeper_.keep(way_of(code.build), kernel_, code);
      return code;
    }
    const std::optional<CompiledCode> compiled = pool_.next(deadline);
    if (!compiled) return {};
    receive(*compiled);
  }
  return {};
}

void Sweep::receive(const CompiledCode& compiled) {
  if (compiled.id == kPlainWitness) {
    plain_witness_ = compiled;
  } else if (compiled.id == kLinkedWitness) {
    linked_witness_ = compiled;
  } else if (compiled.id / kGeneration == generation_) {
    const int index = compiled.id % kGeneration;
    const Build& build = builds_.at(static_cast<std::size_t>(index));
    if (build == Build{AuthorsOwn{}} && !compiled.compiled) throw not_compiled(compiled.failure);
    ready_[index] = read_back(build, compiled);
    if (index == primer_ && !headers_are_precompiled_) {
      headers_are_precompiled_ = true;
      for (const int waiting : std::exchange(waiting_for_headers_, {})) submit(waiting);
    }
  }
  if (!trusted_ && plain_witness_ && linked_witness_) compare();
}

void Sweep::submit_witnesses() {
  ++witness_tries_;
  plain_witness_.reset();
  linked_witness_.reset();
  pool_.submit(plain_job(kPlainWitness, {RegisterCap{witness_cap_}}, true));
  pool_.submit(linked_job(kLinkedWitness, {RegisterCap{witness_cap_}}, true));
}

void Sweep::compare() {
  const std::string cap = fmt::format("--maxrregcount={}", witness_cap_);
  if (!plain_witness_->compiled) return fall_back(fmt::format("NVRTC fails at {}: {}", cap, plain_witness_->failure));
  if (!linked_witness_->compiled)
    return fall_back(fmt::format("nvJitLink fails at {}: {}", cap, linked_witness_->failure));
  const auto found = difference(plain_witness_->cubin, linked_witness_->cubin, kernel_);
  if (found && witness_tries_ < kTries) return submit_witnesses();
  if (found) return fall_back(fmt::format("nvJitLink's code differs from NVRTC's at {}: {}", cap, *found));
  trusted_ = true;
}

void Sweep::fall_back(const std::string& why) {
  keeper_.forget(Way::linked, kernel_);
  why_plain_ = why;
  trusted_ = true;
  ++generation_;
  ready_.clear();
  waiting_for_headers_.clear();
  pool_.abandon();
  undelivered_ = 0;
  add(std::exchange(builds_, {}));
}

std::optional<std::string> Sweep::difference_from_plain(const BuildCode& timed) {
  if (!linked() || timed.build == Build{AuthorsOwn{}}) return {};
  std::optional<std::string> found;
  if (const std::optional<BuildCode> kept = keeper_.find(Way::plain, kernel_, timed.build)) {
    found = difference(kept->cubin, timed.cubin, timed.kernel);
    if (!found) return {};
  }
  for (int i = 0; i < kTries; ++i) {
    const BuildCode plain = read_back(timed.build, pool_.prepare(plain_job(0, timed.build, true)));
    if (!plain.facts) return "plain NVRTC does not compile it: " + plain.failure;
    found = difference(plain.cubin, timed.cubin, timed.kernel);
    if (found) continue;
    keeper_.keep(Way::plain, kernel_, plain);
    return {};
  }
  return found;
}

std::string Sweep::route() const {
  if (linked()) return fmt::format("LTO-IR once, then {}", pool_.identity().linker);
  return "plain NVRTC: " + why_plain_;
}

}  // namespace regtune
