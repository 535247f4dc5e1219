#include "entrants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "decide.hpp"
#include "key.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

// How far around a cap that is still in the race __maxnreg__ is tried, and how many values in all.
constexpr int kNeighbourhood = 4;
constexpr std::size_t kMostNeighbours = 64;

}  // namespace

CompiledEntrants::CompiledEntrants(Sweep& sweep, TuningRecord& record, const std::vector<LaunchShape>& shapes,
                                   const GpuLimits& limits, const PastRuns& past, RunLog& log)
    : sweep_(sweep),
      record_(record),
      shapes_(shapes),
      log_(log),
      past_(past),
      collapse_(shapes, limits),
      limits_(limits) {}

bool CompiledEntrants::receive() {
  std::optional<BuildCode> code = sweep_.next();
  if (!code) return false;
  codes_.push_back(std::move(*code));
  const BuildCode& received = codes_.back();
  log_.on_compiled(codes_.size(), codes_.size() + sweep_.undelivered());
  for (Trial& trial : record_.trials) {
    const Variant& variant = trial.variant;
    if (variant.policy != received.build.policy || !(variant.choice == received.build.choice)) continue;
    trial = collapse_.add(trial.variant, received);
    if (std::holds_alternative<NotTimed>(trial.outcome)) waiting_.push_back(trial.variant.id);
  }
  return true;
}

Entrant CompiledEntrants::entrant(int id) {
  const Trial& trial = record_.trials.at(static_cast<std::size_t>(id));
  const BuildCode& code = code_of_trial(id);
  log_.on_entered(id);
  return {{id, code.kernel, code.cubin, trial.shape},
          in_source(id),
          own_name(id),
          code_identity(*trial.facts, trial.shape)};
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
    const std::optional<int> chosen = choose_reference(record_.trials);
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
  // single launch.
  while (true) {
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
    return std::tuple(facts.spill_store_bytes + facts.spill_load_bytes, -facts.registers_per_thread, id);
  };
  const auto best =
      std::min_element(waiting_.begin(), waiting_.end(), [&](int a, int b) { return guess(a) < guess(b); });
  const int id = *best;
  waiting_.erase(best);
  return id;
}

bool CompiledEntrants::has_more(const std::vector<int>& still_racing) {
  // Beside __block_size__ nothing but caps is tried.
  const std::optional<StaticFacts>& author = record_.trials.front().facts;
  if (author && author->required_threads_per_block > 0) return false;
  std::vector<std::pair<SourceChoice, std::set<int>>> neighbours;  // by choice, in order of id
  for (const int id : still_racing)
    for (const Trial& trial : record_.trials) {
      const auto* cap = std::get_if<RegisterCap>(&trial.variant.policy);
      const SourceChoice& choice = trial.variant.choice;
      if (!cap || choice.renamed || choice.register_usage_level >= 0) continue;
      if (timed_trial(record_.trials, trial.variant.id).variant.id != id) continue;
      auto of_choice =
          std::find_if(neighbours.begin(), neighbours.end(), [&](const auto& n) { return n.first == choice; });
      if (of_choice == neighbours.end()) of_choice = neighbours.insert(of_choice, {choice, {}});
      for (int n = cap->registers_per_thread - kNeighbourhood; n <= cap->registers_per_thread + kNeighbourhood; ++n)
        if (n >= compiler_minimum_registers && n <= limits_.max_registers_per_thread) of_choice->second.insert(n);
    }
  std::vector<Build> builds;
  for (const auto& [choice, values] : neighbours)
    for (const int n : values) {
      if (builds.size() == kMostNeighbours) break;
      builds.push_back({MaxRegisters{n}, choice});
    }
  // A choice that ties a macro to the block is for that block alone.
  const auto is_for = [&](const SourceChoice& choice, const Dim3& block) {
    return std::any_of(record_.trials.begin(), record_.trials.end(), [&](const Trial& trial) {
      return trial.variant.block == block && trial.variant.choice == choice;
    });
  };
  for (const Build& build : builds)
    for (const LaunchShape& shape : shapes_) {
      if (!is_for(build.choice, shape.block)) continue;
      const Variant variant{static_cast<int>(record_.trials.size()), build.policy, shape.block, build.choice};
      record_.trials.push_back({variant, shape, {}, NotTimed{}});
    }
  sweep_.add(builds);
  return !builds.empty();
}

void CompiledEntrants::finish(const std::map<int, Outcome>& outcomes) {
  while (receive()) {
  }
  // By arrival the first variant of a code was the one to be timed; by id is how it is told.
  std::vector<Variant> variants;
  for (const Trial& trial : record_.trials) variants.push_back(trial.variant);
  record_.trials = collapse(variants, codes_, shapes_, limits_);
  std::map<int, Outcome> all = outcomes;
  all.insert(settled_.begin(), settled_.end());
  for (const auto& [id, outcome] : all) {
    const int told_as = timed_trial(record_.trials, id).variant.id;
    record_.trials.at(static_cast<std::size_t>(told_as)).outcome = outcome;
  }
}

}  // namespace regtune
