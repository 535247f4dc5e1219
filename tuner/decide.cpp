#include "decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

#include "policy.hpp"
#include "statistics.hpp"

namespace regtune {
namespace {

bool launchable(const Trial& trial) {
  return trial.facts && trial.facts->occupancy && !std::holds_alternative<NotLaunchable>(trial.outcome);
}

const Measurement* confirmed(const Trial& trial) {
  const auto* measured = std::get_if<Measurement>(&trial.outcome);
  return measured && !measured->confirmation.empty() ? measured : nullptr;
}

// One budget to recommend and what its code was measured to gain.
struct Contender {
  const Trial* trial;  // the budget
  const Measurement* measured;
};

// Every budget whose code was confirmed and can be launched.
std::vector<Contender> confirmed_budgets(const std::vector<Trial>& trials) {
  std::vector<Contender> contenders;
  for (const Trial& trial : trials) {
    const Measurement* measured = confirmed(timed_trial(trials, trial.variant.id));
    if (measured && launchable(trial)) contenders.push_back({&trial, measured});
  }
  return contenders;
}

// Simplest first: the author's code, then the fewest spills, then the form that travels with the source.
auto simplicity(const Trial& trial) {
  const bool author = std::holds_alternative<AuthorsOwn>(trial.variant.policy);
  return std::tuple(!author, trial.facts->spill_store_bytes + trial.facts->spill_load_bytes,
                    complexity(trial.variant.policy), trial.variant.id);
}

// True when the whole interval of the time against the fastest's, paired by round, lies within the margin. By medians
// alone a code that is slower by the margin and was lucky would count as equal.
bool as_fast_as(const Measurement& measured, const Measurement& fastest, const MeasureSettings& settings) {
  if (&measured == &fastest) return true;
  const std::vector<double> ratios = paired_ratios(measured.confirmation, fastest.confirmation);
  return !ratios.empty() && median_interval(ratios, settings.confidence).high <= 1 + settings.margin;
}

// The simplest of those that are as fast as the fastest. Nothing when there is none at all.
std::optional<Contender> choose(const std::vector<Contender>& contenders, const MeasureSettings& settings) {
  const auto fastest = std::max_element(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.measured->speedup.median < b.measured->speedup.median; });
  if (fastest == contenders.end()) return {};
  Contender chosen = *fastest;
  std::map<const Measurement*, bool> equal;  // many budgets share one code
  for (const Contender& contender : contenders) {
    const auto [known, is_new] = equal.try_emplace(contender.measured, false);
    if (is_new) known->second = as_fast_as(*contender.measured, *fastest->measured, settings);
    if (known->second && simplicity(*contender.trial) < simplicity(*chosen.trial)) chosen = contender;
  }
  return chosen;
}

// Which contenders gain: the whole interval lies above 1 + margin, and it comes from as many rounds as the
// confidence needs, shared among all the codes that had the chance to win.
class Gain {
 public:
  Gain(const std::vector<Contender>& contenders, const MeasureSettings& settings) : threshold_(1 + settings.margin) {
    std::set<const Measurement*> codes;
    for (const Contender& contender : contenders) codes.insert(contender.measured);
    const double others = codes.size() < 3 ? 1 : static_cast<double>(codes.size() - 1);
    coverage_ = 1 - (1 - settings.confidence) / others;
  }

  double threshold() const { return threshold_; }
  bool enough_rounds(const Contender& contender) const {
    return range_coverage(static_cast<int>(contender.measured->confirmation.size())) >= coverage_;
  }
  bool operator()(const Contender& contender) const {
    return contender.measured->speedup.low > threshold_ && enough_rounds(contender);
  }
  bool ruled_out(const Contender& contender) const {
    return contender.measured->speedup.high <= threshold_ && enough_rounds(contender);
  }

 private:
  double threshold_;
  double coverage_ = 1;
};

}  // namespace

const Trial& timed_trial(const std::vector<Trial>& trials, int id) {
  const Trial& trial = trials.at(static_cast<std::size_t>(id));
  const auto* same = std::get_if<SameCodeAs>(&trial.outcome);
  return same ? trials.at(static_cast<std::size_t>(same->variant_id)) : trial;
}

std::optional<int> choose_reference(const std::vector<Trial>& trials) {
  const Trial* reference = nullptr;
  const auto rank = [](const Trial& trial) {
    const RegisterPolicy& policy = trial.variant.policy;
    if (trial.variant.id == 0) return 0;
    if (std::holds_alternative<CompilerDefault>(policy)) return 1;
    if (const auto* bounds = std::get_if<LaunchBounds>(&policy)) return bounds->min_blocks_per_sm == 0 ? 2 : 1000;
    if (const auto* cap = std::get_if<RegisterCap>(&policy)) return 3 + 255 - cap->registers_per_thread;
    return 2000;
  };
  // A stand-in has the author's block: with another it would be another launch.
  for (const Trial& trial : trials)
    if (launchable(timed_trial(trials, trial.variant.id)) && trial.variant.block == trials.front().variant.block)
      if (!reference || rank(trial) < rank(*reference)) reference = &trial;
  if (!reference) return {};
  return reference->variant.id;
}

Verdict decide(const std::vector<Trial>& trials, int reference_id, const MeasureSettings& settings) {
  Verdict verdict;
  verdict.reference_id = reference_id;
  verdict.best_id = reference_id;
  verdict.best_in_source_id = reference_id;
  verdict.speedup = {1, 1, 1};
  verdict.speedup_in_source = {1, 1, 1};

  const std::vector<Contender> all = confirmed_budgets(trials);
  const Gain gains(all, settings);
  std::vector<Contender> winners;  // under the kernel's own name
  std::vector<Contender> winners_in_source;
  std::vector<Contender> winners_renamed;
  for (const Contender& contender : all) {
    const Variant& variant = contender.trial->variant;
    if (variant.id == reference_id || !gains(contender)) continue;
    (variant.choice.renamed ? winners_renamed : winners).push_back(contender);
    if (travels_with_source(variant)) winners_in_source.push_back(contender);
  }
  if (all.empty()) {
    verdict.kind = Verdict::Kind::inconclusive;
    verdict.reason = "no variant was measured to the end; a longer run (--budget) may tell";
  } else if (const std::optional<Contender> best = choose(winners, settings)) {
    verdict.kind = Verdict::Kind::improved;
    verdict.best_id = best->trial->variant.id;
    verdict.speedup = best->measured->speedup;
    verdict.reason = fmt::format("the whole interval of the speed-up lies above {:.3f}", gains.threshold());
  } else if (std::all_of(all.begin(), all.end(), [&](const Contender& c) { return gains.ruled_out(c); })) {
    verdict.kind = Verdict::Kind::no_gain;
    verdict.reason = fmt::format("nothing is faster by more than {:.1f} %", settings.margin * 100);
  } else {
    verdict.kind = Verdict::Kind::inconclusive;
    verdict.reason = fmt::format(
        "some interval reaches above {:.3f} and none lies above it as a whole; a longer run "
        "(--budget) may tell",
        gains.threshold());
  }
  const auto skipped = std::count_if(trials.begin(), trials.end(), [](const Trial& trial) {
    return std::holds_alternative<NotCompiled>(trial.outcome);
  });
  if (skipped > 0) verdict.reason += fmt::format(", of what was compiled: {} budgets were not", skipped);
  if (const std::optional<Contender> best = choose(winners_in_source, settings)) {
    verdict.best_in_source_id = best->trial->variant.id;
    verdict.speedup_in_source = best->measured->speedup;
  }
  if (const std::optional<Contender> renamed = choose(winners_renamed, settings)) {
    // Another name is a price: it must pay by more than the margin.
    const Measurement& own = *confirmed(timed_trial(trials, verdict.best_id));
    const std::vector<double> ratios = paired_ratios(own.confirmation, renamed->measured->confirmation);
    if (!ratios.empty() && median_interval(ratios, settings.confidence).low > gains.threshold()) {
      verdict.best_renamed_id = renamed->trial->variant.id;
      verdict.speedup_renamed = renamed->measured->speedup;
    }
  }
  if (reference_id != 0 && !all.empty()) {
    // Whatever is best, it is better than code that cannot be launched.
    verdict.kind = Verdict::Kind::improved;
    verdict.reason = "the author's own code cannot be launched; speed-ups are against " +
                     spell(trials.at(static_cast<std::size_t>(reference_id)).variant.policy);
  }
  return verdict;
}

}  // namespace regtune
