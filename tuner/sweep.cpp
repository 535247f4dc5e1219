#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "code_equality.hpp"
#include "kernel_choice.hpp"
#include "link_options.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"
#include "scratch_folder.hpp"
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

// nvcc's LTO-IR is that of relocatable code, where what no other file may name gets a name that none has.
bool has_internal_kernels(const std::string& cubin) {
  const std::vector<CubinKernel> kernels = read_cubin(cubin).kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const CubinKernel& kernel) { return kernel.name.starts_with("__nv_static"); });
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

Sweep::Sweep(CompilePool& pool, CompileUnit unit, CodeKeeper& keeper, CompileBudget budget)
    : pool_(pool),
      unit_(std::move(unit)),
      keeper_(keeper),
      budget_(std::move(budget)),
      why_plain_(why_not_linked(pool.identity(unit_.front_end), unit_)) {}

bool Sweep::shares_text(const Build& build) const {
  const SourceChoice& choice = build.choice;
  const bool is_authors = choice.macros.empty() && choice.instance.empty();
  return !choice.renamed && (is_authors || find_instance(instances_, choice) != nullptr) && is_cap(build);
}

bool Sweep::is_cap(const Build& build) {
  return std::holds_alternative<CompilerDefault>(build.policy) || std::holds_alternative<RegisterCap>(build.policy);
}

CompileJob Sweep::plain_job(int id, const Build& build, bool in_server) const {
  // nvcc is a process of its own wherever it runs, and precompiles nothing that the server could keep.
  const bool serves_others = in_server && unit_.front_end == FrontEnd::nvrtc;
  return {
      id, request_for(unit_, build, NvrtcOutput::cubin, pool_.header_folder(NvrtcOutput::cubin)), {}, serves_others};
}

CompileJob Sweep::linked_job(int id, const Build& build, bool only_this_kernel) const {
  // The text that all caps share is compiled once: to precompile its headers costs more than to compile it.
  const std::string folder = shares_text(build) ? "" : pool_.header_folder(NvrtcOutput::lto_ir);
  const std::string kernel_to_keep = only_this_kernel && several_kernels_ ? kernel_of(build) : "";
  std::string why_not;  // none: the constructor has asked
  return {id, request_for(unit_, build, NvrtcOutput::lto_ir, folder),
          link_options({unit_.architecture, cap_of(unit_, build.policy), kernel_to_keep, options_of(unit_, build),
                        compiler().linker_takes_no_cache},
                       why_not),
          false, is_cap(build)};
}

std::string Sweep::kernel_of(const Build& build) const {
  const std::string* instance = find_instance(instances_, build.choice);
  const std::string& own = instance ? *instance : kernel_;
  return build.choice.renamed ? renamed_kernel(own, unit_.kernel_name) : own;
}

Error Sweep::not_compiled(const std::string& why) const {
  if (unit_.front_end == FrontEnd::ptxas)
    return Error(ErrorKind::source_not_compiled,
                 fmt::format("{}: {} does not compile it for {}; PTX of a newer CUDA needs its ptxas: name that by "
                             "REGTUNE_PTXAS:\n{}",
                             unit_.source.path.string(), compiler().name, unit_.architecture, why));
  return Error(
      ErrorKind::source_not_compiled,
      fmt::format(
          "{}: {} does not compile it for {}; mend the lines below, or give your build's options behind --:\n{}",
          unit_.source.path.string(), compiler().name, unit_.architecture, why));
}

const CompiledCode& Sweep::first() {
  if (std::optional<CompiledCode> kept = keeper_.first(way())) {
    first_is_kept_ = true;
    return first_ = std::move(*kept);
  }
  budget_.run();
  if (linked()) {
    // The text without bounds is what every cap is made of: compiled in the server, so that all workers have its
    // LTO-IR.
    first_ = pool_.prepare(linked_job(0, {CompilerDefault{}}, false));
    if (first_.compiled && has_internal_kernels(first_.cubin))
      why_plain_ = "a kernel that is static, or in an anonymous namespace, has another name in nvcc's LTO-IR";
    else if (!first_.compiled)
      why_plain_ = "no LTO-IR of this source: " + first_.failure.substr(0, first_.failure.find('\n'));
  }
  if (!linked()) first_ = pool_.prepare(plain_job(0, {AuthorsOwn{}}, true));
  budget_.stop();
  first_is_measured_ = true;
  if (!first_.compiled) throw not_compiled(first_.failure);
  // Instances that the file itself launches are there to be chosen from, and name no choice.
  if (unit_.name_expressions.empty()) first_.lowered_names.clear();
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

std::size_t Sweep::add(const std::vector<Build>& builds) {
  // Not before a build of it is wanted: of a run that ends with an error nothing is kept.
  if (!first_is_kept_ && !builds.empty()) keeper_.keep_first(way(), first_);
  first_is_kept_ = first_is_kept_ || !builds.empty();
  const std::size_t skipped_before = skipped_;
  const std::size_t first_new = builds_.size();
  builds_.insert(builds_.end(), builds.begin(), builds.end());
  undelivered_ += builds.size();
  const std::vector<int> behind_steps = infers_ ? form_groups(first_new) : std::vector<int>();
  std::vector<int> kept_ones;
  for (std::size_t i = first_new; i < builds_.size(); ++i) {
    const auto index = static_cast<int>(i);
    if (std::optional<BuildCode> kept = keeper_.find(way_of(builds_[i]), kernel_, builds_[i])) {
      waiting_for_steps_.erase(index);
      ready_[index] = std::move(*kept);
      kept_ones.push_back(index);
    } else if (!waiting_for_steps_.contains(index)) {
      queue_.push_back(index);
    }
  }
  for (const int index : behind_steps)
    if (waiting_for_steps_.erase(index) > 0) queue_.push_back(index);
  for (const int index : kept_ones) know(index);  // once it is certain which of the others are kept too
  feed();
  pool_.feed();
  return builds.size() - (skipped_ - skipped_before);
}

std::optional<CompileCost> Sweep::cost_of(const std::vector<Build>& builds) const {
  if (!first_is_measured_) return {};
  // A later link keeps one kernel of the file; the first one kept all.
  CompileCost cost{builds.size(), 0, pool_.processes(), linked() && read_cubin(first_.cubin).kernels.size() > 1};
  for (const Build& build : builds) cost.seconds += linked() && is_cap(build) ? first_.link_seconds : first_.seconds;
  return cost;
}

// Without a limit everything goes to the pool at once. With one, each worker has the job that it is at and none ahead:
// what was given cannot be taken back.
void Sweep::feed() {
  const auto is_linked = [&](int index) { return way_of(builds_[static_cast<std::size_t>(index)]) == Way::linked; };
  const bool spent = budget_.spent();
  if (witness_cap_ == 0 && !spent && std::any_of(queue_.begin(), queue_.end(), is_linked)) begin_comparison();
  for (auto next = queue_.begin(); next != queue_.end();) {
    const int index = *next;
    const Build& build = builds_[static_cast<std::size_t>(index)];
    const bool authors = build == Build{AuthorsOwn{}};
    const bool full = budget_.limited() && in_workers_.size() >= static_cast<std::size_t>(pool_.processes());
    if (!authors && spent) {
      ++skipped_;
      ready_[index] = {build, kernel_of(build), "", "", {}, budget_.reason(), false, true};
      know(index);
    } else if ((!authors && full) || waits_for_headers(build)) {
      ++next;
      continue;
    } else {
      submit(index);
    }
    next = queue_.erase(next);
  }
  feed_idle_workers();
}

bool Sweep::waits_for_headers(const Build& build) const {
  const bool precompiles = unit_.header_end > 0 && unit_.precompiles_headers;
  return precompiles && way_of(build) == Way::linked && !shares_text(build) && !headers_are_precompiled_ &&
         primer_ >= 0;
}

void Sweep::submit(int index) {
  const Build& build = builds_[static_cast<std::size_t>(index)];
  const int id = id_of(index);
  budget_.run();
  if (build == Build{AuthorsOwn{}} && linked()) return pool_.submit(plain_job(id, build, true));
  in_workers_.insert(id);
  if (linked() && !shares_text(build) && primer_ < 0) primer_ = index;
  // What had to wait for the headers is dearer than a cap, so it does not go behind all of them. What others wait for
  // does not either: the sweep would end with a few workers at it and the rest idle.
  const bool waited = linked() && !shares_text(build) && headers_are_precompiled_;
  CompileJob job = linked() ? linked_job(id, build, true) : plain_job(id, build, false);
  if (waited || deciding_.erase(index) > 0)
    pool_.submit_next(std::move(job));
  else
    pool_.submit(std::move(job));
}

BuildCode Sweep::read_back(const Build& build, const CompiledCode& compiled) const {
  BuildCode code{build,
                 kernel_of(build),
                 compiled.cubin,
                 without_scratch_folders(compiled.log),
                 {},
                 without_scratch_folders(compiled.failure)};
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
      if (!code.kept && !code.skipped && !code.inferred) keeper_.keep(way_of(code.build), kernel_, code);
      return code;
    }
    const std::optional<CompiledCode> compiled = pool_.next(deadline);
    if (!compiled) return {};
    receive(*compiled);
  }
  return {};
}

void Sweep::receive(const CompiledCode& compiled) {
  in_workers_.erase(compiled.id);
  if (compiled.id == kPlainWitness) {
    plain_witness_ = compiled;
  } else if (compiled.id == kLinkedWitness) {
    linked_witness_ = compiled;
  } else if (const auto check = plain_checks_.find(compiled.id); check != plain_checks_.end()) {
    check->second.compiled = compiled;
  } else if (compiled.id / kGeneration == generation_) {
    const int index = compiled.id % kGeneration;
    const Build& build = builds_.at(static_cast<std::size_t>(index));
    if (build == Build{AuthorsOwn{}} && !compiled.compiled) throw not_compiled(compiled.failure);
    end_guess(index);
    waiting_for_steps_.erase(index);
    inferred_.erase(index);
    ready_[index] = read_back(build, compiled);
    know(index);
    if (index == witness_build_ && linked()) linked_witness_ = compiled;
    if (index == primer_) headers_are_precompiled_ = true;
  }
  if (!trusted_ && plain_witness_ && linked_witness_) compare();
  feed();
  if (pool_.unfinished() == 0) budget_.stop();
}

// At a cap that binds, so that the comparison sees the register allocator at work. Where that cap is to be compiled
// anyway it comes first, and is the linked witness.
void Sweep::begin_comparison() {
  // A step: those are compiled first.
  witness_cap_ = std::max(CapPlateaus::step_at_or_below(binding_cap()), compiler_minimum_registers);
  trusted_ = false;
  const Build witness{RegisterCap{witness_cap_}};
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [&](int index) { return builds_[static_cast<std::size_t>(index)] == witness; });
  const bool is_queued = found != queue_.end();
  if (is_queued) {
    witness_build_ = *found;
    queue_.erase(found);
    queue_.push_front(witness_build_);
  }
  submit_witnesses(!is_queued);
}

void Sweep::submit_witnesses(bool linked_too) {
  ++witness_tries_;
  budget_.run();
  plain_witness_.reset();
  pool_.submit(plain_job(kPlainWitness, {RegisterCap{witness_cap_}}, true));
  if (!linked_too) return;
  linked_witness_.reset();
  in_workers_.insert(kLinkedWitness);
  pool_.submit_next(linked_job(kLinkedWitness, {RegisterCap{witness_cap_}}, true));
}

void Sweep::compare() {
  const std::string cap = fmt::format("--maxrregcount={}", witness_cap_);
  if (!plain_witness_->compiled)
    return use_plain(fmt::format("{} fails at {}: {}", to_string(unit_.front_end), cap, plain_witness_->failure));
  if (!linked_witness_->compiled)
    return use_plain(fmt::format("nvJitLink fails at {}: {}", cap, linked_witness_->failure));
  const auto found = difference(plain_witness_->cubin, linked_witness_->cubin, kernel_);
  if (found && witness_tries_ < kTries) return submit_witnesses(true);
  if (found)
    return use_plain(
        fmt::format("nvJitLink's code differs from {}'s at {}: {}", to_string(unit_.front_end), cap, *found));
  trusted_ = true;
}

// All that was begun is compiled and delivered again.
void Sweep::use_plain(const std::string& why) {
  keeper_.forget(Way::linked, kernel_);
  why_plain_ = why;
  trusted_ = true;
  ++generation_;
  ready_.clear();
  queue_.clear();
  groups_.clear();
  waiting_for_steps_.clear();
  inferred_.clear();
  guesses_.clear();
  deciding_.clear();
  in_workers_.clear();
  plain_checks_.clear();
  pool_.abandon();
  budget_.restart();
  undelivered_ = 0;
  add(std::exchange(builds_, {}));
}

void Sweep::fall_back(const std::string& why) {
  builds_.clear();
  use_plain(why);
}

std::optional<std::string> Sweep::difference_from_plain(const BuildCode& timed) {
  if (!linked() || timed.build == Build{AuthorsOwn{}}) return {};
  std::optional<std::string> found;
  if (const std::optional<BuildCode> kept = keeper_.find(Way::plain, kernel_, timed.build)) {
    found = difference(kept->cubin, timed.cubin, timed.kernel);
    if (!found) return {};
  }
  for (int i = 0; i < kTries; ++i) {
    const BuildCode plain = read_back(timed.build, compile_plainly(timed.build));
    if (!plain.facts) return fmt::format("{} does not compile it: {}", this->plain(), plain.failure);
    found = difference(plain.cubin, timed.cubin, timed.kernel);
    if (found) continue;
    keeper_.keep(Way::plain, kernel_, plain);
    return {};
  }
  return found;
}

void Sweep::begin_plain(const std::vector<Build>& builds) {
  for (const Build& build : builds) {
    const bool is_begun = std::any_of(plain_checks_.begin(), plain_checks_.end(),
                                      [&](const auto& check) { return check.second.build == build; });
    if (!linked() || build == Build{AuthorsOwn{}} || is_begun || keeper_.find(Way::plain, kernel_, build)) continue;
    const int id = kFirstPlainCheck + plain_checks_begun_++;
    plain_checks_[id] = {build, {}};
    // The witness has precompiled the headers. Where there was none, two that did so at once would be in each other's
    // way, and one alone would take longer.
    const std::string folder = plain_witness_ ? pool_.header_folder(NvrtcOutput::cubin) : "";
    pool_.submit_next({id, request_for(unit_, build, NvrtcOutput::cubin, folder), {}, false, false});
  }
  pool_.feed();
}

// By the server, whose headers are precompiled, unless it was begun. Each call gives another compilation.
CompiledCode Sweep::compile_plainly(const Build& build) {
  const auto check = std::find_if(plain_checks_.begin(), plain_checks_.end(),
                                  [&](const auto& begun) { return begun.second.build == build; });
  if (check == plain_checks_.end()) return pool_.prepare(plain_job(0, build, true));
  while (!check->second.compiled) receive(pool_.next().value());
  CompiledCode compiled = std::move(*check->second.compiled);
  plain_checks_.erase(check);
  return compiled;
}

std::string Sweep::plain() const {
  return fmt::format("plain {}", to_string(unit_.front_end));
}

std::string Sweep::route() const {
  if (unit_.front_end == FrontEnd::ptxas) return "ptxas";
  const char* by = unit_.front_end == FrontEnd::nvcc ? "nvcc, " : "";
  if (linked()) return fmt::format("{}LTO-IR once, then {}", by, compiler().linker);
  return fmt::format("{}: {}", plain(), why_plain_);
}

}  // namespace regtune
