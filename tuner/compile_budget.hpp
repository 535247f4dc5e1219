#pragma once
// The wall time that the back end may take (--compile-budget), and what a sweep is expected to take. The clock runs
// while compilers have work and stands while they have none, as during the rounds of a race. Nothing is begun once the
// budget is spent; what is under way then is waited for: of a compilation of a minute a stop would leave nothing.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace regtune {

class CompileBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Empty: there is no limit. `now`: for tests.
  explicit CompileBudget(std::optional<double> limit_s = {},
                         std::function<Time()> now = std::chrono::steady_clock::now);

  // Nothing is compiled at all; `reason` says why.
  static CompileBudget none(std::string reason);

  void run();
  void stop();
  // Nothing is used yet: what was compiled turned out to be of no use.
  void restart();

  bool limited() const { return limit_s_.has_value(); }
  bool spent() const { return limit_s_ && used_s() >= *limit_s_; }
  double used_s() const;

  // Why something was not compiled: one sentence, which names the option that can change it.
  std::string reason() const;

 private:
  std::optional<double> limit_s_;
  std::string why_none_;
  std::function<Time()> now_;
  std::chrono::duration<double> used_{0};  // before running_since_
  std::optional<Time> running_since_;
};

// What lies ahead, by what the first compilation took.
struct CompileCost {
  std::size_t compilations = 0;
  double seconds = 0;  // of all, one after the other
  int jobs = 1;
  bool at_most = false;  // measured on more than one kernel of the file
  double wall_s() const { return seconds / jobs; }
};

// "about 480 compilations of 41 s on 16 jobs: 21 min; ..."; empty when they take less than a minute.
std::string cost_note(const CompileCost& cost, std::optional<double> budget_s);

}  // namespace regtune
