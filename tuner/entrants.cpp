#include "entrants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compile_order.hpp"
#include "decide.hpp"
#include "key.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "static_facts.hpp"

namespace regtune {

CompiledEntrants::CompiledEntrants(Sweep& sweep, TuningRecord& record, const GpuLimits& limits, const PastRuns& past,
                                   RunLog& log, std::vector<Build> later)
    : sweep_(sweep),
      record_(record),
      log_(log),
      past_(past),
      collapse_(limits),
      limits_(limits),
      later_(std::move(later)) {}

bool CompiledEntrants::receive(Deadline deadline) {
  std::optional<BuildCode> code = sweep_.next(deadline);
  if (!code) return false;
  // When the linked way turns out to differ, what was delivered before comes again.
  std::erase_if(codes_, [&](const BuildCode& before) { return before.build == code->build; });
  codes_.push_back(std::move(*code));
  const BuildCode& received = codes_.back();
  log_.on_compiled(codes_.size(), codes_.size() + sweep_.undelivered() + later_.size());
  for (Trial& trial : record_.trials) {
    const Variant& variant = trial.variant;
    if (variant.policy != received.build.policy || !(variant.choice == received.build.choice)) continue;
    trial = collapse_.add(trial.variant, trial.shape, received);
    if (std::holds_alternative<NotTimed>(trial.outcome)) waiting_.push_back(trial.variant.id);
  }
  return true;
}

void CompiledEntrants::receive_all() {
  add_rest();
  while (receive()) {
  }
}

Candidate CompiledEntrants::candidate(int id) const {
  const BuildCode& code = code_of_trial(id);
  return {id, code.kernel, code.cubin, record_.trials.at(static_cast<std::size_t>(id)).shape};
}

Entrant CompiledEntrants::entrant(int id) {
  log_.on_entered(id);
  const Trial& trial = record_.trials.at(static_cast<std::size_t>(id));
  return {candidate(id), in_source(id), own_name(id), code_identity(*trial.facts, trial.shape)};
}

bool CompiledEntrants::settled_before(int id) {
  const Trial& trial = record_.trials.at(static_cast<std::size_t>(id));
  const std::optional<Outcome> outcome = past_.outcome_of(trial);
  if (!outcome) return false;
  settled_[id] = *outcome;
  log_.on_outcome(id, *outcome);
  return true;
}

const BuildCode& CompiledEntrants::code_of_trial(int id) const {
  const Variant& variant = record_.trials.at(static_cast<std::size_t>(id)).variant;
  return code_of(codes_, {variant.policy, variant.choice});
}

bool CompiledEntrants::any_variant(int id, bool (*is_such)(const Variant&)) const {
  return std::any_of(record_.trials.begin(), record_.trials.end(), [&](const Trial& trial) {
    const auto* same = std::get_if<SameCodeAs>(&trial.outcome);
    return (same ? same->variant_id : trial.variant.id) == id && is_such(trial.variant);
  });
}

bool CompiledEntrants::in_source(int id) const {
  return any_variant(id, [](const Variant& variant) { return travels_with_source(variant); });
}

bool CompiledEntrants::own_name(int id) const {
  return any_variant(id, [](const Variant& variant) { return !variant.choice.renamed; });
}

std::optional<Entrant> CompiledEntrants::reference() {
  const auto is_there = [&] { return record_.trials.front().facts.has_value(); };
  while (!is_there() && receive()) {
  }
  int compared_with = 0;
  if (!record_.trials.front().facts || !record_.trials.front().facts->occupancy) {
    while (receive()) {
    }
    std::optional<int> chosen = choose_reference(record_.trials);
    if (!chosen) {
      receive_all();
      chosen = choose_reference(record_.trials);
    }
    if (!chosen) return {};
    compared_with = *chosen;
  }
  const int id = timed_trial(record_.trials, compared_with).variant.id;
  std::erase(waiting_, id);
  const auto trial_of = [&](int trial) -> const Trial& { return record_.trials.at(static_cast<std::size_t>(trial)); };
  if (const std::optional<Outcome> known = past_.outcome_of(trial_of(id))) {
    const auto* kept = std::get_if<Quarantined>(&*known);
    throw Error(ErrorKind::gpu_failed,
                fmt::format("the code to compare with, {}, is in quarantine{}. Launch it again with "
                            "--retry-quarantined, and under compute-sanitizer to see why",
                            spell(trial_of(compared_with).variant.policy),
                            kept ? fmt::format(" since {}: {}", kept->since, kept->reason) : ""));
  }
  return entrant(id);
}

std::optional<Entrant> CompiledEntrants::next() {
  // What is there already is preferred to waiting; of that, the code with the fewest spills and then the most
  // registers is the likeliest to be fast, and the sooner a fast code is known, the more of the slow ones cost a
  // single launch. What has come meanwhile is taken in, so that its worker goes on while the GPU is busy.
  while (true) {
    if (!waiting_.empty()) receive(after_ms(0));
    while (waiting_.empty() && receive()) {
    }
    if (waiting_.empty()) return {};
    const int id = take_likeliest();
    if (!settled_before(id)) return entrant(id);
  }
}

int CompiledEntrants::take_likeliest() {
  const auto guess = [&](int id) {
    const StaticFacts& facts = *record_.trials.at(static_cast<std::size_t>(id)).facts;
    return std::tuple(facts.spilled_bytes(), -facts.registers_per_thread, id);
  };
  const auto best =
      std::min_element(waiting_.begin(), waiting_.end(), [&](int a, int b) { return guess(a) < guess(b); });
  const int id = *best;
  waiting_.erase(best);
  return id;
}

bool CompiledEntrants::has_more(const std::vector<int>& still_racing) {
  if (add_neighbours(still_racing)) return true;
  if (add_max_registers(still_racing)) return true;
  return add_rest();
}

void CompiledEntrants::leads(const std::vector<Lead>& leads) {
  if (!on_likely_) return;
  std::map<int, double> ratios;
  for (const Lead& lead : leads) ratios[lead.id] = lead.ratio;
  std::vector<Build> builds;
  for (const int id : likely_to_be_named(record_.trials, ratios, record_.settings.margin)) {
    const Variant& variant = record_.trials.at(static_cast<std::size_t>(id)).variant;
    builds.push_back({variant.policy, variant.choice});
  }
  const bool is_rough = std::any_of(leads.begin(), leads.end(), [](const Lead& lead) { return lead.rounds == 0; });
  on_likely_(builds, is_rough);
}

bool CompiledEntrants::add_neighbours(const std::vector<int>& still_racing) {
  if (later_.empty()) return false;
  std::vector<FastCode> fast;
  for (const int id : still_racing) {
    FastCode& code = fast.emplace_back();
    code.registers_per_thread = record_.trials.at(static_cast<std::size_t>(id)).facts.value().registers_per_thread;
    for (const Trial& trial : record_.trials)
      if (timed_trial(record_.trials, trial.variant.id).variant.id == id)
        code.builds.push_back({trial.variant.policy, trial.variant.choice});
  }
  const std::vector<Build> near = neighbours(fast, later_);
  std::erase_if(later_, [&](const Build& build) { return std::find(near.begin(), near.end(), build) != near.end(); });
  return sweep_.add(near) > 0;
}

bool CompiledEntrants::add_rest() {
  if (sweep_.add(std::exchange(later_, {})) == 0) return false;
  max_registers_left_ = kMostMaxRegisters;
  return true;
}

// Of the caps that give the code, the least under each choice that can be written into the source: above it lie those
// that make no difference.
std::vector<Build> CompiledEntrants::least_caps(int id) const {
  std::vector<Build> least;
  for (const Trial& trial : record_.trials) {
    const auto* cap = std::get_if<RegisterCap>(&trial.variant.policy);
    const SourceChoice& choice = trial.variant.choice;
    if (!cap || choice.renamed || choice.register_usage_level >= 0) continue;
    if (timed_trial(record_.trials, trial.variant.id).variant.id != id) continue;
    const auto of_choice =
        std::find_if(least.begin(), least.end(), [&](const Build& build) { return build.choice == choice; });
    if (of_choice == least.end())
      least.push_back({*cap, choice});
    else if (cap->registers_per_thread < std::get<RegisterCap>(of_choice->policy).registers_per_thread)
      of_choice->policy = *cap;
  }
  return least;
}

bool CompiledEntrants::is_planned(const Build& build) const {
  return std::any_of(record_.trials.begin(), record_.trials.end(), [&](const Trial& trial) {
    return trial.variant.policy == build.policy && trial.variant.choice == build.choice;
  });
}

bool CompiledEntrants::add_max_registers(const std::vector<int>& still_racing) {
  // Beside __block_size__ there are no caps: every __maxnreg__ is in the race already.
  std::vector<Build> builds;
  for (const int id : still_racing)
    for (const Build& least : least_caps(id)) {
      const int cap = std::get<RegisterCap>(least.policy).registers_per_thread;
      for (int distance = 0; distance <= kNeighbourhood; ++distance)
        for (const int n : {cap - distance, cap + distance}) {
          const Build build{MaxRegisters{n}, least.choice};
          const bool is_possible = n >= compiler_minimum_registers && n <= limits_.max_registers_per_thread;
          const bool is_new = !is_planned(build) && std::find(builds.begin(), builds.end(), build) == builds.end();
          if (is_possible && is_new && builds.size() < max_registers_left_) builds.push_back(build);
        }
    }
  max_registers_left_ -= builds.size();
  // The launches of a choice: one that ties a macro to the block is for that block alone.
  const auto shapes_of = [&](const SourceChoice& choice) {
    std::vector<LaunchShape> shapes;
    for (const Trial& trial : record_.trials)
      if (trial.variant.choice == choice && std::find(shapes.begin(), shapes.end(), trial.shape) == shapes.end())
        shapes.push_back(trial.shape);
    return shapes;
  };
  for (const Build& build : builds)
    for (const LaunchShape& shape : shapes_of(build.choice)) {
      const Variant variant{static_cast<int>(record_.trials.size()), build.policy, shape.block, build.choice};
      record_.trials.push_back({variant, shape, {}, NotTimed{}});
    }
  return sweep_.add(builds) > 0;
}

void CompiledEntrants::finish(const std::map<int, Outcome>& outcomes) {
  receive_all();
  // By arrival the first variant of a code was the one to be timed; by id is how it is told.
  record_.trials = collapse(record_.trials, codes_, limits_);
  std::map<int, Outcome> all = outcomes;
  all.insert(settled_.begin(), settled_.end());
  for (const auto& [id, outcome] : all) {
    const int told_as = timed_trial(record_.trials, id).variant.id;
    record_.trials.at(static_cast<std::size_t>(told_as)).outcome = outcome;
  }
}

}  // namespace regtune
