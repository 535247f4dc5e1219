// Whether tune() names the right code, against an exhaustive referee in the same run on this GPU:
//   bench_referee KERNEL.cu [--runs 3] [--rounds 200] [--jobs N]
// First the kernel is tuned `runs` times, each time with another seed. Then every cap and every other budget that any
// of the runs knew is compiled, and every distinct code is timed in `rounds` interleaved rounds; none is left out, but
// one that takes more than twice the best's time in each of the first five rounds stops there. The code with the least
// median time, paired by round with the author's, is the referee's best. Prints one row of a table for each run: how
// much slower the code that the run recommends is than the referee's best, and the GPU time of the run as a share of
// what a referee takes that drops codes slower than 1.3 times the best after five rounds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "collapse.hpp"
#include "decide.hpp"
#include "description.hpp"
#include "device.hpp"
#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "policy.hpp"
#include "source.hpp"
#include "statistics.hpp"
#include "sweep.hpp"
#include "tune.hpp"
#include "workload.hpp"

namespace {

using namespace regtune;

constexpr double kDropAbove = 1.3;     // of the referee whose GPU time is the measure
constexpr std::size_t kDropAfter = 5;  // rounds
constexpr double kHopeless = 2;        // of the referee that judges

struct Options {
  std::filesystem::path kernel;
  int runs = 3;
  int rounds = 200;
  int jobs = 2;
};

struct Timed {
  Candidate candidate;
  std::string budget;  // the first that gives it
  std::string hash;
  std::vector<Sample> samples;
  double ratio = 0;  // median time over the author's, paired by round
};

// Every code that a run compiled, once, with its launch. They are all in the cache by now.
std::vector<Timed> distinct_codes(Sweep& sweep, const std::string& name, const std::vector<TuningRecord>& records,
                                  const GpuLimits& limits) {
  std::vector<Trial> trials;
  std::vector<Build> builds;
  for (const TuningRecord& record : records)
    for (const Trial& trial : record.trials) {
      const auto same = [&](const Trial& t) {
        return t.variant.policy == trial.variant.policy && t.variant.choice == trial.variant.choice &&
               t.shape == trial.shape;
      };
      if (!trial.facts || std::any_of(trials.begin(), trials.end(), same)) continue;
      trials.push_back({trial.variant, trial.shape, {}, NotTimed{}});
      trials.back().variant.id = static_cast<int>(trials.size()) - 1;
      const Build build{trial.variant.policy, trial.variant.choice};
      if (std::find(builds.begin(), builds.end(), build) == builds.end()) builds.push_back(build);
    }
  sweep.compile_every_cap();
  // Also those that the runs took to give the code of the caps around them.
  sweep.begin(records.front().kernel, name, limits, builds);
  std::vector<BuildCode> codes;
  while (std::optional<BuildCode> code = sweep.next()) codes.push_back(std::move(*code));
  std::vector<Timed> distinct;
  for (const Trial& trial : collapse(trials, codes, limits)) {
    if (!std::holds_alternative<NotTimed>(trial.outcome)) continue;
    const BuildCode& code = code_of(codes, {trial.variant.policy, trial.variant.choice});
    distinct.push_back({{trial.variant.id, code.kernel, code.cubin, trial.shape},
                        spell(trial.variant.policy),
                        trial.facts->code_hash,
                        {},
                        0});
  }
  return distinct;
}

// All codes that give the right result. Returns the GPU time of the reference run.
double time_all(Device& device, std::vector<Timed>& codes, int rounds) {
  const double reference_s = device.set_reference(codes.front().candidate).gpu_ms / 1000;
  std::erase_if(codes,
                [&](const Timed& code) { return !std::holds_alternative<double>(device.check(code.candidate)); });
  std::mt19937_64 random(20);
  std::vector<std::size_t> order(codes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int round = 0; round < rounds; ++round) {
    if (round == static_cast<int>(kDropAfter)) {
      const auto fastest = [](const Timed& code) {
        double ms = std::numeric_limits<double>::infinity();
        for (const Sample& sample : code.samples) ms = std::min(ms, sample.ms);
        return ms;
      };
      double best = fastest(codes.front());
      for (const Timed& code : codes) best = std::min(best, fastest(code));
      std::erase_if(order, [&](std::size_t i) { return i != 0 && fastest(codes[i]) > kHopeless * best; });
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order)
      if (const Shot shot = device.sample(codes[i].candidate); const double* ms = std::get_if<double>(&shot))
        codes[i].samples.push_back({round, *ms});
  }
  std::erase_if(codes, [](const Timed& code) { return code.samples.empty(); });
  for (Timed& code : codes) code.ratio = median(paired_ratios(code.samples, codes.front().samples));
  return reference_s;
}

// GPU time of the referee that stops timing what is far slower than the best after a few rounds.
double referee_seconds(const std::vector<Timed>& codes, int launches_per_sample) {
  const auto median_of_first = [](const Timed& code) {
    std::vector<double> first;
    for (const Sample& sample : code.samples)
      if (first.size() < kDropAfter) first.push_back(sample.ms);
    return median(first);
  };
  double best = median_of_first(codes.front());
  for (const Timed& code : codes) best = std::min(best, median_of_first(code));
  double ms = 0;
  for (const Timed& code : codes) {
    const bool stays = median_of_first(code) <= kDropAbove * best;
    for (std::size_t i = 0; i < (stays ? code.samples.size() : kDropAfter); ++i) ms += code.samples[i].ms;
  }
  return ms * launches_per_sample / 1000;
}

// Of the code that a run recommends.
const Timed* recommended(const std::vector<Timed>& codes, const TuningRecord& record, int id) {
  const Trial& trial = record.trials.at(static_cast<std::size_t>(id));
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const Timed& code) {
    return code.hash == trial.facts->code_hash && code.candidate.shape.block == trial.shape.block;
  });
  return found == codes.end() ? nullptr : &*found;
}

void judge(const Options& options) {
  const std::filesystem::path cache =
      std::filesystem::temp_directory_path() / fmt::format("regtune-referee-{}.db", getpid());
  std::vector<TuningRecord> records;
  for (int run = 0; run < options.runs; ++run) {
    TuneRequest request;
    request.source = options.kernel;
    request.jobs = options.jobs;
    request.cache = cache;
    request.measure.seed = static_cast<std::uint64_t>(run) + 1;
    Progress progress(true);
    records.push_back(tune(request, progress).record);
    if (!records.back().gpu) throw std::runtime_error("no GPU here that it can be timed on");
  }
  const TuningRecord& record = records.front();

  Device device(0);
  const Source source = read_source(options.kernel);
  const LaunchDescription description = launch_description(source, {});
  CompilePool pool(options.jobs, 600);
  const CompileUnit unit = compile_unit(source, description, record.architecture, pool.identity());
  Store store = Store::open(cache);
  KeptCodes kept(&store, unit, pool.identity());
  Sweep sweep(pool, unit, kept);
  const CompiledCode& first = sweep.first();
  const KernelSignature signature =
      choose_kernel(read_cubin(first.cubin), source.text, source.path.string(), description.kernel,
                    first.lowered_names.empty() ? "" : first.lowered_names.front());
  const WorkloadPlan plan = plan_workload(description, signature);
  std::vector<Timed> codes = distinct_codes(sweep, unqualified_name(signature), records, device.state()->limits);
  const CompiledCode device_code =
      pool.prepare({0, device_code_request(plan, record.architecture, pool.identity()), {}, true});
  device.prepare(plan, device_code, record.settings.timeout_ms, record.settings.never_restore);
  const double reference_s = time_all(device, codes, options.rounds);

  const auto best =
      std::min_element(codes.begin(), codes.end(), [](const Timed& a, const Timed& b) { return a.ratio < b.ratio; });
  const double referee_s = reference_s + referee_seconds(codes, record.settings.launches_per_sample);
  for (std::size_t run = 0; run < records.size(); ++run) {
    const TuningRecord& result = records[run];
    const Timed* chosen = recommended(codes, result, result.verdict->best_renamed_id.value_or(result.verdict->best_id));
    fmt::print("| {} | {} | {} | {}: {:.4f} | {}: {:.4f} | {:+.2f} % | {:.2f} s | {:.1f} s | 1/{:.1f} |\n",
               options.kernel.stem().string(), codes.size(), run + 1, best->budget, best->ratio,
               chosen ? chosen->budget : "not timed", chosen ? chosen->ratio : 0.0,
               chosen ? 100 * (chosen->ratio / best->ratio - 1) : 0.0, result.gpu_seconds, referee_s,
               referee_s / result.gpu_seconds);
  }
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(cache.string() + part);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const auto number = [&](const char* name, int& value) {
      if (std::strcmp(argv[i], name) != 0 || i + 1 >= argc) return false;
      value = std::max(1, std::atoi(argv[++i]));
      return true;
    };
    if (number("--runs", options.runs) || number("--rounds", options.rounds) || number("--jobs", options.jobs))
      continue;
    options.kernel = argv[i];
  }
  if (options.kernel.empty()) {
    fmt::print(stderr, "usage: bench_referee KERNEL.cu [--runs N] [--rounds N] [--jobs N]\n");
    return 2;
  }
  fmt::print(
      "| kernel | codes | run | best of the referee: time over the author's | recommended | slower by | GPU time of "
      "the "
      "run | of the referee | share |\n|---|---|---|---|---|---|---|---|---|\n");
  try {
    judge(options);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "bench_referee: {}\n", failure.what());
    return 1;
  }
}
