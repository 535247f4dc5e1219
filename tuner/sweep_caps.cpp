// The caps of a sweep: which of them are compiled, which are inferred, and what workers do that would idle.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernel_choice.hpp"
#include "sweep.hpp"

namespace regtune {

// Of the builds from `first_new` on: the caps of each source choice that come with all steps between them.
// Returns those of them which are compiled in any case and which nothing waits for.
std::vector<int> Sweep::form_groups(std::size_t first_new) {
  std::vector<int> behind_steps;
  std::vector<std::pair<SourceChoice, std::map<int, int>>> index_of_cap_by_choice;
  for (std::size_t i = first_new; i < builds_.size(); ++i) {
    const auto* cap = std::get_if<RegisterCap>(&builds_[i].policy);
    if (!cap) continue;
    auto found = std::find_if(index_of_cap_by_choice.begin(), index_of_cap_by_choice.end(),
                              [&](const auto& entry) { return entry.first == builds_[i].choice; });
    if (found == index_of_cap_by_choice.end()) found = index_of_cap_by_choice.insert(found, {builds_[i].choice, {}});
    found->second.emplace(cap->registers_per_thread, static_cast<int>(i));
  }
  for (auto& [choice, index_of_cap] : index_of_cap_by_choice) {
    std::vector<int> caps;
    for (const auto& [cap, index] : index_of_cap) caps.push_back(cap);
    if (!CapPlateaus::has_all_steps(caps)) continue;
    // A budget is spent in the order of the builds, which knows nothing of halving: every step at once.
    CapPlateaus plateaus(caps, budget_.limited() ? CapPlateaus::Start::all_steps : CapPlateaus::Start::coarse_steps,
                         budget_.limited() ? 0 : binding_cap());
    for (const auto& [cap, index] : index_of_cap) waiting_for_steps_.insert(index);
    for (const auto& [cap, decides] : plateaus.take_to_compile()) {
      const int index = index_of_cap.at(cap);
      if (decides)
        waiting_for_steps_.erase(index);
      else
        behind_steps.push_back(index);
    }
    groups_.push_back({choice, std::move(plateaus), std::move(index_of_cap), {}});
  }
  return behind_steps;
}

// What a cap came to may say of others that they are to be compiled, or that they need not be.
void Sweep::know(int index) {
  const BuildCode& code = ready_.at(index);
  const auto* cap = std::get_if<RegisterCap>(&code.build.policy);
  const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const CapGroup& g) {
    const auto found = cap ? g.index_of_cap.find(cap->registers_per_thread) : g.index_of_cap.end();
    return found != g.index_of_cap.end() && found->second == index;
  });
  if (group == groups_.end()) return;
  const int registers = cap->registers_per_thread;
  if (group->plateaus.is_step(registers)) group->code_of_step[registers] = code;
  group->plateaus.add(registers, code.facts ? code.facts->code_hash : "",
                      code.facts ? code.facts->registers_per_thread : 0);
  advance(*group);
}

void Sweep::advance(CapGroup& group) {
  for (const auto& [cap, decides] : group.plateaus.take_to_compile()) {
    const int index = group.index_of_cap.at(cap);
    const bool is_open = waiting_for_steps_.erase(index) + inferred_.erase(index) > 0;
    if (!is_open || end_guess(index)) continue;
    queue_.push_back(index);
    if (decides && !budget_.limited()) deciding_.insert(index);
  }
  for (const auto& [cap, step] : group.plateaus.take_settled()) {
    const int index = group.index_of_cap.at(cap);
    if (waiting_for_steps_.erase(index) > 0) inferred_[index] = inferred(cap, group.code_of_step.at(step));
  }
}

BuildCode Sweep::inferred(int cap, const BuildCode& step) {
  BuildCode code = step;
  code.build.policy = RegisterCap{cap};
  code.log.clear();
  code.kept = false;
  code.inferred = true;
  const int step_cap = std::get<RegisterCap>(step.build.policy).registers_per_thread;
  code.facts->register_ceiling = 0;
  code.facts->budget = {BudgetStatus::inferred, cap,
                        fmt::format("not compiled: --maxrregcount={} and the caps around it give one code", step_cap)};
  return code;
}

// Well below what the compiler takes by itself.
int Sweep::binding_cap() const {
  const Cubin cubin = read_cubin(first_.cubin);
  const CubinKernel* compiled = find_kernel(cubin, kernel_);
  return compiled ? compiled->registers_per_thread * 3 / 4 : 64;
}

// True when it was one.
bool Sweep::end_guess(int index) {
  return std::erase_if(guesses_, [index](const Guess& guess) { return guess.index == index; }) > 0;
}

void Sweep::drop_guess(Guess guess) {
  end_guess(guess.index);
  in_workers_.erase(id_of(guess.index));
  pool_.drop(id_of(guess.index));
}

// Those that have no job of another kind.
std::size_t Sweep::workers_for_builds() const {
  const auto checks = std::count_if(plain_checks_.begin(), plain_checks_.end(),
                                    [](const auto& check) { return !check.second.compiled; });
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(pool_.processes_for(Asker::sweep) - checks, 0));
}

// A worker without a job compiles what is likely to be asked for, which shortens the way to it, or else checks an
// inference. Nothing waits for a guess: a check gives way to the first job that was asked for, and once those are
// done the guesses under way are ended. Inferences are handed out no sooner, so that a guess can still contradict one.
// With a budget of time there are no guesses: it is spent in the order of the builds.
void Sweep::feed_idle_workers() {
  const std::size_t workers = workers_for_builds();
  const auto last_check = [this] {
    return std::find_if(guesses_.rbegin(), guesses_.rend(), [](const Guess& guess) { return guess.checks; });
  };
  for (auto check = last_check(); in_workers_.size() > workers && check != guesses_.rend(); check = last_check())
    drop_guess(*check);
  const bool is_done = queue_.empty() && in_workers_.size() == guesses_.size();
  while (!is_done && !budget_.limited() && queue_.empty() && in_workers_.size() < workers && begin_guess()) {
  }
  if (is_done || budget_.limited()) hand_out_inferred();
  if (is_done) groups_.clear();  // what they inferred can be contradicted no more
}

void Sweep::hand_out_inferred() {
  while (!guesses_.empty()) drop_guess(guesses_.back());
  ready_.merge(inferred_);
  inferred_.clear();
}

// False when there is nothing to guess. No checks while none could be ended for others to begin.
bool Sweep::begin_guess() {
  for (const bool checks : {false, true}) {
    if (checks && pool_.server_is_busy()) return false;
    for (CapGroup& group : groups_) {
      const Build& any = builds_[static_cast<std::size_t>(group.index_of_cap.begin()->second)];
      // Others may have to wait for the first of its kind, which a guess cannot be.
      if (linked() && !shares_text(any) && (primer_ < 0 || waits_for_headers(any))) continue;
      const std::optional<int> cap = checks ? group.plateaus.take_unchecked() : group.plateaus.take_likely();
      if (!cap) continue;
      const int index = group.index_of_cap.at(*cap);
      guesses_.push_back({index, checks});
      submit(index);
      return true;
    }
  }
  return false;
}

}  // namespace regtune
