#include "entrants.hpp"

#include <algorithm>
#include <set>

#include "decide.hpp"
#include "policy.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

// How far around a cap that is still in the race __maxnreg__ is tried, and how many values in all.
constexpr int kNeighbourhood = 4;
constexpr std::size_t kMostNeighbours = 64;

}  // namespace

CompiledEntrants::CompiledEntrants(Sweep& sweep, TuningRecord& record, const GpuLimits& limits, RunLog& log)
    : sweep_(sweep), record_(record), log_(log), collapse_(limits), limits_(limits) {}

bool CompiledEntrants::receive() {
  std::optional<BuildCode> code = sweep_.next();
  if (!code) return false;
  codes_.push_back(std::move(*code));
  const BuildCode& received = codes_.back();
  log_.on_compiled(codes_.size(), codes_.size() + sweep_.undelivered());
  for (Trial& trial : record_.trials) {
    const Variant& variant = trial.variant;
    if (variant.policy != received.build.policy || !(variant.choice == received.build.choice)) continue;
    trial = collapse_.add(trial.variant, trial.shape, received);
    if (std::holds_alternative<NotTimed>(trial.outcome)) waiting_.push_back(trial.variant.id);
  }
  return true;
}

Entrant CompiledEntrants::entrant(int id) const {
  const Trial& trial = record_.trials.at(static_cast<std::size_t>(id));
  const BuildCode& code = code_of_trial(id);
  return {{id, code.kernel, code.cubin, trial.shape}, in_source(id), own_name(id)};
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
  int id = 0;
  if (!record_.trials.front().facts || !record_.trials.front().facts->occupancy) {
    while (receive()) {
    }
    const std::optional<int> chosen = choose_reference(record_.trials);
    if (!chosen) return {};
    id = timed_trial(record_.trials, *chosen).variant.id;
  } else {
    id = timed_trial(record_.trials, 0).variant.id;
  }
  std::erase(waiting_, id);
  return entrant(id);
}

std::optional<Entrant> CompiledEntrants::next() {
  // What is there already is preferred to waiting; of that, the code with the fewest spills and then the most
  // registers is the likeliest to be fast, and the sooner a fast code is known, the more of the slow ones cost a
  // single launch.
  while (waiting_.empty() && receive()) {
  }
  if (waiting_.empty()) return {};
  const auto guess = [&](int id) {
    const StaticFacts& facts = *record_.trials.at(static_cast<std::size_t>(id)).facts;
    return std::tuple(facts.spill_store_bytes + facts.spill_load_bytes, -facts.registers_per_thread, id);
  };
  const auto best =
      std::min_element(waiting_.begin(), waiting_.end(), [&](int a, int b) { return guess(a) < guess(b); });
  const int id = *best;
  waiting_.erase(best);
  return entrant(id);
}

bool CompiledEntrants::has_more(const std::vector<int>& still_racing) {
  // Beside __block_size__ there are no caps: every __maxnreg__ is in the race already.
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
  sweep_.add(builds);
  return !builds.empty();
}

void CompiledEntrants::finish(const std::map<int, Outcome>& outcomes) {
  while (receive()) {
  }
  // By arrival the first variant of a code was the one to be timed; by id is how it is told.
  record_.trials = collapse(record_.trials, codes_, limits_);
  for (const auto& [id, outcome] : outcomes) {
    const int told_as = timed_trial(record_.trials, id).variant.id;
    record_.trials.at(static_cast<std::size_t>(told_as)).outcome = outcome;
  }
}

}  // namespace regtune
