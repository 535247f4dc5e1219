// Whether tune() names the right code, against an exhaustive referee in the same run on this GPU:
//   bench_referee KERNEL.cu... [--set n=1<<22] [--runs 3] [--rounds 200] [--jobs N] [--limit SECONDS]
// First the kernel is tuned `runs` times, each time with another seed. Then every cap and every other budget that any
// of the runs knew is compiled, and every distinct code is timed (exhaustive.hpp): what can be the best in `rounds`
// interleaved rounds. The code with the least median time, paired by round with the author's, is the referee's best.
// Prints one row of a table for each run: how much slower the code that the run recommends is than the referee's best,
// where the run's GPU time went, and its share of what a referee takes that drops codes slower than 1.3 times the best
// after five rounds. With a limit on the wall time of all kernels together the referee ends after fewer rounds, and
// says so; a kernel that does not come to 30 is not judged.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "collapse.hpp"
#include "decide.hpp"
#include "description.hpp"
#include "device.hpp"
#include "exhaustive.hpp"
#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "policy.hpp"
#include "source.hpp"
#include "sweep.hpp"
#include "tune.hpp"
#include "workload.hpp"

namespace {

using namespace regtune;

constexpr int kFewestRounds = 30;  // of a referee that is to be believed

struct Options {
  std::vector<std::filesystem::path> kernels;
  DescriptionFlags flags;  // sizes other than the source's
  int runs = 3;
  int rounds = 200;
  int jobs = 2;
  int limit_s = 0;  // 0: none
};

// Every code that a run compiled, once, with its launch. They are all in the cache by now.
std::vector<TimedCode> distinct_codes(Sweep& sweep, const std::string& name, const std::vector<TuningRecord>& records,
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
  std::vector<TimedCode> distinct;
  for (const Trial& trial : collapse(trials, codes, limits)) {
    if (!std::holds_alternative<NotTimed>(trial.outcome)) continue;
    const BuildCode& code = code_of(codes, {trial.variant.policy, trial.variant.choice});
    distinct.push_back({{trial.variant.id, code.kernel, code.cubin, trial.shape},
                        spell(trial.variant.policy),
                        trial.facts->code_hash});
  }
  return distinct;
}

// Of the code that a run recommends.
TimedCode* recommended(std::vector<TimedCode>& codes, const TuningRecord& record) {
  const Verdict& verdict = *record.verdict;
  const int id = verdict.best_renamed_id.value_or(verdict.best_id);
  const Trial& trial = record.trials.at(static_cast<std::size_t>(id));
  const auto found = std::find_if(codes.begin(), codes.end(), [&](const TimedCode& code) {
    return code.hash == trial.facts->code_hash && code.candidate.shape.block == trial.shape.block;
  });
  return found == codes.end() ? nullptr : &*found;
}

// Where the GPU time of a run went, from the samples that it holds.
struct GpuTime {
  double race_s = 0;
  double confirmation_s = 0;
  double other_way_s = 0;
  std::size_t race_rounds = 0;
  std::size_t confirmation_rounds = 0;
  std::size_t other_way_rounds = 0;
  int finalists = 0;  // the reference among them
};

GpuTime gpu_time(const TuningRecord& record) {
  GpuTime time;
  const auto add = [](const std::vector<Sample>& samples, int launches, double& seconds, std::size_t& rounds) {
    std::size_t in_rounds = 0;
    for (const Sample& sample : samples) {
      if (sample.round == 0) continue;  // the first launch, of a code that was in no round
      seconds += sample.ms * launches / 1000;
      ++in_rounds;
    }
    rounds = std::max(rounds, in_rounds);
  };
  for (const Trial& trial : record.trials) {
    const auto* left = std::get_if<Abandoned>(&trial.outcome);
    const auto* measured = left ? &left->so_far : std::get_if<Measurement>(&trial.outcome);
    if (!measured) continue;
    const int launches = record.settings.launches_per_sample;
    add(measured->race, launches, time.race_s, time.race_rounds);
    add(measured->confirmation, launches, time.confirmation_s, time.confirmation_rounds);
    add(measured->other_way, 1, time.other_way_s, time.other_way_rounds);
    time.finalists += measured->confirmation.empty() ? 0 : 1;
  }
  return time;
}

std::string spell(const GpuTime& time, double all_s) {
  return fmt::format(
      "{:.0f} warm-up and checks, {:.0f} race ({} rounds), {:.0f} confirmation ({} rounds of {}), {:.0f} cold ({})",
      1000 * (all_s - time.race_s - time.confirmation_s - time.other_way_s), 1000 * time.race_s, time.race_rounds,
      1000 * time.confirmation_s, time.confirmation_rounds, time.finalists, 1000 * time.other_way_s,
      time.other_way_rounds);
}

std::vector<TuningRecord> tune_repeatedly(const std::filesystem::path& kernel, const std::filesystem::path& cache,
                                          const Options& options) {
  std::vector<TuningRecord> records;
  for (int run = 0; run < options.runs; ++run) {
    TuneRequest request;
    request.source = kernel;
    request.flags = options.flags;
    request.jobs = options.jobs;
    request.cache = cache;
    request.measure.seed = static_cast<std::uint64_t>(run) + 1;
    Progress progress(true);
    records.push_back(tune(request, progress).record);
    if (!records.back().gpu) throw std::runtime_error("no GPU here that it can be timed on");
  }
  return records;
}

void print_rows(const std::string& kernel, std::vector<TimedCode>& codes, const ExhaustiveTiming& timing,
                const std::vector<TuningRecord>& records, int rounds) {
  const TimedCode& best = *std::min_element(codes.begin(), codes.end(),
                                            [](const TimedCode& a, const TimedCode& b) { return a.ratio < b.ratio; });
  const double referee_s = referee_seconds(codes, timing, rounds);
  for (std::size_t run = 0; run < records.size(); ++run) {
    const TuningRecord& result = records[run];
    const TimedCode* chosen = recommended(codes, result);
    fmt::print("| {} | {} | {} | {} | {}: {:.4f} | {}: {:.4f} | {:+.2f} % | {:.2f} s | {} | {:.1f} s | 1/{:.1f} |\n",
               kernel, codes.size(), timing.rounds, run + 1, best.budget, best.ratio,
               chosen ? chosen->budget : "not timed", chosen ? chosen->ratio : 0.0,
               chosen ? 100 * (chosen->ratio / best.ratio - 1) : 0.0, result.gpu_seconds,
               spell(gpu_time(result), result.gpu_seconds), referee_s, referee_s / result.gpu_seconds);
  }
}

void judge(const std::filesystem::path& kernel, const Options& options, Deadline deadline) {
  std::string name = kernel.stem().string();
  if (!options.flags.sizes.empty()) name += fmt::format(" ({})", fmt::join(options.flags.sizes, ", "));
  const auto started = std::chrono::steady_clock::now();
  const auto passed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  };
  if (deadline && started >= *deadline) {
    fmt::print("| {} | not judged: the limit was reached before its turn ||||||||||\n", name);
    return;
  }
  const std::filesystem::path cache = std::filesystem::temp_directory_path() /
                                      fmt::format("regtune-referee-{}-{}.db", kernel.stem().string(), getpid());
  const std::vector<TuningRecord> records = tune_repeatedly(kernel, cache, options);
  const TuningRecord& record = records.front();
  const double tuning_s = passed_s();

  Device device(0);
  const Source source = read_source(kernel);
  const LaunchDescription description = launch_description(source, options.flags);
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
  std::vector<TimedCode> codes = distinct_codes(sweep, unqualified_name(signature), records, device.state()->limits);
  const CompiledCode device_code =
      pool.prepare({0, device_code_request(plan, record.architecture, pool.identity()), {}, true});
  device.prepare(plan, device_code, record.settings.timeout_ms, record.settings.never_restore);
  for (const TuningRecord& result : records)
    if (TimedCode* chosen = recommended(codes, result)) chosen->to_the_end = true;
  const double before_s = passed_s();
  const ExhaustiveTiming timing = time_exhaustively(device, codes, options.rounds, kFewestRounds, deadline);
  if (timing.needed_s > 0)
    fmt::print(
        "| {} | {} | {} | not judged: {} rounds of the referee need {:.0f} s, of which {:.0f} s are the runs "
        "|||||||||\n",
        name, codes.size(), timing.rounds, kFewestRounds, before_s + timing.needed_s, tuning_s);
  else
    print_rows(name, codes, timing, records, options.rounds);
  std::fflush(stdout);
  fmt::print(stderr, "{}: {:.1f} s, of which the runs {:.1f} s and the compilers of the referee {:.1f} s\n", name,
             passed_s(), tuning_s, before_s - tuning_s);
  for (const TuningRecord& result : records)
    fmt::print(stderr, "  a run: {:.2f} s of GPU time; {}\n", result.gpu_seconds,
               spell(gpu_time(result), result.gpu_seconds));
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
    if (number("--runs", options.runs) || number("--rounds", options.rounds) || number("--jobs", options.jobs) ||
        number("--limit", options.limit_s))
      continue;
    if (std::strcmp(argv[i], "--set") == 0 && i + 1 < argc) {
      options.flags.sizes.emplace_back(argv[++i]);
      continue;
    }
    options.kernels.emplace_back(argv[i]);
  }
  if (options.kernels.empty()) {
    fmt::print(
        stderr,
        "usage: bench_referee KERNEL.cu... [--set NAME=VALUE] [--runs N] [--rounds N] [--jobs N] [--limit SECONDS]\n");
    return 2;
  }
  const Deadline deadline = options.limit_s > 0 ? after_ms(1000.0 * options.limit_s) : Deadline();
  fmt::print(
      "| kernel | codes | rounds | run | best of the referee: time over the author's | recommended | slower by | GPU "
      "time "
      "of the run | of which, in ms | of the referee | share |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
  int failed = 0;
  for (const std::filesystem::path& kernel : options.kernels) try {
      judge(kernel, options, deadline);
    } catch (const std::exception& failure) {
      fmt::print(stderr, "bench_referee: {}: {}\n", kernel.string(), failure.what());
      failed = 1;
    }
  return failed;
}
