// What a sweep of every cap costs against plain NVRTC, both in one run on this machine:
//   bench_compile_engine KERNEL.cu [--jobs N] [--arch sm_90] [--caps N] [--every-cap] [--trace FILE.csv] [--idle]
// Baseline: the median of five warm NVRTC compilations, times the 232 caps from 24 to 255. Sweep: from nothing
// loaded to 232 results and one winner compiled once more by plain NVRTC. --caps: of so many, evenly from 24 to 255.
// Prints one row of a table. --trace writes when each compiler process was at what in that sweep; --idle prints what
// took the CPU time and when which worker had nothing to do.
//
// CPU use: the CPU time of all processes of the sweep by the kernel's count, this one included, over the cores given
// times the stage, which begins before the first worker is forked and ends when the last code is handed out. Workers
// that would idle compile what may be asked for; what they had not finished by then is in the CPU time, and not in what
// was used for answers.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "gpu_limits.hpp"
#include "idle_cores.hpp"
#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "nvrtc.hpp"
#include "process_cpu.hpp"
#include "statistics.hpp"
#include "sweep.hpp"
#include "worker.hpp"

namespace {

using namespace regtune;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// In a child, as everything that loads a compiler: the parent forks workers later.
std::vector<double> warm_nvrtc_seconds(const NvrtcRequest& request, int runs) {
  Worker worker([&](Channel& channel) {
    const Nvrtc nvrtc = Nvrtc::open();
    if (!nvrtc.compile(request).compiled) return;
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
      const auto start = Clock::now();
      nvrtc.compile(request);
      seconds.push_back(seconds_since(start));
    }
    channel.send(seconds);
  });
  return worker.channel().receive().message.get<std::vector<double>>();
}

constexpr int kFirstCap = 24;
constexpr int kLastCap = 255;

constexpr double kShortestIdle_s = 0.0005;

// Who was at what when: a line for each compilation, in seconds since the back end began. The server is process 0, the
// workers are numbered in the order of their first answer.
void write_trace(const std::string& file, const CompileUsage& usage, pid_t server, double back_end_start_s) {
  std::ofstream out(file);
  out << "process,what,given_s,begun_s,ended_s,collected_s,cpu_s\n";
  std::map<pid_t, std::size_t> number_of{{server, 0}};
  const auto write = [&](const CompileSpan& span, const char* how) {
    const std::size_t number = number_of.emplace(span.process, number_of.size()).first->second;
    const bool is_cap = span.process != server && span.id <= kLastCap - kFirstCap;
    const std::string what =
        is_cap ? fmt::format("cap {}{}", kFirstCap + span.id, how) : "plain NVRTC, the front end or the witness";
    out << fmt::format("{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", number, what, span.given_s - back_end_start_s,
                       span.begun_s - back_end_start_s, span.ended_s - back_end_start_s,
                       span.collected_s - back_end_start_s, span.cpu_s);
  };
  for (const CompileSpan& span : usage.spans()) write(span, "");
  for (const CompileSpan& span : usage.cut_short()) write(span, " (cut short)");
  if (!out.flush()) throw Error(ErrorKind::internal, fmt::format("{}: cannot be written", file));
}

// CPU time since the processes began, or of a stage.
struct StageCpu {
  double supervisor_s = 0;
  double server_s = 0;
  double workers_s = 0;
  double answered_s = 0;  // of server and workers, for jobs that were answered

  double all_s() const { return supervisor_s + server_s + workers_s; }
};

StageCpu cpu_now(const CompilePool& pool) {
  const CompileCpu children = pool.cpu();
  return {process_cpu_seconds(getpid()).value_or(0), children.server_s, children.workers_s,
          pool.usage().answered_cpu_s()};
}

StageCpu operator-(const StageCpu& later, const StageCpu& earlier) {
  return {later.supervisor_s - earlier.supervisor_s, later.server_s - earlier.server_s,
          later.workers_s - earlier.workers_s, later.answered_s - earlier.answered_s};
}

struct SweepCost {
  double wall_s = 0;
  double back_end_wall_s = 0;  // from the first submission to the last result
  StageCpu cpu;                // in that time
  std::string idle;            // in words
  double peak_mib = 0;         // sum over processes of each one's peak; what workers share with the server counts once
  std::size_t known = 0;       // caps whose code is known
  std::size_t inferred = 0;    // of these, without a compilation
  std::size_t distinct = 0;
  std::string route;
  std::string check;  // of the winner, against plain NVRTC
};

// What is swept, and how.
struct SweepRequest {
  std::string file;
  std::string architecture = "sm_90";
  int jobs = 2;
  int caps = kLastCap - kFirstCap + 1;
  bool every_cap = false;  // none is taken to be that of the caps around it
  std::string trace;
  bool idle = false;  // say what the cores did besides
};

std::vector<Build> spread_caps(int wanted) {
  std::vector<Build> caps;
  const int last = std::max(wanted - 1, 1);
  for (int i = 0; i < wanted; ++i) caps.push_back({RegisterCap{kFirstCap + i * (kLastCap - kFirstCap) / last}});
  return caps;
}

SweepCost sweep_all_caps(const Source& source, const LaunchDescription& description, const SweepRequest& request,
                         Store* store, const std::string& trace = "") {
  SweepCost cost;
  const auto start = Clock::now();
  CompilePool pool(request.jobs, 600);
  const CompileUnit unit = compile_unit(source, description, request.architecture, pool.identity());
  KeptCodes kept(store, unit, pool.identity());
  Sweep sweep(pool, unit, kept);
  if (request.every_cap) sweep.compile_every_cap();
  const CompiledCode& first = sweep.first();
  const KernelSignature kernel =
      choose_kernel(read_cubin(first.cubin), source.text, source.path.string(), description.kernel,
                    first.lowered_names.empty() ? "" : first.lowered_names[0]);
  const std::vector<Build> caps = spread_caps(request.caps);
  const StageCpu cpu_before = cpu_now(pool);
  const auto back_end_start = Clock::now();
  sweep.begin(kernel.mangled_name, unqualified_name(kernel), *gpu_limits(request.architecture), caps);
  std::vector<std::string> hashes;
  std::optional<BuildCode> winner;  // any will do: what its check costs does not depend on which it is
  while (auto code = sweep.next()) {
    if (!code->facts) continue;
    hashes.push_back(code->facts->code_hash);
    cost.inferred += code->inferred ? 1 : 0;
    if (!winner) winner = std::move(*code);
  }
  const auto back_end_end = Clock::now();
  cost.cpu = cpu_now(pool) - cpu_before;
  cost.back_end_wall_s = std::chrono::duration<double>(back_end_end - back_end_start).count();
  cost.idle = idle_text(
      idle_cores(pool.usage(), pool.server(), request.jobs, clock_seconds(back_end_start), clock_seconds(back_end_end)),
      kShortestIdle_s);
  if (winner) cost.check = sweep.difference_from_plain(*winner).value_or("equal");
  cost.wall_s = seconds_since(start);
  if (!trace.empty()) write_trace(trace, pool.usage(), pool.server(), clock_seconds(back_end_start));
  cost.peak_mib = pool.usage().peak_mib();
  cost.known = hashes.size();
  std::sort(hashes.begin(), hashes.end());
  cost.distinct = static_cast<std::size_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
  cost.route = sweep.route();
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  SweepRequest request;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
      request.jobs = std::max(1, std::atoi(argv[++i]));
    else if (std::strcmp(argv[i], "--caps") == 0 && i + 1 < argc)
      request.caps = std::clamp(std::atoi(argv[++i]), 1, kLastCap - kFirstCap + 1);
    else if (std::strcmp(argv[i], "--every-cap") == 0)
      request.every_cap = true;
    else if (std::strcmp(argv[i], "--idle") == 0)
      request.idle = true;
    else if (std::strcmp(argv[i], "--trace") == 0 && i + 1 < argc)
      request.trace = argv[++i];
    else if (std::strcmp(argv[i], "--arch") == 0 && i + 1 < argc)
      request.architecture = argv[++i];
    else
      request.file = argv[i];
  }
  if (request.file.empty()) {
    fmt::print(stderr,
               "usage: bench_compile_engine KERNEL.cu [--jobs N] [--arch sm_XX] [--caps N] [--every-cap] [--trace "
               "FILE.csv] [--idle]\n");
    return 2;
  }
  try {
    const Source source = read_source(request.file);
    const LaunchDescription description = launch_description(source, DescriptionFlags{});
    std::vector<double> nvrtc;
    {
      CompilePool pool(1, 600);
      const CompileUnit unit = compile_unit(source, description, request.architecture, pool.identity());
      nvrtc = warm_nvrtc_seconds(compile_request(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), 5);
    }
    const double one = median(nvrtc);
    const SweepCost cost = sweep_all_caps(source, description, request, nullptr, request.trace);
    // Twice into a scratch cache: what the second run costs, which finds everything there.
    const std::filesystem::path cache =
        std::filesystem::temp_directory_path() / fmt::format("regtune-bench-{}.db", getpid());
    double cold_s = 0;
    double warm_s = 0;
    {
      Store store = Store::open(cache);
      cold_s = sweep_all_caps(source, description, request, &store).wall_s;
      warm_s = sweep_all_caps(source, description, request, &store).wall_s;
    }
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(cache.string() + part);
    const double one_by_one = one * request.caps;
    fmt::print(
        "| kernel | jobs | NVRTC, median of 5 | x {0} | sweep of {0} caps | ratio | back end, CPU use | of it for "
        "answers | "
        "peak memory | compiled | codes | check of the winner | second run | way |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        request.caps);
    fmt::print(
        "| {} | {} | {:.3f} s | {:.1f} s | {:.2f} s | {:.1f} | {:.1f} % of {} | {:.1f} % | {:.0f} MiB | {} of {} | {} "
        "| "
        "{} | {:.1f} % of {:.2f} s | {} |\n",
        source.path.stem().string(), request.jobs, one, one_by_one, cost.wall_s, one_by_one / cost.wall_s,
        100 * cost.cpu.all_s() / cost.back_end_wall_s / request.jobs, request.jobs,
        100 * cost.cpu.answered_s / cost.back_end_wall_s / request.jobs, cost.peak_mib, cost.known - cost.inferred,
        cost.known, cost.distinct, cost.check, 100 * warm_s / cold_s, cold_s, cost.route);
    if (request.idle)
      fmt::print("\nCPU time in ms: workers {:.1f}, server {:.1f}, supervisor {:.1f}; for answers {:.1f}\n{}",
                 cost.cpu.workers_s * 1e3, cost.cpu.server_s * 1e3, cost.cpu.supervisor_s * 1e3,
                 cost.cpu.answered_s * 1e3, cost.idle);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "bench_compile_engine: {}\n", failure.what());
    return 1;
  }
}
