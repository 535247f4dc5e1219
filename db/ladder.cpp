#include "ladder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <variant>

#include "gpu_limits.hpp"
#include "key.hpp"
#include "occupancy.hpp"

namespace regtune {
namespace {

// Cards of one name with other memory have clocks that are far apart; one card's is read as it is.
constexpr double same_memory_clock = 1.05;

bool differ(int a, int b) {
  return a != 0 && b != 0 && a != b;
}

// CUDA 12 calls 10.1 what CUDA 13 calls 11.0.
std::pair<int, int> capability(const GpuId& gpu) {
  if (gpu.compute_major == 10 && gpu.compute_minor == 1) return {11, 0};
  return {gpu.compute_major, gpu.compute_minor};
}

bool same_gpu(const GpuId& a, const GpuId& b) {
  if (gpu_model_key(a.name) != gpu_model_key(b.name)) return false;
  const bool capabilities_known = a.compute_major != 0 && b.compute_major != 0;
  if (capabilities_known && capability(a) != capability(b)) return false;
  if (differ(a.sm_count, b.sm_count)) return false;
  const auto [low, high] = std::minmax(a.memory_clock_mhz, b.memory_clock_mhz);
  return low == 0 || high <= same_memory_clock * low;
}

double sm_distance(const GpuId& a, const GpuId& b) {
  if (a.sm_count <= 0 || b.sm_count <= 0) return std::numeric_limits<double>::max();
  return std::abs(std::log2(static_cast<double>(a.sm_count) / b.sm_count));
}

// "13.0" and "NVRTC 13.0" are "NVRTC 13.0.88"; "13.0.8" is not. Nothing said is nothing compared.
bool is_version(std::string_view said, std::string_view stored) {
  if (said.empty()) return true;
  for (std::size_t at = stored.find(said); at != std::string_view::npos; at = stored.find(said, at + 1)) {
    const auto is_part = [](char c) { return c != ' ' && c != ',' && c != '.'; };
    const std::size_t end = at + said.size();
    const bool begins = at == 0 || stored[at - 1] == ' ';
    if (begins && (end == stored.size() || !is_part(stored[end]))) return true;
  }
  return false;
}

// The most registers per thread that any compiler gives this budget; empty: it is the author's own, or has none.
std::optional<int> most_registers(const RegisterPolicy& policy, const GpuLimits& limits) {
  if (const auto* cap = std::get_if<RegisterCap>(&policy)) return cap->registers_per_thread;
  if (const auto* most = std::get_if<MaxRegisters>(&policy)) return most->registers_per_thread;
  if (const auto* bounds = std::get_if<LaunchBounds>(&policy)) return register_ceiling(limits, *bounds);
  if (std::holds_alternative<CompilerDefault>(policy)) return limits.max_registers_per_thread;
  return std::nullopt;
}

std::optional<std::string> why_budget_not_legal(const TunedBudget& budget, const KernelKey& key,
                                                const GpuLimits& limits, bool same_code) {
  BlockResources resources;
  resources.registers_per_thread = budget.registers_per_thread;
  resources.static_shared_bytes = budget.static_shared_bytes;
  resources.dynamic_shared_bytes = budget.dynamic_shared_bytes;
  resources.max_threads_per_block = budget.max_threads_per_block;
  resources.required_threads_per_block = budget.required_threads_per_block;
  if (const auto* bounds = std::get_if<LaunchBounds>(&budget.policy))
    resources.max_threads_per_block = bounds->max_threads_per_block;
  // For another architecture, or by another compiler, it is other code: only what the budget promises holds for it.
  // Below 24 the compiler raises a cap.
  if (!same_code) {
    constexpr int least_cap = 24;
    if (const auto most = most_registers(budget.policy, limits))
      resources.registers_per_thread = std::clamp(*most, least_cap, limits.max_registers_per_thread);
  }
  return why_not_launchable(limits, resources, key.block.value_or(budget.block));
}

// What puts candidates of one rung in order; the least is the best.
using Rank = std::tuple<double, double, double, bool, std::int64_t>;

struct Candidate {
  Rank rank;
  const TunedPolicy* answer = nullptr;
  double distance = 0;
  Stale stale;
};

// Empty: the answer does not stand on that rung.
std::optional<Candidate> candidate_on(Match rung, const KernelKey& key, const GpuId& gpu, const TunedPolicy& answer) {
  const std::optional<double> distance = size_distance(key.sizes, answer.sizes);
  if (!distance) return std::nullopt;
  const bool own = same_gpu(gpu, answer.gpu);
  const bool known = gpu.compute_major != 0;
  const bool capability_equal = known && capability(gpu) == capability(answer.gpu);
  const bool family_equal = known && capability(gpu).first == capability(answer.gpu).first;
  const bool sizes_equal = key.sizes == answer.sizes;
  Match stands_on = Match::none;
  if (own)
    stands_on = sizes_equal ? Match::exact : Match::nearest_sizes;
  else if (capability_equal)
    stands_on = Match::same_capability;
  else if (family_equal)
    stands_on = Match::same_family;
  if (stands_on != rung) return std::nullopt;
  const double minor_distance = own ? 0 : std::abs(capability(gpu).second - capability(answer.gpu).second);
  const Stale stale = stale_against(key, answer);
  return Candidate{
      {minor_distance, own ? 0 : sm_distance(gpu, answer.gpu), *distance, bool(stale), -answer.finish_order},
      &answer,
      *distance,
      stale};
}

// The answers that are meant by the name, by layer. Where a source tag is given and known, those of that source.
std::variant<std::vector<Layer>, Miss> answers_meant(const KernelKey& key, std::span<const Layer> layers) {
  std::vector<Layer> by_layer;
  std::set<std::string_view> kernels;
  std::set<std::string_view> kernels_of_source;
  for (const Layer& layer : layers) {
    Layer& meant = by_layer.emplace_back();
    for (const TunedPolicy* answer : layer) {
      if (!kernel_answers_to(answer->kernel, answer->signature, key.kernel)) continue;
      meant.push_back(answer);
      kernels.insert(answer->kernel);
      if (!key.source_tag.empty() && answer->source_tag == key.source_tag) kernels_of_source.insert(answer->kernel);
    }
  }
  if (kernels.empty()) return Miss::not_stored;
  if (!kernels_of_source.empty()) kernels = kernels_of_source;
  if (kernels.size() > 1) return Miss::ambiguous;
  for (Layer& meant : by_layer)
    std::erase_if(meant, [&](const TunedPolicy* answer) { return answer->kernel != *kernels.begin(); });
  return by_layer;
}

}  // namespace

std::optional<double> size_distance(const Sizes& asked, const Sizes& measured) {
  if (asked.size() != measured.size()) return std::nullopt;
  double doublings = 0;
  for (auto a = asked.begin(), m = measured.begin(); a != asked.end(); ++a, ++m) {
    if (a->first != m->first) return std::nullopt;
    if (a->second == m->second) continue;
    if (a->second <= 0 || m->second <= 0) return std::nullopt;
    doublings += std::abs(std::log2(static_cast<double>(a->second)) - std::log2(static_cast<double>(m->second)));
  }
  return doublings;
}

Stale stale_against(const KernelKey& key, const TunedPolicy& answer) {
  Stale stale;
  stale.driver = !is_version(key.driver, answer.driver);
  stale.compiler = !is_version(key.compiler, answer.compiler);
  stale.source = !key.source_tag.empty() && key.source_tag != answer.source_tag;
  return stale;
}

std::optional<std::string> why_not_legal(const TunedPolicy& answer, const KernelKey& key, const GpuId& gpu) {
  const GpuId& at_hand = gpu.compute_major != 0 ? gpu : answer.gpu;
  const std::optional<GpuLimits> limits = gpu_limits(at_hand.compute_major, at_hand.compute_minor);
  if (!limits) return "the limits of this compute capability are not known";
  const bool same_code = capability(at_hand) == capability(answer.gpu) && !stale_against(key, answer).compiler;
  for (const TunedBudget* budget : {&answer.best, &answer.in_source})
    if (auto reason = why_budget_not_legal(*budget, key, *limits, same_code)) return reason;
  return std::nullopt;
}

namespace {

std::vector<Candidate> candidates_on(Match rung, const KernelKey& key, const GpuId& gpu, const Layer& layer) {
  std::vector<Candidate> candidates;
  for (const TunedPolicy* answer : layer)
    if (const auto candidate = candidate_on(rung, key, gpu, *answer)) candidates.push_back(*candidate);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  return candidates;
}

bool as_measured(Match rung, const KernelKey& key, const TunedPolicy& answer) {
  return rung == Match::exact &&
         (!key.block || (*key.block == answer.best.block && *key.block == answer.in_source.block));
}

}  // namespace

Answer climb(const KernelKey& key, const GpuId& gpu, std::span<const Layer> layers, bool accept_stale) {
  const auto meant = answers_meant(key, layers);
  Answer answer;
  if (const Miss* miss = std::get_if<Miss>(&meant)) {
    answer.miss = *miss;
    return answer;
  }
  answer.miss = Miss::not_stored;
  for (const Match rung : {Match::exact, Match::nearest_sizes, Match::same_capability, Match::same_family}) {
    for (const Layer& layer : std::get<0>(meant)) {
      for (const Candidate& candidate : candidates_on(rung, key, gpu, layer)) {
        if (candidate.stale && !accept_stale) {
          if (answer.miss == Miss::not_stored) answer.miss = Miss::stale;
        } else if (!as_measured(rung, key, *candidate.answer) && why_not_legal(*candidate.answer, key, gpu)) {
          answer.miss = Miss::not_legal;
        } else {
          return {candidate.answer, rung, Miss::none, candidate.stale, candidate.distance};
        }
      }
    }
  }
  return answer;
}

}  // namespace regtune
