#include "file_wide_cap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "decide.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "statistics.hpp"
#include "toml_description.hpp"

namespace regtune {
namespace {

using Json = nlohmann::json;

// Fewer are no measurement that anything can stand on.
constexpr int kFewestRounds = 2;

// As the description that the record holds says; a damaged one says nothing.
double weight_of(const TuningRecord& record) {
  if (record.description.empty()) return 1;
  try {
    return description_from_toml(record.description, "the stored description", 0).weight;
  } catch (const Error&) {
    return 1;
  }
}

const Measurement* measurement_of(const Trial& trial) {
  if (const auto* measured = std::get_if<Measurement>(&trial.outcome)) return measured;
  const auto* abandoned = std::get_if<Abandoned>(&trial.outcome);
  return abandoned ? &abandoned->so_far : nullptr;
}

// Why --maxrregcount changes nothing in the author's own code.
std::string why_no_cap_binds(const TuningRecord& record) {
  const std::optional<StaticFacts>& facts = record.trials.front().facts;
  if (!facts) return "";
  if (facts->required_threads_per_block > 0) return "its block size is declared (__block_size__)";
  if (facts->max_threads_per_block > 0)
    return record.author_bounds.empty() ? "it has launch bounds of its own"
                                        : fmt::format("it has its own __launch_bounds__({})", record.author_bounds);
  const bool has_option = std::any_of(record.options.begin(), record.options.end(), [](const std::string& option) {
    return option.find("maxrregcount") != std::string::npos;
  });
  if (facts->budget.status == BudgetStatus::in_force && !has_option) return "it has its own __maxnreg__";
  return "";
}

// Times of one code over another's in rounds that they shared. The first launches, of round 0, are no rounds.
std::vector<double> ratios_of(const Measurement& numerator, const Measurement& denominator) {
  const auto raced = [](const Measurement& measurement) {
    std::vector<Sample> samples = measurement.race;
    std::erase_if(samples, [](const Sample& sample) { return sample.round == 0; });
    return samples;
  };
  std::vector<double> ratios = paired_ratios(raced(numerator), raced(denominator));
  const std::vector<double> confirmed = paired_ratios(numerator.confirmation, denominator.confirmation);
  ratios.insert(ratios.end(), confirmed.begin(), confirmed.end());
  return ratios;
}

// A variant's code, as it was timed.
struct TimedCode {
  int id = 0;
  const Measurement* measured = nullptr;
};

// What one record knows of caps on the author's launch.
class TunedKernel {
 public:
  explicit TunedKernel(const TuningRecord& record) : record_(record), why_no_cap_binds_(why_no_cap_binds(record)) {
    reference_ = code_of(record.verdict->reference_id);
    for (const Trial& trial : record.trials) {
      const auto* cap = std::get_if<RegisterCap>(&trial.variant.policy);
      if (!cap || !trial.variant.choice.is_authors() || trial.shape != record.author_shape) continue;
      const TimedCode code = code_of(trial.variant.id);
      if (!code.measured || !reference_.measured) continue;
      const bool is_reference = code.id == reference_.id;
      if (!is_reference && ratios(reference_, code).size() < kFewestRounds) continue;
      caps_[cap->registers_per_thread] = {trial.variant.id, code};
    }
  }

  const TuningRecord& record() const { return record_; }
  const std::string& own_bound() const { return why_no_cap_binds_; }
  const TimedCode& reference() const { return reference_; }
  TimedCode bound() const { return code_of(record_.verdict->best_in_source_id); }

  bool knows(int cap) const { return !why_no_cap_binds_.empty() || caps_.contains(cap); }
  TimedCode code_under(int cap) const { return why_no_cap_binds_.empty() ? caps_.at(cap).second : reference_; }
  const Trial* trial_under(int cap) const {
    if (!why_no_cap_binds_.empty()) return nullptr;
    return &record_.trials.at(static_cast<std::size_t>(caps_.at(cap).first));
  }

  std::vector<double> ratios(const TimedCode& numerator, const TimedCode& denominator) const {
    if (numerator.id == denominator.id) return {};
    return ratios_of(*numerator.measured, *denominator.measured);
  }

  // The median ratio of times; that of their medians where no round was shared.
  double ratio(const TimedCode& numerator, const TimedCode& denominator) const {
    return interval(numerator, denominator, 0.5).median;
  }
  Interval interval(const TimedCode& numerator, const TimedCode& denominator, double confidence) const {
    if (numerator.id == denominator.id) return {1, 1, 1};
    const std::vector<double> shared = ratios(numerator, denominator);
    if (shared.size() >= kFewestRounds) return median_interval(shared, confidence);
    const Interval& above = numerator.measured->time_ms;
    const Interval& below = denominator.measured->time_ms;
    return {above.low / below.high, above.median / below.median, above.high / below.low};
  }

 private:
  TimedCode code_of(int id) const {
    const Trial& timed = timed_trial(record_.trials, id);
    const Measurement* measured = measurement_of(timed);
    return {timed.variant.id, measured && measured->time_ms.median > 0 ? measured : nullptr};
  }

  const TuningRecord& record_;
  std::string why_no_cap_binds_;
  TimedCode reference_;
  std::map<int, std::pair<int, TimedCode>> caps_;  // the variant that is the cap, and the code that was timed for it
};

// The file's time under a cap, where that with the authors' code is 1.
double file_time(const std::vector<TunedKernel>& kernels, const std::vector<double>& shares, int cap) {
  double time = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    time += shares[i] * kernels[i].ratio(kernels[i].code_under(cap), kernels[i].reference());
  return time;
}

std::vector<double> shares_of(const std::vector<TunedKernel>& kernels, const std::vector<double>& weights) {
  std::vector<double> shares;
  double sum = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    sum += shares.emplace_back(weights[i] * kernels[i].reference().measured->time_ms.median);
  for (double& share : shares) share /= sum;
  return shares;
}

// Of caps that are as fast within the margin: the fewest kernels for which it was not compiled itself, the fewest
// spills, and then the one that leaves most room.
int simplest(const std::vector<TunedKernel>& kernels, const std::vector<int>& caps) {
  const auto cost = [&](int cap) {
    int inferred = 0;
    std::int64_t spilled = 0;
    for (const TunedKernel& kernel : kernels) {
      const Trial* trial = kernel.trial_under(cap);
      if (!trial || !trial->facts) continue;
      inferred += trial->facts->budget.status == BudgetStatus::inferred ? 1 : 0;
      spilled += trial->facts->spilled_bytes();
    }
    return std::tuple(inferred, spilled, -cap);
  };
  return *std::min_element(caps.begin(), caps.end(), [&](int a, int b) { return cost(a) < cost(b); });
}

KernelUnderCap under(const TunedKernel& kernel, int cap, double weight, double share, double confidence) {
  const TimedCode code = kernel.code_under(cap);
  const TimedCode bound = kernel.bound();
  KernelUnderCap result;
  result.signature = kernel.record().signature;
  result.weight = weight;
  result.share = share;
  result.own_bound = kernel.own_bound();
  const Trial* trial = kernel.trial_under(cap);
  result.inferred = trial && trial->facts && trial->facts->budget.status == BudgetStatus::inferred;
  const auto best = static_cast<std::size_t>(kernel.record().verdict->best_in_source_id);
  const Variant& variant = kernel.record().trials.at(best).variant;
  result.best_bound = spell_around(spell(variant.policy), variant.choice, ", ");
  result.speedup = kernel.interval(kernel.reference(), code, confidence);
  result.speedup_of_bound = kernel.interval(kernel.reference(), bound, confidence);
  const Interval slower = kernel.interval(code, bound, confidence);
  result.loss = {slower.low - 1, slower.median - 1, slower.high - 1};
  std::vector<std::size_t> rounds;
  if (code.id != kernel.reference().id) rounds.push_back(kernel.ratios(kernel.reference(), code).size());
  if (code.id != bound.id) rounds.push_back(kernel.ratios(code, bound).size());
  if (!rounds.empty()) result.rounds = static_cast<int>(*std::min_element(rounds.begin(), rounds.end()));
  return result;
}

// Each kernel at its own end of its interval at once, which is wider than it need be and needs no assumption.
void add_up(FileWideCap& file) {
  Interval time{0, 0, 0}, time_of_bounds{0, 0, 0}, slower{0, 0, 0};
  for (const KernelUnderCap& kernel : file.kernels) {
    time.low += kernel.share / kernel.speedup.high;
    time.median += kernel.share / kernel.speedup.median;
    time.high += kernel.share / kernel.speedup.low;
    time_of_bounds.low += kernel.share / kernel.speedup_of_bound.high;
    time_of_bounds.median += kernel.share / kernel.speedup_of_bound.median;
    time_of_bounds.high += kernel.share / kernel.speedup_of_bound.low;
  }
  for (const KernelUnderCap& kernel : file.kernels) {
    const double share = kernel.share / kernel.speedup_of_bound.median / time_of_bounds.median;
    slower.low += share * kernel.loss.low;
    slower.median += share * kernel.loss.median;
    slower.high += share * kernel.loss.high;
  }
  file.speedup = {1 / time.high, 1 / time.median, 1 / time.low};
  file.speedup_of_bounds = {1 / time_of_bounds.high, 1 / time_of_bounds.median, 1 / time_of_bounds.low};
  file.loss = slower;
  file.gains = file.speedup.low > 1 + file.margin;
}

std::vector<int> caps_that_all_know(const std::vector<TunedKernel>& kernels) {
  std::vector<int> caps;
  for (int cap = 1; cap <= 255; ++cap)
    if (std::all_of(kernels.begin(), kernels.end(), [&](const TunedKernel& kernel) { return kernel.knows(cap); }))
      caps.push_back(cap);
  return caps;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string spell_loss(const Interval& loss) {
  if (loss.median < 0)  // a bound is not always better
    return fmt::format("gains {} ({} to {})", percent(-loss.median), percent(-loss.high), percent(-loss.low));
  return fmt::format("loses {} ({} to {})", percent(loss.median), percent(loss.low), percent(loss.high));
}

std::string few_rounds(const FileWideCap& file) {
  int fewest = 0;
  for (const KernelUnderCap& kernel : file.kernels)
    if (kernel.rounds > 0 && (fewest == 0 || kernel.rounds < fewest)) fewest = kernel.rounds;
  return fmt::format(
      "  a cap that loses to a bound leaves the race early: {} rounds are too few for {:.0f} % confidence, and the "
      "intervals are their ranges; time the file under the flag before you rely on it\n",
      fewest, file.confidence * 100);
}

std::string kernel_line(const KernelUnderCap& kernel) {
  std::string text = fmt::format("  {}: {:.0f} % of the time", kernel.signature, kernel.share * 100);
  if (kernel.weight != 1) text += fmt::format(" (weight {:g})", kernel.weight);
  if (kernel.own_bound.empty())
    text += fmt::format("; {:.3f}x ({:.3f} to {:.3f}) under the cap", kernel.speedup.median, kernel.speedup.low,
                        kernel.speedup.high);
  else
    text += fmt::format("; stays at the author's code: {}, and no cap changes it", kernel.own_bound);
  text +=
      fmt::format("; {:.3f}x by {}: {}", kernel.speedup_of_bound.median, kernel.best_bound, spell_loss(kernel.loss));
  if (kernel.rounds > 0) text += fmt::format(", from {} rounds", kernel.rounds);
  if (kernel.inferred) text += "; not compiled for it: the caps around it have one code (--every-cap compiles it)";
  return text + "\n";
}

Json interval_json(const Interval& interval) {
  return {{"low", interval.low}, {"median", interval.median}, {"high", interval.high}};
}

}  // namespace

FileWideChoice file_wide_cap(const std::vector<TuningRecord>& records) {
  const auto none = [](std::string why) { return FileWideChoice{{}, std::move(why)}; };
  std::vector<TunedKernel> kernels;
  std::vector<double> weights;
  for (const TuningRecord& record : records) {
    if (!record.gpu || !record.verdict) return none(fmt::format("{} was not timed", record.signature));
    kernels.emplace_back(record);
    weights.push_back(weight_of(record));
    if (!kernels.back().reference().measured || !kernels.back().bound().measured)
      return none(fmt::format("{} was not measured to the end", record.signature));
  }
  if (kernels.size() < 2) return none("fewer than two kernels were timed");
  if (std::none_of(kernels.begin(), kernels.end(), [](const TunedKernel& k) { return k.own_bound().empty(); }))
    return none("every kernel has a bound of its own, which overrides a cap");
  const std::vector<int> caps = caps_that_all_know(kernels);
  if (caps.empty()) return none("no cap was timed in every kernel");

  const std::vector<double> shares = shares_of(kernels, weights);
  std::map<int, double> time_of;
  for (const int cap : caps) time_of[cap] = file_time(kernels, shares, cap);
  const auto fastest = std::min_element(time_of.begin(), time_of.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  const MeasureSettings& settings = records.front().settings;
  std::vector<int> as_fast;
  for (const auto& [cap, time] : time_of)
    if (time <= fastest->second * (1 + settings.margin)) as_fast.push_back(cap);

  FileWideCap file;
  file.registers_per_thread = simplest(kernels, as_fast);
  file.caps_compared = static_cast<int>(caps.size());
  file.confidence = settings.confidence;
  file.margin = settings.margin;
  // The luckiest of the caps is named, and all kernels must be right at once: the error is shared (Bonferroni). Caps of
  // one time are of one set of codes, and count once.
  std::vector<double> times;
  for (const auto& [cap, time] : time_of) times.push_back(time);
  std::sort(times.begin(), times.end());
  const auto distinct = std::unique(times.begin(), times.end()) - times.begin();
  const double confidence =
      1 - (1 - settings.confidence) / static_cast<double>(kernels.size()) / static_cast<double>(distinct);
  for (std::size_t i = 0; i < kernels.size(); ++i)
    file.kernels.push_back(under(kernels[i], file.registers_per_thread, weights[i], shares[i], confidence));
  file.enough_rounds = std::all_of(file.kernels.begin(), file.kernels.end(), [&](const KernelUnderCap& kernel) {
    return kernel.rounds == 0 || range_coverage(kernel.rounds) >= confidence;
  });
  add_up(file);
  return {std::move(file), ""};
}

std::string file_wide_text(const FileWideChoice& choice) {
  if (!choice.cap) return fmt::format("one --maxrregcount for the whole file: none is named: {}\n", choice.why_none);
  const FileWideCap& file = *choice.cap;
  std::string text =
      fmt::format("one --maxrregcount for the whole file, of {} caps timed in all {} kernels: ", file.caps_compared,
                  file.kernels.size());
  const std::string worth =
      fmt::format("{:.3f}x ({:.3f} to {:.3f})", file.speedup.median, file.speedup.low, file.speedup.high);
  if (file.gains)
    text += fmt::format("--maxrregcount={}: the file is {} as fast as with the authors' code",
                        file.registers_per_thread, worth);
  else
    text += fmt::format("leave it out: the best, --maxrregcount={}, makes the file {} as fast, which is no gain",
                        file.registers_per_thread, worth);
  text += fmt::format(", and {} against the best bound on each kernel\n", spell_loss(file.loss));
  if (!file.enough_rounds) text += few_rounds(file);
  for (const KernelUnderCap& kernel : file.kernels) text += kernel_line(kernel);
  text +=
      "  the flag is the file's: it holds for every kernel in it, those that were not tuned too; a bound travels with "
      "its "
      "kernel\n";
  return text;
}

nlohmann::json file_wide_json(const FileWideChoice& choice) {
  if (!choice.cap) return {{"registers_per_thread", nullptr}, {"why_none", choice.why_none}};
  const FileWideCap& file = *choice.cap;
  Json kernels = Json::array();
  for (const KernelUnderCap& kernel : file.kernels)
    kernels.push_back({{"signature", kernel.signature},
                       {"weight", kernel.weight},
                       {"share", kernel.share},
                       {"own_bound", kernel.own_bound},
                       {"inferred", kernel.inferred},
                       {"best_bound", kernel.best_bound},
                       {"speedup", interval_json(kernel.speedup)},
                       {"speedup_of_bound", interval_json(kernel.speedup_of_bound)},
                       {"loss", interval_json(kernel.loss)},
                       {"rounds", kernel.rounds}});
  return {{"registers_per_thread", file.registers_per_thread},
          {"option", fmt::format("--maxrregcount={}", file.registers_per_thread)},
          {"gains", file.gains},
          {"enough_rounds", file.enough_rounds},
          {"speedup", interval_json(file.speedup)},
          {"speedup_of_bounds", interval_json(file.speedup_of_bounds)},
          {"loss", interval_json(file.loss)},
          {"caps_compared", file.caps_compared},
          {"confidence", file.confidence},
          {"margin", file.margin},
          {"kernels", kernels}};
}

}  // namespace regtune
