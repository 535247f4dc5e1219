#include "referee.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "decide.hpp"
#include "regtune/error.hpp"
#include "statistics.hpp"
#include "throttle_watch.hpp"

namespace regtune {
namespace {

// The intervals are looked at after so many rounds only; each look carries its share of the error.
constexpr std::array kLooks = {30, 60, 120, 240, 480, 960, 1920};

struct Timed {
  const Candidate* candidate;
  std::vector<Sample> samples;
  std::string failure;  // empty: it runs
};

// The milliseconds, or nothing after the failure was noted.
std::optional<double> time_of(Timed& timed, const Shot& shot) {
  if (const double* ms = std::get_if<double>(&shot)) {
    if (std::isfinite(*ms) && *ms > 0) return *ms;
    timed.failure = "the GPU's timer gave no time for it";
  }
  if (const auto* refused = std::get_if<NotLaunchable>(&shot)) timed.failure = "cannot be launched: " + refused->reason;
  if (const auto* fault = std::get_if<Faulted>(&shot)) timed.failure = "faulted: " + fault->message;
  if (const auto* hang = std::get_if<TimedOut>(&shot))
    timed.failure = fmt::format("did not end within {:g} ms", hang->limit_ms);
  if (const auto* wrong = std::get_if<WrongResult>(&shot)) timed.failure = "its result is wrong: " + wrong->message;
  return {};
}

Interval speedup_of(const Timed& timed, const Timed& reference, const RefereeSettings& settings, std::size_t claims) {
  const std::vector<double> ratios = paired_ratios(reference.samples, timed.samples);
  if (ratios.empty()) return {};
  const double error = (1 - settings.confidence) / static_cast<double>(claims * kLooks.size());
  return median_interval(ratios, 1 - error);
}

// With too few rounds the interval is the range of the samples, which covers less than was asked for.
bool enough_rounds(std::size_t rounds, const RefereeSettings& settings, std::size_t claims) {
  const double error = (1 - settings.confidence) / static_cast<double>(claims * kLooks.size());
  return range_coverage(static_cast<int>(rounds)) >= 1 - error;
}

Finding judge(const Claim& claim, const Interval& now, bool enough, const RefereeSettings& settings) {
  Finding finding{claim, Finding::Says::unresolved, now, 0, ""};
  const bool precise = enough && now.high - now.low <= settings.precision;
  // A gain must be there at all, and be no less than was stored but for the margin. No gain: at most the margin.
  const double bound = claim.gains ? std::max(1.0, claim.speedup.low * (1 - settings.margin)) : 1 + settings.margin;
  const auto says = [&](bool above) {
    finding.says = above == claim.gains ? Finding::Says::holds : Finding::Says::fails;
    finding.reason = fmt::format("it is {:.3f} to {:.3f} times as fast now, and the stored answer needs {} {:.3f}",
                                 now.low, now.high, claim.gains ? "at least" : "at most", bound);
  };
  if (enough && now.low > bound)
    says(true);
  else if (enough && now.high < bound)
    says(false);
  else if (precise)
    says(now.median > bound);
  else
    finding.reason = fmt::format(
        "{:.3f} to {:.3f} is too wide to tell: give it more time (--budget), or a GPU that "
        "nobody else uses",
        now.low, now.high);
  return finding;
}

class Referee {
 public:
  Referee(Bench& bench, const Candidate& reference, const std::vector<Candidate>& candidates,
          const RefereeSettings& settings, std::uint64_t seed)
      : bench_(bench), settings_(settings), random_(seed) {
    bench_.set_reference(reference);
    const ReferenceRun run = bench_.warm_up(kWarmUpMs);
    launches_ = settings.cold ? 1 : run.launches_per_sample;
    timed_.push_back({&reference, {}, ""});
    for (const Candidate& candidate : candidates) {
      Timed& timed = timed_.emplace_back(Timed{&candidate, {}, ""});
      time_of(timed, bench_.check(candidate));
    }
  }

  void measure() {
    int rounds = 0;
    for (const int look : kLooks) {
      while (rounds < look) {
        if (spent_ms_ >= settings_.budget_s * 1000) return;
        rounds += take_round(rounds + 1) ? 1 : 0;
      }
      if (all_precise()) return;
    }
  }

  Finding finding(const Claim& claim, std::size_t place) const {
    const Timed& timed = timed_[place + 1];
    Finding found = judge(claim, speedup(timed), enough_rounds(timed.samples.size(), settings_, claims()), settings_);
    found.rounds = static_cast<int>(timed.samples.size());
    if (timed.failure.empty()) return found;
    // Where no gain was claimed, a code that does not run gains nothing.
    found.says = claim.gains ? Finding::Says::fails : Finding::Says::holds;
    found.reason = timed.failure;
    return found;
  }

  std::optional<ClockWatch> clocks() const { return watch_.summary(); }

 private:
  std::size_t claims() const { return std::max<std::size_t>(1, timed_.size() - 1); }
  Interval speedup(const Timed& timed) const { return speedup_of(timed, timed_.front(), settings_, claims()); }

  // False: the clocks were held down meanwhile, and the samples are dropped.
  bool take_round(int round) {
    std::vector<Timed*> order;
    for (Timed& timed : timed_)
      if (timed.failure.empty()) order.push_back(&timed);
    std::shuffle(order.begin(), order.end(), random_);
    bench_.take_clock_readings();  // those of what went before
    std::vector<std::pair<Timed*, double>> taken;
    for (Timed* timed : order) {
      const std::optional<double> ms =
          time_of(*timed, settings_.cold ? bench_.sample_cold(*timed->candidate) : bench_.sample(*timed->candidate));
      if (ms) taken.emplace_back(timed, *ms);
      if (ms) spent_ms_ += *ms * launches_;
      if (!ms && timed == &timed_.front())
        throw Error(
            ErrorKind::gpu_failed,
            "the code to compare with ran before and failed now; run it under compute-sanitizer: " + timed->failure);
    }
    if (!watch_.keeps_round(bench_.take_clock_readings())) return false;
    for (const auto& [timed, ms] : taken) timed->samples.push_back({round, ms});
    return true;
  }

  bool all_precise() const {
    return std::all_of(timed_.begin() + 1, timed_.end(), [&](const Timed& timed) {
      if (!timed.failure.empty()) return true;
      const Interval now = speedup(timed);
      return enough_rounds(timed.samples.size(), settings_, claims()) && now.high - now.low <= settings_.precision;
    });
  }

  Bench& bench_;
  RefereeSettings settings_;
  std::mt19937_64 random_;
  ThrottleWatch watch_;
  std::vector<Timed> timed_;  // the reference first
  int launches_ = 1;
  double spent_ms_ = 0;
};

}  // namespace

std::vector<Claim> claims_of(const TuningRecord& record) {
  if (!record.verdict) return {};
  const Verdict& verdict = *record.verdict;
  const auto timed_as = [&](int id) { return timed_trial(record.trials, id).variant.id; };
  std::vector<Claim> claims;
  const auto add = [&](int id, const Interval& speedup) {
    if (timed_as(id) == timed_as(verdict.reference_id)) return;
    const bool known = std::any_of(claims.begin(), claims.end(),
                                   [&](const Claim& claim) { return timed_as(claim.variant_id) == timed_as(id); });
    if (!known) claims.push_back({id, true, speedup});
  };
  add(verdict.best_id, verdict.speedup);
  add(verdict.best_in_source_id, verdict.speedup_in_source);
  if (verdict.best_renamed_id) add(*verdict.best_renamed_id, verdict.speedup_renamed);
  if (!claims.empty()) return claims;
  Claim fastest{-1, false, {}};
  for (const Trial& trial : record.trials) {
    const auto* measured = std::get_if<Measurement>(&trial.outcome);
    if (!measured || measured->confirmation.empty() || trial.variant.id == timed_as(verdict.reference_id)) continue;
    if (fastest.variant_id < 0 || measured->speedup.median > fastest.speedup.median)
      fastest = {trial.variant.id, false, measured->speedup};
  }
  if (fastest.variant_id >= 0) claims.push_back(fastest);
  return claims;
}

Findings referee(Bench& bench, const Candidate& reference, const std::vector<Claim>& claims,
                 const std::vector<Candidate>& candidates, const RefereeSettings& settings, std::uint64_t seed) {
  assert(claims.size() == candidates.size());
  Referee remeasured(bench, reference, candidates, settings, seed);
  remeasured.measure();
  Findings findings{{}, remeasured.clocks()};
  for (std::size_t i = 0; i < claims.size(); ++i) findings.of_claims.push_back(remeasured.finding(claims[i], i));
  return findings;
}

}  // namespace regtune
