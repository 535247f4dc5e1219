#include "policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace regtune {
namespace {

// Where more pieces than this are left, as when every second cap was compiled, a reader wants their number.
constexpr std::size_t kMostRanges = 8;
constexpr const char* kSpill = " + smem spill";

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// {24, 25, 26, 30} -> "24..26, 30" as separate pieces.
std::vector<std::string> ranges(std::vector<int> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t last = i;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
    pieces.push_back(last == i ? fmt::format("{}", values[i]) : fmt::format("{}..{}", values[i], values[last]));
    i = last + 1;
  }
  if (pieces.size() > kMostRanges)
    pieces = {fmt::format("{}..{} ({} of them)", values.front(), values.back(), values.size())};
  return pieces;
}

}  // namespace

std::string spell(const RegisterPolicy& policy) {
  return std::visit(
      Overloaded{[](const AuthorsOwn&) -> std::string { return "author's code"; },
                 [](const CompilerDefault&) -> std::string { return "no bound, no cap"; },
                 [](const RegisterCap& cap) { return fmt::format("--maxrregcount={}", cap.registers_per_thread); },
                 [](const LaunchBounds& bounds) {
                   return bounds.min_blocks_per_sm == 0
                              ? fmt::format("__launch_bounds__({})", bounds.max_threads_per_block)
                              : fmt::format("__launch_bounds__({}, {})", bounds.max_threads_per_block,
                                            bounds.min_blocks_per_sm);
                 },
                 [](const MaxRegisters& most) { return fmt::format("__maxnreg__({})", most.registers_per_thread); }},
      policy);
}

std::string spell(const RegisterPolicy& policy, bool spills_to_shared) {
  return spell(policy) + (spills_to_shared ? kSpill : "");
}

std::string spell(const std::vector<RegisterPolicy>& policies) {
  std::vector<std::string> pieces;
  std::vector<int> caps, most;
  std::map<int, std::vector<int>> blocks_of_threads;  // T -> every B
  for (const RegisterPolicy& policy : policies) {
    if (const auto* cap = std::get_if<RegisterCap>(&policy)) {
      caps.push_back(cap->registers_per_thread);
    } else if (const auto* bounds = std::get_if<LaunchBounds>(&policy); bounds && bounds->min_blocks_per_sm > 0) {
      blocks_of_threads[bounds->max_threads_per_block].push_back(bounds->min_blocks_per_sm);
    } else if (const auto* maxnreg = std::get_if<MaxRegisters>(&policy)) {
      most.push_back(maxnreg->registers_per_thread);
    } else if (const std::string piece = spell(policy);
               std::find(pieces.begin(), pieces.end(), piece) == pieces.end()) {
      pieces.push_back(piece);
    }
  }
  for (const std::string& range : ranges(caps)) pieces.push_back("--maxrregcount=" + range);
  for (const auto& [threads, blocks] : blocks_of_threads)
    for (const std::string& range : ranges(blocks))
      pieces.push_back(fmt::format("__launch_bounds__({}, {})", threads, range));
  for (const std::string& range : ranges(most)) pieces.push_back(fmt::format("__maxnreg__({})", range));
  return fmt::format("{}", fmt::join(pieces, ", "));
}

std::string spell(const SourceChoice& choice) {
  std::vector<std::string> pieces;
  if (!choice.instance.empty()) pieces.push_back(choice.instance);
  for (const auto& [name, value] : choice.macros) pieces.push_back(fmt::format("{}={}", name, value));
  if (choice.renamed) pieces.emplace_back("named cutlass_<kernel>");
  if (choice.register_usage_level >= 0)
    pieces.push_back(fmt::format("--register-usage-level={}", choice.register_usage_level));
  if (choice.spills_to_shared) pieces.emplace_back("smem spill");
  return fmt::format("{}", fmt::join(pieces, ", "));
}

std::string spell_around(const std::string& budgets, SourceChoice choice, const char* separator) {
  const bool spills = std::exchange(choice.spills_to_shared, false);
  const std::string beside = spell(choice);
  return beside + (beside.empty() ? "" : separator) + budgets + (spills ? kSpill : "");
}

bool travels_with_source(const RegisterPolicy& policy) {
  return std::holds_alternative<LaunchBounds>(policy) || std::holds_alternative<MaxRegisters>(policy) ||
         std::holds_alternative<CompilerDefault>(policy) || std::holds_alternative<AuthorsOwn>(policy);
}

bool travels_with_source(const Variant& variant) {
  return travels_with_source(variant.policy) && !variant.choice.renamed && variant.choice.register_usage_level < 0;
}

int complexity(const RegisterPolicy& policy) {
  return std::visit(Overloaded{[](const AuthorsOwn&) { return 0; }, [](const CompilerDefault&) { return 1; },
                               [](const LaunchBounds& bounds) { return bounds.min_blocks_per_sm == 0 ? 2 : 3; },
                               [](const MaxRegisters&) { return 4; }, [](const RegisterCap&) { return 5; }},
                    policy);
}

}  // namespace regtune
