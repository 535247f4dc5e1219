#include "exported_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "decide.hpp"
#include "key.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

const Trial& trial_of(const TuningRecord& run, int id) {
  return run.trials.at(static_cast<std::size_t>(id));
}

// What was measured of that variant's code, in the race at least; nullptr: nothing.
const Measurement* measurement_of(const TuningRecord& run, int id) {
  const Outcome& outcome = timed_trial(run.trials, id).outcome;
  const Measurement* found = std::get_if<Measurement>(&outcome);
  if (const auto* abandoned = std::get_if<Abandoned>(&outcome)) found = &abandoned->so_far;
  return found && found->speedup.median > 0 ? found : nullptr;
}

std::optional<int> find_variant(const TuningRecord& run, const Variant& wanted) {
  const auto found = std::find_if(run.trials.begin(), run.trials.end(), [&](const Trial& trial) {
    return trial.variant.policy == wanted.policy && trial.variant.block == wanted.block &&
           trial.variant.choice == wanted.choice;
  });
  if (found == run.trials.end()) return {};
  return found->variant.id;
}

// The speed-up of a variant over the run's reference, as the verdict states it where it is about that variant.
std::optional<Interval> speedup_of(const TuningRecord& run, int id) {
  const Verdict& verdict = *run.verdict;
  if (id == verdict.reference_id) return Interval{1, 1, 1};
  if (id == verdict.best_id) return verdict.speedup;
  if (id == verdict.best_in_source_id) return verdict.speedup_in_source;
  const Measurement* measured = measurement_of(run, id);
  if (!measured) return {};
  return measured->speedup;
}

// Each run's own best: what a single one for all sizes is compared with.
double best_speedup(const TuningRecord& run) {
  return speedup_of(run, run.verdict->best_id).value_or(Interval{1, 1, 1}).median;
}

std::vector<double> weights_of(const std::vector<TuningRecord>& runs, const std::vector<SizeWeight>& asked) {
  std::vector<double> weights;
  double sum = 0;
  for (const TuningRecord& run : runs) {
    double weight = 1;
    for (const SizeWeight& one : asked) {
      const bool meant = std::all_of(one.sizes.begin(), one.sizes.end(), [&](const auto& size) {
        const auto found = run.sizes.find(size.first);
        return found != run.sizes.end() && found->second == size.second;
      });
      if (meant) weight = one.weight;
    }
    sum += weights.emplace_back(weight);
  }
  for (double& weight : weights) weight = sum > 0 ? weight / sum : 1.0 / static_cast<double>(runs.size());
  return weights;
}

// What that variant is worth over all runs; empty where one of them did not measure it.
std::optional<ExportedChoice> worth_of(const Variant& variant, const std::vector<TuningRecord>& runs,
                                       const std::vector<double>& weights) {
  ExportedChoice choice;
  double logarithms = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::optional<int> id = find_variant(runs[i], variant);
    const std::optional<Interval> speedup = id ? speedup_of(runs[i], *id) : std::nullopt;
    if (!speedup || !(speedup->median > 0) || !trial_of(runs[i], *id).facts) return {};
    if (i == 0) choice.variant = trial_of(runs[i], *id).variant;
    if (i == 0) choice.facts = *trial_of(runs[i], *id).facts;
    choice.shares.push_back(
        {runs[i].sizes, weights[i], *speedup, std::max(0.0, best_speedup(runs[i]) / speedup->median - 1)});
    logarithms += weights[i] * std::log(speedup->median);
  }
  choice.speedup = std::exp(logarithms);
  return choice;
}

// Simpler is better among those that are equally fast; as decide.cpp has it for one size.
auto simplicity(const ExportedChoice& choice) {
  return std::tuple(choice.variant.choice.spills_to_shared, choice.facts.spilled_bytes(),
                    choice.variant.choice.is_authors() ? 0 : 1, complexity(choice.variant.policy), choice.variant.id);
}

std::optional<ExportedChoice> choose(const std::vector<TuningRecord>& runs, const std::vector<double>& weights,
                                     bool in_source) {
  const TuningRecord& newest = runs.front();
  const Verdict& verdict = *newest.verdict;
  if (runs.size() == 1)
    return worth_of(trial_of(newest, in_source ? verdict.best_in_source_id : verdict.best_id).variant, runs, weights);
  std::vector<ExportedChoice> measured;
  for (const Trial& trial : newest.trials) {
    const bool own_name = !trial.variant.choice.renamed;
    if (!own_name || (in_source && !travels_with_source(trial.variant))) continue;
    if (auto choice = worth_of(trial.variant, runs, weights)) measured.push_back(std::move(*choice));
  }
  if (measured.empty()) return {};
  const auto fastest = std::max_element(measured.begin(), measured.end(),
                                        [](const auto& a, const auto& b) { return a.speedup < b.speedup; });
  const double enough = fastest->speedup / (1 + newest.settings.margin);
  // The author's code stays where nothing beats it by more than the margin.
  if (measured.front().variant.id == 0 && measured.front().speedup >= enough) return measured.front();
  std::erase_if(measured, [&](const ExportedChoice& choice) { return choice.speedup < enough; });
  return *std::min_element(measured.begin(), measured.end(),
                           [](const auto& a, const auto& b) { return simplicity(a) < simplicity(b); });
}

// "void ns::sgemm<128, float>(float*)" -> "ns_sgemm_128_float".
std::string identifier_of(const std::string& signature) {
  std::string name;
  int angles = 0;
  for (const char c : signature) {
    if (c == '<') ++angles;
    if (c == '>') --angles;
    if (c == '(' && angles == 0 && !name.empty()) break;
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (is_word) name += c;
    if (!is_word && !name.empty() && name.back() != '_') name += '_';
  }
  if (name.starts_with("void_")) name.erase(0, 5);
  while (name.ends_with('_')) name.pop_back();
  return name.empty() ? "kernel" : name;
}

// The shortest names that tell the kernels apart, by their mangled names.
std::map<std::string, std::string> names_of(const std::vector<ExportedKernel>& kernels) {
  std::map<std::string, std::string> bare, longer;
  std::map<std::string, std::set<std::string>> of_bare, of_longer;
  for (const ExportedKernel& kernel : kernels) {
    const TuningRecord& run = kernel.newest();
    bare[run.kernel] = identifier_of(bare_kernel_name(run.signature));
    longer[run.kernel] = identifier_of(run.signature);
    of_bare[bare[run.kernel]].insert(run.kernel);
    of_longer[longer[run.kernel]].insert(run.kernel);
  }
  std::map<std::string, std::string> names;
  for (const auto& [mangled, name] : bare) {
    if (of_bare[name].size() == 1)
      names[mangled] = name;
    else
      names[mangled] = of_longer[longer[mangled]].size() == 1 ? longer[mangled] : identifier_of(mangled);
  }
  return names;
}

std::string model_of(const TuningRecord& run) {
  return gpu_model_key(run.gpu->id.name);
}

// The runs that can be put together, of one kernel on one architecture: those of the newest one's GPU, source and
// options, one for each set of sizes.
std::vector<TuningRecord> comparable(std::vector<TuningRecord> runs, std::vector<std::string>& notes) {
  std::vector<TuningRecord> kept;
  for (TuningRecord& run : runs) {
    const bool known_sizes =
        std::any_of(kept.begin(), kept.end(), [&](const TuningRecord& other) { return other.sizes == run.sizes; });
    std::string why;
    if (!kept.empty() && model_of(run) != model_of(kept.front()))
      why = fmt::format("{} has the newer result of this architecture; --gpu chooses", kept.front().gpu->id.name);
    else if (!kept.empty() && run.source_hash != kept.front().source_hash)
      why = "its source was another one; tune that size again";
    else if (!kept.empty() && run.options != kept.front().options)
      why = "its compiler options were others; tune that size again";
    if (why.empty() && !known_sizes) kept.push_back(std::move(run));
    // Silent about what a newer run of the same sizes has made old news.
    else if (!why.empty() && (!known_sizes || model_of(run) != model_of(kept.front())))
      notes.push_back(fmt::format("{}, {} on {}, of {}, is left out: {}", run.signature, spell_sizes(run.sizes),
                                  run.gpu->id.name, run.started, why));
  }
  return kept;
}

void require_known(const std::vector<SizeWeight>& weights, const std::vector<ExportedKernel>& kernels) {
  for (const SizeWeight& weight : weights) {
    const bool known = std::any_of(kernels.begin(), kernels.end(), [&](const ExportedKernel& kernel) {
      return std::any_of(kernel.runs.begin(), kernel.runs.end(), [&](const TuningRecord& run) {
        return std::includes(run.sizes.begin(), run.sizes.end(), weight.sizes.begin(), weight.sizes.end());
      });
    });
    if (!known)
      throw Error(ErrorKind::usage,
                  fmt::format("--weight {}: nothing is stored for these sizes; regtune db list shows what is",
                              spell_sizes(weight.sizes)));
  }
}

}  // namespace

std::string spell_sizes(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text.empty() ? "no sizes" : text;
}

ExportedKernels exported_kernels(std::vector<TuningRecord> runs, const std::vector<SizeWeight>& weights) {
  ExportedKernels exported;
  std::map<std::pair<std::string, std::string>, std::vector<TuningRecord>> grouped;
  for (TuningRecord& run : runs)
    if (run.gpu && run.verdict && !run.trials.empty())
      grouped[{run.kernel, run.architecture}].push_back(std::move(run));
  for (auto& [key, of_kernel] : grouped) {
    ExportedKernel kernel;
    kernel.runs = comparable(std::move(of_kernel), exported.notes);
    const std::vector<double> shares = weights_of(kernel.runs, weights);
    auto in_source = choose(kernel.runs, shares, true);
    auto best = choose(kernel.runs, shares, false);
    if (!in_source || !best)
      throw Error(ErrorKind::usage, fmt::format("{}: no budget was measured at each of its {} sets of sizes, so none "
                                                "can serve them all; name one kernel and one size by --set",
                                                kernel.newest().signature, kernel.runs.size()));
    kernel.in_source = std::move(*in_source);
    kernel.best = std::move(*best);
    exported.kernels.push_back(std::move(kernel));
  }
  require_known(weights, exported.kernels);
  const std::map<std::string, std::string> names = names_of(exported.kernels);
  for (ExportedKernel& kernel : exported.kernels) kernel.name = names.at(kernel.newest().kernel);
  std::stable_sort(exported.kernels.begin(), exported.kernels.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.name, a.newest().gpu->id.compute_major, a.newest().gpu->id.compute_minor) <
           std::tuple(b.name, b.newest().gpu->id.compute_major, b.newest().gpu->id.compute_minor);
  });
  return exported;
}

}  // namespace regtune
