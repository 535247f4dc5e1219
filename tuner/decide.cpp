#include "decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <tuple>

#include "policy.hpp"

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
  Interval speedup;
};

// Simplest first: the author's code, then the fewest spills, then the form that travels with the source.
auto simplicity(const Trial& trial) {
  const bool author = std::holds_alternative<AuthorsOwn>(trial.variant.policy);
  return std::tuple(!author, trial.facts->spill_store_bytes + trial.facts->spill_load_bytes,
                    complexity(trial.variant.policy), trial.variant.id);
}

// The simplest of those that are as fast as the fastest within the margin.
const Contender* choose(const std::vector<Contender>& contenders, double margin) {
  double fastest = 0;
  for (const Contender& contender : contenders) fastest = std::max(fastest, contender.speedup.median);
  const Contender* chosen = nullptr;
  for (const Contender& contender : contenders) {
    if (contender.speedup.median < fastest * (1 - margin)) continue;
    if (!chosen || simplicity(*contender.trial) < simplicity(*chosen->trial)) chosen = &contender;
  }
  return chosen;
}

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

  std::vector<Contender> all;
  std::vector<Contender> in_source;
  for (const Trial& trial : trials) {
    const Trial& timed = timed_trial(trials, trial.variant.id);
    const Measurement* measured = confirmed(timed);
    if (!measured || !trial.facts) continue;
    all.push_back({&trial, measured->speedup});
    if (travels_with_source(trial.variant.policy)) in_source.push_back(all.back());
  }
  const bool stand_in = reference_id != 0;
  const Contender* best = choose(all, settings.margin);
  if (!best) {
    verdict.kind = Verdict::Kind::inconclusive;
    verdict.reason = "no variant was measured to the end";
    return verdict;
  }
  const double threshold = 1 + settings.margin;
  const auto gains = [&](const Contender* contender) { return contender && contender->speedup.low > threshold; };
  const bool may_gain =
      std::any_of(all.begin(), all.end(), [&](const Contender& c) { return c.speedup.high > threshold; });
  const Contender* in_source_best = choose(in_source, settings.margin);

  if (gains(best)) {
    verdict.kind = Verdict::Kind::improved;
    verdict.best_id = best->trial->variant.id;
    verdict.speedup = best->speedup;
    verdict.reason = fmt::format("the whole interval of the speed-up lies above {:.3f}", threshold);
  } else if (may_gain) {
    verdict.kind = Verdict::Kind::inconclusive;
    verdict.reason = fmt::format("some interval reaches above {:.3f} and none lies above it as a whole; a longer run "
                                 "(--budget) may tell", threshold);
  } else {
    verdict.kind = Verdict::Kind::no_gain;
    verdict.reason = fmt::format("nothing is faster by more than {:.1f} %", settings.margin * 100);
  }
  if (gains(in_source_best)) {
    verdict.best_in_source_id = in_source_best->trial->variant.id;
    verdict.speedup_in_source = in_source_best->speedup;
  }
  if (stand_in) {
    // Whatever is best, it is better than code that cannot be launched.
    verdict.kind = Verdict::Kind::improved;
    verdict.reason = "the author's own code cannot be launched; speed-ups are against " +
                     spell(trials.at(static_cast<std::size_t>(reference_id)).variant.policy);
  }
  return verdict;
}

}  // namespace regtune
