#include "record.hpp"

#include <array>

namespace regtune {
namespace {

// The spelling is part of the JSON and of the cache file: names are added, never changed.
template <typename Enum, std::size_t Count>
using Names = std::array<std::pair<Enum, std::string_view>, Count>;

constexpr Names<BudgetStatus, 6> budget_names{{
    {BudgetStatus::not_asked, "not_asked"},
    {BudgetStatus::in_force, "in_force"},
    {BudgetStatus::clamped, "clamped"},
    {BudgetStatus::inert, "inert"},
    {BudgetStatus::overridden, "overridden"},
    {BudgetStatus::inferred, "inferred"},
}};

constexpr Names<Verdict::Kind, 4> verdict_names{{
    {Verdict::Kind::improved, "improved"},
    {Verdict::Kind::no_gain, "no_gain"},
    {Verdict::Kind::inconclusive, "inconclusive"},
    {Verdict::Kind::not_resolvable, "not_resolvable"},
}};

constexpr Names<SampleMode, 3> sample_mode_names{{
    {SampleMode::one_launch, "one_launch"},
    {SampleMode::back_to_back, "back_to_back"},
    {SampleMode::graph, "graph"},
}};

template <typename Enum, std::size_t Count>
std::string_view name_of(const Names<Enum, Count>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  return "unknown";
}

template <typename Enum, std::size_t Count>
std::optional<Enum> value_of(const Names<Enum, Count>& names, std::string_view text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BudgetStatus status) {
  return name_of(budget_names, status);
}
std::optional<BudgetStatus> budget_status_from_string(std::string_view text) {
  return value_of(budget_names, text);
}

std::string_view to_string(Verdict::Kind kind) {
  return name_of(verdict_names, kind);
}
std::optional<Verdict::Kind> verdict_kind_from_string(std::string_view text) {
  return value_of(verdict_names, text);
}

std::string_view to_string(SampleMode mode) {
  return name_of(sample_mode_names, mode);
}
std::optional<SampleMode> sample_mode_from_string(std::string_view text) {
  return value_of(sample_mode_names, text);
}

}  // namespace regtune
