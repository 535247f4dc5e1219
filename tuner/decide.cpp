#include "decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
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

// Simplest first: the author's code, then what needs no pragma, then the fewest spills, then the form that travels with
// the source.
auto simplicity(const Trial& trial) {
  const bool author = std::holds_alternative<AuthorsOwn>(trial.variant.policy);
  return std::tuple(!author, trial.variant.choice.spills_to_shared, trial.facts->spilled_bytes(),
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

// What a sample of one launch can show. It holds the launch itself beside the kernel, and its timer has steps: under a
// step two times are equal, whatever the kernels took. Samples of many launches have no such limit.
class Sight {
 public:
  Sight(const Measurement* reference, const MeasureSettings& settings) : reference_(reference), settings_(settings) {
    const bool limited = reference && settings.launches_per_sample == 1 && settings.timer_resolution_ms > 0;
    if (limited) reference_ms_ = reference->time_ms.median;
  }

  // The medians are a step of the timer apart at least.
  bool tells_apart(const Measurement& faster) const {
    return reference_ms_ == 0 || reference_ms_ - faster.time_ms.median >= settings_.timer_resolution_ms;
  }

  // Nothing hides where every code is the reference's own, or slower by a step.
  bool may_hide_a_gain(const std::vector<Contender>& contenders) const {
    return std::any_of(contenders.begin(), contenders.end(), [this](const Contender& contender) {
      return contender.measured != reference_ &&
             contender.measured->time_ms.median < reference_ms_ + settings_.timer_resolution_ms;
    });
  }

  // Why nothing can be said of gains that the margin asks for; empty where it can be said.
  std::string obstacle() const {
    if (reference_ms_ == 0 || smallest_gain() <= kOutOfSight * std::max(settings_.margin, kFinestMargin)) return "";
    std::string text = fmt::format(
        "one launch takes {:.2f} us, an empty kernel {:.2f} us, and the timer's steps are "
        "{:.2f} us",
        reference_ms_ * 1000, settings_.launch_overhead_ms * 1000, settings_.timer_resolution_ms * 1000);
    if (std::isfinite(smallest_gain()))
      text += fmt::format(", so that a gain of less than {:.1f} % cannot be seen", smallest_gain() * 100);
    else
      text += ", so that nothing of the kernel's own time can be seen";
    if (settings_.restored)
      return text +
             "; a larger size would help (--set), or a kernel that does not read its own output, of which many "
             "launches are timed together";
    return text +
           "; a larger size would help (--set), or warm caches (no --cold), with which many launches are timed "
           "together";
  }

 private:
  // As a share of the kernel's own time.
  double smallest_gain() const {
    const double own_ms = reference_ms_ - settings_.launch_overhead_ms;
    const double needed_ms = std::max(settings_.margin * reference_ms_, settings_.timer_resolution_ms);
    return own_ms > 0 ? needed_ms / own_ms : std::numeric_limits<double>::infinity();
  }

  // A gain may hide behind the launch up to this many margins: a kernel that takes as long as its launch.
  static constexpr double kOutOfSight = 2;
  static constexpr double kFinestMargin = 0.001;

  const Measurement* reference_;
  MeasureSettings settings_;
  double reference_ms_ = 0;  // 0: no limit
};

// Which contenders gain: the whole interval lies above 1 + margin, and it comes from as many rounds as the
// confidence needs, shared among all the codes that had the chance to win.
class Gain {
 public:
  Gain(const std::vector<Contender>& contenders, const Sight& sight, const MeasureSettings& settings)
      : sight_(sight), threshold_(1 + settings.margin) {
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
    return contender.measured->speedup.low > threshold_ && enough_rounds(contender) &&
           sight_.tells_apart(*contender.measured);
  }
  bool ruled_out(const Contender& contender) const {
    return contender.measured->speedup.high <= threshold_ && enough_rounds(contender);
  }

 private:
  const Sight& sight_;
  double threshold_;
  double coverage_ = 1;
};

// The winner with the L2 cache in the other state, and who beats it there by more than the margin. Of so few rounds
// the interval is their range.
void judge_other_way(Verdict& verdict, const std::vector<Trial>& trials, const std::vector<Contender>& all,
                     const MeasureSettings& settings) {
  const Measurement* best = confirmed(timed_trial(trials, verdict.best_id));
  const Measurement* reference = confirmed(timed_trial(trials, verdict.reference_id));
  if (!best || !reference || range_coverage(static_cast<int>(best->other_way.size())) < settings.confidence) return;
  const auto speedup = [&](const Measurement& from, const Measurement& to, double confidence) -> Interval {
    const std::vector<double> ratios = paired_ratios(from.other_way, to.other_way);
    return ratios.empty() ? Interval{} : median_interval(ratios, confidence);
  };
  verdict.speedup_other_way = speedup(*reference, *best, settings.confidence);
  const double shared = 1 - (1 - settings.confidence) / static_cast<double>(all.size());
  double most = 1;
  const Contender* beats = nullptr;
  for (const Contender& contender : all) {
    if (contender.measured == best || contender.trial->variant.choice.renamed) continue;
    const Interval gain = speedup(*best, *contender.measured, shared);
    if (gain.low <= 1 + settings.margin || gain.median < most) continue;
    if (beats && gain.median == most && simplicity(*contender.trial) > simplicity(*beats->trial)) continue;
    most = gain.median;
    beats = &contender;
  }
  if (!beats) return;
  verdict.best_other_way_id = beats->trial->variant.id;
  verdict.speedup_of_best_other_way = speedup(*reference, *beats->measured, settings.confidence);
}

}  // namespace

std::vector<int> likely_to_be_named(const std::vector<Trial>& trials, const std::map<int, double>& ratios,
                                    double margin) {
  using Kind = bool (*)(const Variant&);
  const std::array<Kind, 3> kinds{[](const Variant& variant) { return !variant.choice.renamed; },
                                  [](const Variant& variant) { return travels_with_source(variant); },
                                  [](const Variant& variant) { return variant.choice.renamed; }};
  std::vector<int> named;
  for (const Kind is_of_kind : kinds) {
    std::vector<std::pair<const Trial*, double>> contenders;
    double least = 1 / (1 + margin);  // what does not gain is not named
    for (const Trial& trial : trials) {
      const auto ratio = ratios.find(timed_trial(trials, trial.variant.id).variant.id);
      if (ratio == ratios.end() || !is_of_kind(trial.variant) || !launchable(trial)) continue;
      contenders.emplace_back(&trial, ratio->second);
      least = std::min(least, ratio->second);
    }
    const Trial* simplest = nullptr;
    for (const auto& [trial, ratio] : contenders)
      if (ratio < 1 / (1 + margin) && ratio <= least * (1 + margin))
        if (!simplest || simplicity(*trial) < simplicity(*simplest)) simplest = trial;
    if (simplest && std::find(named.begin(), named.end(), simplest->variant.id) == named.end())
      named.push_back(simplest->variant.id);
  }
  return named;
}

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
  const Sight sight(confirmed(timed_trial(trials, reference_id)), settings);
  const Gain gains(all, sight, settings);
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
  } else if (const std::string obstacle = sight.obstacle(); !obstacle.empty() && sight.may_hide_a_gain(all)) {
    verdict.kind = Verdict::Kind::not_resolvable;
    verdict.reason = obstacle;
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
  judge_other_way(verdict, trials, all, settings);
  if (reference_id != 0 && !all.empty()) {
    // Whatever is best, it is better than code that cannot be launched.
    verdict.kind = Verdict::Kind::improved;
    verdict.reason = "the author's own code cannot be launched; speed-ups are against " +
                     spell(trials.at(static_cast<std::size_t>(reference_id)).variant.policy);
  }
  return verdict;
}

}  // namespace regtune
