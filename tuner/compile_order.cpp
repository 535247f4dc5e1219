#include "compile_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "static_facts.hpp"

namespace regtune {
namespace {

// What is compiled in this order; within the kernel's own name and within the others alike.
enum class Rank {
  authors,          // the author's code, as it stands
  bounds,           // no bound, (T), and the first (T, B) of each ceiling
  occupancy_steps,  // from few blocks to many
  repeated_bounds,  // of a ceiling that another B has: nearly always the same code
  caps,
};
constexpr int kRanks = 5;

// Every second of what is left at a time: 0, 8, 16, ... then 4, 12, ... then 2, 6, ... then the odd ones. Wherever a
// budget ends, no stretch of caps is untouched; and each pass, the last one too, goes from dear to cheap.
int pass(std::size_t position) {
  if (position % 8 == 0) return 0;
  if (position % 4 == 0) return 1;
  return position % 2 == 0 ? 2 : 3;
}

bool is_plain(const SourceChoice& choice) {
  return !choice.renamed && choice.register_usage_level < 0 && !choice.spills_to_shared;
}

// The number of registers that a cap states, in the source or out of it.
std::optional<int> cap_in(const RegisterPolicy& policy) {
  if (const auto* cap = std::get_if<RegisterCap>(&policy)) return cap->registers_per_thread;
  if (const auto* most = std::get_if<MaxRegisters>(&policy)) return most->registers_per_thread;
  return {};
}

// All builds of one source choice.
class OfChoice {
 public:
  explicit OfChoice(SourceChoice choice) : choice_(std::move(choice)) {}

  const SourceChoice& choice() const { return choice_; }
  void add_steps(const std::vector<int>& steps) {
    for (const int cap : steps)
      if (std::find(steps_.begin(), steps_.end(), cap) == steps_.end()) steps_.push_back(cap);
  }
  void add(const RegisterPolicy& policy) {
    if (std::find(policies_.begin(), policies_.end(), policy) == policies_.end()) policies_.push_back(policy);
  }

  // The place in the order: rank, pass, and then place within both.
  using Place = std::tuple<int, int, int>;
  std::vector<std::pair<Place, RegisterPolicy>> places(const GpuLimits& limits) const {
    std::vector<std::pair<Place, RegisterPolicy>> placed;
    std::set<std::pair<int, int>> ceilings;  // threads, ceiling
    std::size_t caps = 0;
    for (const RegisterPolicy& policy : policies_) {
      Rank rank = Rank::bounds;
      int pass_of_cap = 0;
      int within = static_cast<int>(placed.size());
      if (std::holds_alternative<AuthorsOwn>(policy) && choice_.is_authors()) {
        rank = Rank::authors;
      } else if (const std::optional<int> cap = cap_in(policy)) {
        const auto step = std::find(steps_.begin(), steps_.end(), *cap);
        if (step != steps_.end()) {
          rank = Rank::occupancy_steps;
          within = static_cast<int>(step - steps_.begin());
        } else {
          rank = Rank::caps;
          pass_of_cap = pass(caps++);
        }
      } else if (const auto* bounds = std::get_if<LaunchBounds>(&policy); bounds && bounds->min_blocks_per_sm > 0) {
        const auto ceiling = std::pair(bounds->max_threads_per_block, register_ceiling(limits, *bounds));
        if (!ceilings.insert(ceiling).second) rank = Rank::repeated_bounds;
      }
      placed.push_back({{static_cast<int>(rank), pass_of_cap, within}, policy});
    }
    return placed;
  }

 private:
  SourceChoice choice_;
  std::vector<int> steps_;
  std::vector<RegisterPolicy> policies_;
};

// In the order of their first trial.
std::vector<OfChoice> by_choice(const std::vector<Trial>& planned, std::int64_t static_shared_bytes,
                                const GpuLimits& limits) {
  std::map<std::pair<std::uint64_t, std::int64_t>, std::vector<int>> steps_of;  // by threads and dynamic shared memory
  std::vector<OfChoice> choices;
  for (const Trial& trial : planned) {
    const SourceChoice& choice = trial.variant.choice;
    auto found = std::find_if(choices.begin(), choices.end(), [&](const OfChoice& c) { return c.choice() == choice; });
    if (found == choices.end()) found = choices.insert(found, OfChoice(choice));
    found->add(trial.variant.policy);
    const auto launch = std::pair(trial.shape.block.volume(), trial.shape.dynamic_shared_bytes);
    auto steps = steps_of.find(launch);
    if (steps == steps_of.end())
      steps = steps_of.emplace(launch, occupancy_steps(trial.shape, static_shared_bytes, limits)).first;
    found->add_steps(steps->second);
  }
  return choices;
}

}  // namespace

std::vector<int> occupancy_steps(const LaunchShape& shape, std::int64_t static_shared_bytes, const GpuLimits& limits) {
  const auto blocks_with = [&](int registers) {
    const BlockResources resources{registers, static_shared_bytes, shape.dynamic_shared_bytes, 0, 0};
    if (registers > limits.max_registers_per_thread || why_not_launchable(limits, resources, shape.block)) return 0;
    return occupancy(limits, resources, shape.block).active_blocks_per_sm;
  };
  std::vector<int> steps;
  int fewer = blocks_with(limits.max_registers_per_thread + 1);
  for (int cap = limits.max_registers_per_thread; cap >= compiler_minimum_registers; --cap) {
    const int blocks = blocks_with(cap);
    if (blocks > fewer) steps.push_back(cap);
    fewer = blocks;
  }
  return steps;
}

CompileOrder compile_order(const std::vector<Trial>& planned, std::int64_t static_shared_bytes,
                           const GpuLimits& limits) {
  std::vector<std::pair<std::tuple<int, int, int, int>, Build>> placed;
  int number = 0;
  for (const OfChoice& choice : by_choice(planned, static_shared_bytes, limits)) {
    const int other = is_plain(choice.choice()) ? 0 : kRanks;
    for (const auto& [place, policy] : choice.places(limits)) {
      const auto [rank, pass_of_cap, within] = place;
      placed.push_back({{other + rank, pass_of_cap, number, within}, {policy, choice.choice()}});
    }
    ++number;
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  CompileOrder order;
  for (auto& [place, build] : placed) {
    const bool comes_first = std::get<0>(place) <= static_cast<int>(Rank::occupancy_steps);
    (comes_first ? order.first : order.rest).push_back(std::move(build));
  }
  return order;
}

CompileOrder in_one_wave(CompileOrder order) {
  std::move(order.rest.begin(), order.rest.end(), std::back_inserter(order.first));
  order.rest.clear();
  return order;
}

std::vector<Build> neighbours(const std::vector<FastCode>& fast, const std::vector<Build>& left) {
  std::vector<Build> near;
  const auto take = [&](const auto& is_meant) {
    for (const Build& build : left)
      if (is_meant(build) && std::find(near.begin(), near.end(), build) == near.end()) near.push_back(build);
  };
  for (const FastCode& code : fast) {
    const Build& own = code.builds.front();
    take([&](const Build& build) { return build.policy == own.policy && build.choice.macros == own.choice.macros; });
  }
  for (int distance = 0; distance <= kNeighbourhood; ++distance)
    for (const FastCode& code : fast)
      take([&](const Build& build) {
        const std::optional<int> cap = cap_in(build.policy);
        return cap && std::abs(*cap - code.registers_per_thread) == distance &&
               std::any_of(code.builds.begin(), code.builds.end(),
                           [&](const Build& own) { return own.choice == build.choice; });
      });
  return near;
}

}  // namespace regtune
