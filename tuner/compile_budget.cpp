#include "compile_budget.hpp"

#include <fmt/format.h>

#include <utility>

namespace regtune {
namespace {

constexpr double kWorthANote_s = 60;

std::string spell_duration(double seconds) {
  if (seconds < 1) return fmt::format("{:.2f} s", seconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

CompileBudget::CompileBudget(std::optional<double> limit_s, std::function<Time()> now)
    : limit_s_(limit_s), now_(std::move(now)) {}

CompileBudget CompileBudget::none(std::string reason) {
  CompileBudget budget(0);
  budget.why_none_ = std::move(reason);
  return budget;
}

void CompileBudget::run() {
  if (!running_since_) running_since_ = now_();
}

void CompileBudget::stop() {
  if (running_since_) used_ += now_() - *running_since_;
  running_since_.reset();
}

void CompileBudget::restart() {
  used_ = {};
  if (running_since_) running_since_ = now_();
}

double CompileBudget::used_s() const {
  return (used_ + (running_since_ ? now_() - *running_since_ : std::chrono::duration<double>(0))).count();
}

std::string CompileBudget::reason() const {
  if (!why_none_.empty()) return why_none_;
  return fmt::format("the compile budget of {:g} s was spent before its turn; see --compile-budget",
                     limit_s_.value_or(0));
}

std::string cost_note(const CompileCost& cost, std::optional<double> budget_s) {
  if (cost.compilations == 0 || cost.wall_s() < kWorthANote_s) return "";
  const std::string expected =
      fmt::format("about {} compilations of {}{} on {} {}: {}", cost.compilations, cost.at_most ? "up to " : "",
                  spell_duration(cost.seconds / static_cast<double>(cost.compilations)), cost.jobs,
                  cost.jobs == 1 ? "job" : "jobs", spell_duration(cost.wall_s()));
  if (!budget_s) return expected + "; --compile-budget S limits it to S seconds, spent where it can matter";
  if (*budget_s >= cost.wall_s()) return expected;
  return fmt::format(
      "{}; --compile-budget {:g} goes to the author's code, launch bounds, the caps at which occupancy changes, and "
      "then on",
      expected, *budget_s);
}

}  // namespace regtune
