// The pool of compilers, with the real NVRTC in its children. This process itself never loads it.
#include "compile.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "cubin.hpp"
#include "kernel_choice.hpp"
#include "ptxas_report.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// Line 5 holds the error where BROKEN is defined.
const std::string kSource = R"(__global__ void __launch_bounds__(64, 16) k(float* out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += out[i] * sum;
#ifdef BROKEN
  undeclared = 1;
#endif
  out[threadIdx.x] = sum;
}
)";

CompilerIdentity identify() {
  return CompilePool(1, 120).identity();
}

class CompilePoolTest : public testing::Test {
 protected:
  void SetUp() override {
    static std::string reason;
    static const std::optional<CompilerIdentity> found = [] {
      try {
        return std::optional(identify());
      } catch (const Error& error) {
        reason = error.what();
        return std::optional<CompilerIdentity>();
      }
    }();
    if (!found) GTEST_SKIP() << reason;
    compiler_ = *found;
  }

  NvrtcRequest request(const RegisterPolicy& policy, const std::vector<std::string>& options = {}) const {
    LaunchDescription description;
    description.options = options;
    return compile_request(compile_unit({"folder/k.cu", kSource}, description, "sm_90", compiler_), {policy},
                           NvrtcOutput::cubin, "");
  }

  static std::map<int, CompiledCode> results_of(CompilePool& pool) {
    std::map<int, CompiledCode> results;
    while (std::optional<CompiledCode> code = pool.next()) {
      EXPECT_FALSE(results.contains(code->id)) << "job " << code->id << " was answered twice";
      results.emplace(code->id, std::move(*code));
    }
    return results;
  }

  CompilerIdentity compiler_;
};

// Every process with its parent.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string text;
    if (!std::getline(stat, text)) continue;
    // "pid (name) state parent ...", and the name may hold anything.
    char state = 0;
    pid_t parent = 0;
    if (sscanf(text.c_str() + text.rfind(')') + 1, " %c %d", &state, &parent) == 2) found[pid] = parent;
  }
  return found;
}

// The server is this process's child, and the workers are the server's.
std::vector<pid_t> workers() {
  const std::map<pid_t, pid_t> parent_of = parents();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : parent_of)
    if (parent_of.contains(parent) && parent_of.at(parent) == getpid()) found.push_back(pid);
  return found;
}

std::size_t children() {
  const std::map<pid_t, pid_t> parent_of = parents();
  return static_cast<std::size_t>(
      std::count_if(parent_of.begin(), parent_of.end(), [](const auto& entry) { return entry.second == getpid(); }));
}

bool is_loaded(const std::string& library, const std::string& process = "self") {
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

bool libnvrtc_is_loaded() {
  return is_loaded("libnvrtc");
}

bool server_has(const std::string& library) {
  for (const auto& [pid, parent] : parents())
    if (parent == getpid() && is_loaded(library, std::to_string(pid))) return true;
  return false;
}

TEST_F(CompilePoolTest, SaysWhatTheCompilerIs) {
  EXPECT_EQ(compiler_.name.rfind("NVRTC 1", 0), 0u) << compiler_.name;
  EXPECT_TRUE(std::filesystem::exists(compiler_.library_path)) << compiler_.library_path;
  EXPECT_TRUE(std::find(compiler_.architectures.begin(), compiler_.architectures.end(), 90) !=
              compiler_.architectures.end());
  const bool before = libnvrtc_is_loaded();
  identify();
  EXPECT_EQ(libnvrtc_is_loaded(), before) << "the compiler was loaded into this process";
}

// What it is, is asked in a process that ends; a run that finds every code kept never loads it.
TEST_F(CompilePoolTest, LoadsTheLinkerForTheFirstLink) {
  CompilePool pool(2, 120);
  const CompilerIdentity& compiler = pool.identity();
  if (!compiler.why_no_linker.empty()) GTEST_SKIP() << compiler.why_no_linker;
  EXPECT_EQ(compiler.linker.rfind("nvJitLink 1", 0), 0u) << compiler.linker;
  EXPECT_TRUE(server_has("libnvrtc"));
  EXPECT_FALSE(server_has("libnvJitLink"));
  const CompileUnit unit = compile_unit({"folder/k.cu", kSource}, {}, "sm_90", compiler);
  const std::vector<std::string> link_options{"-arch=sm_90", "-lto"};
  pool.submit({0, compile_request(unit, {CompilerDefault{}}, NvrtcOutput::lto_ir, ""), link_options, false});
  const CompiledCode code = pool.next().value();
  EXPECT_TRUE(code.compiled) << code.failure;
  EXPECT_TRUE(server_has("libnvJitLink")) << "for all workers, though it was a worker's link";
}

TEST_F(CompilePoolTest, DropsOneJobAndItsProcess) {
  CompilePool pool(2, 120);
  for (int i = 0; i < 5; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  pool.feed();
  EXPECT_EQ(workers().size(), 2u);
  pool.drop(1);  // under way
  pool.drop(4);  // waits
  pool.drop(7);  // not known
  EXPECT_EQ(pool.unfinished(), 3u);
  const std::map<int, CompiledCode> results = results_of(pool);
  EXPECT_EQ(results.size(), 3u);
  for (const int id : {0, 2, 3}) EXPECT_TRUE(results.at(id).compiled) << id << results.at(id).failure;
}

TEST_F(CompilePoolTest, GivesEachAskerItsOwnCodes) {
  CompilePool pool(2, 120);
  for (int i = 0; i < 3; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  for (int i = 0; i < 2; ++i) pool.submit_next({i, request(RegisterCap{48 + i}), {}, false, true, Asker::nvcc_builds});
  pool.feed();
  EXPECT_EQ(pool.processes_for(Asker::sweep), 0) << "what was asked for next came first";
  EXPECT_EQ(pool.processes_for(Asker::nvcc_builds), 2);
  const std::map<int, CompiledCode> of_sweep = results_of(pool);
  ASSERT_EQ(of_sweep.size(), 3u);
  EXPECT_EQ(pool.processes_for(Asker::sweep), 2);
  EXPECT_EQ(pool.unfinished(Asker::nvcc_builds), 2u) << "they wait to be taken";
  for (int i = 0; i < 2; ++i) {
    const CompiledCode code = pool.next({}, Asker::nvcc_builds).value();
    EXPECT_EQ(read_cubin(code.cubin).kernels.at(0).register_ceiling, 48 + code.id);
  }
  EXPECT_FALSE(pool.next({}, Asker::nvcc_builds));
}

TEST_F(CompilePoolTest, WhatOneAskerGivesUpTheOtherKeeps) {
  CompilePool pool(1, 120);
  pool.submit({0, request(RegisterCap{32}), {}, false});
  pool.submit({0, request(RegisterCap{48}), {}, false, true, Asker::nvcc_builds});
  pool.submit({1, request(RegisterCap{33}), {}, false});
  pool.feed();  // the sweep's first is under way
  pool.abandon();
  EXPECT_EQ(pool.unfinished(), 0u);
  EXPECT_FALSE(pool.next());
  const CompiledCode code = pool.next({}, Asker::nvcc_builds).value();
  ASSERT_TRUE(code.compiled) << code.failure;
  EXPECT_EQ(read_cubin(code.cubin).kernels.at(0).register_ceiling, 48);

  pool.submit({0, request(RegisterCap{48}), {}, false, true, Asker::nvcc_builds});
  pool.drop(0);
  EXPECT_EQ(pool.unfinished(Asker::nvcc_builds), 1u) << "ids are each asker's own";
}

TEST_F(CompilePoolTest, CountsTheCpuTimeOfWhatWasCompiledInVain) {
  CompilePool pool(1, 120);
  pool.identity();
  const CompileCpu before = pool.cpu();
  pool.submit({0, request(RegisterCap{32}), {}, false});
  pool.feed();
  // No answer is taken: all that the worker uses here is for nothing.
  for (int i = 0; i < 500 && pool.cpu().workers_s < 0.01; ++i) usleep(10000);
  const double used_s = pool.cpu().workers_s;
  ASSERT_GE(used_s, 0.01);
  pool.drop(0);
  EXPECT_GE(pool.cpu().workers_s, used_s) << "the worker is gone, and what it used is not";
  EXPECT_GT(pool.cpu().server_s, before.server_s) << "it has forked";
  EXPECT_EQ(pool.usage().answered_cpu_s(), 0);
  ASSERT_EQ(pool.usage().cut_short().size(), 1u);
  const CompileSpan& span = pool.usage().cut_short().front();
  EXPECT_EQ(span.id, 0);
  EXPECT_GT(span.ended_s, span.begun_s);
}

// While the caller reads the first answer, the worker that gave the second is at another job.
TEST_F(CompilePoolTest, GivesWorkToAllThatHaveAnsweredBeforeItReturnsTheFirst) {
  constexpr int kJobs = 6;
  CompilePool pool(2, 120);
  for (int i = 0; i < kJobs; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  pool.feed();
  usleep(1500000);  // both have answered by then, if the machine is not busy
  const double asked_s = clock_seconds(std::chrono::steady_clock::now());
  ASSERT_TRUE(pool.next());
  const double returned_s = clock_seconds(std::chrono::steady_clock::now());
  usleep(100000);
  EXPECT_EQ(results_of(pool).size(), kJobs - 1u);
  for (const CompileSpan& first : pool.usage().spans()) {
    if (first.ended_s > asked_s - 0.05) continue;
    const bool has_next = std::any_of(pool.usage().spans().begin(), pool.usage().spans().end(), [&](const auto& next) {
      return next.process == first.process && next.id != first.id && next.given_s <= returned_s;
    });
    EXPECT_TRUE(has_next) << "job " << first.id << " had ended, and its worker got nothing";
  }
}

TEST_F(CompilePoolTest, AnswersEveryJobOnce) {
  CompilePool pool(3, 120);
  const std::vector<RegisterPolicy> policies{AuthorsOwn{},    CompilerDefault{},    RegisterCap{24}, RegisterCap{32},
                                             RegisterCap{64}, LaunchBounds{512, 4}, MaxRegisters{40}};
  for (std::size_t i = 0; i < policies.size(); ++i)
    pool.submit({static_cast<int>(i) * 10, request(policies[i]), {}, false});
  EXPECT_EQ(pool.unfinished(), policies.size());
  const std::map<int, CompiledCode> results = results_of(pool);
  EXPECT_EQ(results.size(), policies.size());
  EXPECT_EQ(pool.unfinished(), 0u);
  EXPECT_FALSE(pool.next()) << "nothing is left to wait for";
  for (const auto& [id, code] : results) {
    ASSERT_TRUE(code.compiled) << id << ": " << code.failure;
    EXPECT_TRUE(code.failure.empty());
    EXPECT_GT(code.seconds, 0);
    const Cubin cubin = read_cubin(code.cubin);
    ASSERT_EQ(cubin.kernels.size(), 1u);
    EXPECT_EQ(cubin.sm, 90);
    EXPECT_NE(read_ptxas_report(code.log).find(cubin.kernels[0].name), nullptr) << "ptxas's report: " << code.log;
  }
  // Each answer is that of its own request.
  const auto kernel = [&](int id) { return read_cubin(results.at(id).cubin).kernels.at(0); };
  EXPECT_EQ(kernel(0).max_threads_per_block, 64) << "the author's own bounds";
  EXPECT_EQ(kernel(10).max_threads_per_block, 0) << "stripped";
  EXPECT_EQ(kernel(10).register_ceiling, 255);
  EXPECT_EQ(kernel(20).register_ceiling, 24);
  EXPECT_EQ(kernel(30).register_ceiling, 32);
  EXPECT_EQ(kernel(40).register_ceiling, 64);
  EXPECT_EQ(kernel(50).max_threads_per_block, 512);
  EXPECT_EQ(kernel(50).register_ceiling, 32);
  EXPECT_EQ(kernel(60).register_ceiling, 40);
}

TEST_F(CompilePoolTest, AFailureGivesTheCompilersLinesWithTheAuthorsLineNumber) {
  CompilePool pool(1, 120);
  const std::vector<RegisterPolicy> policies{AuthorsOwn{}, RegisterCap{64}, LaunchBounds{256, 2}, MaxRegisters{64}};
  for (std::size_t i = 0; i < policies.size(); ++i)
    pool.submit({static_cast<int>(i), request(policies[i], {"-DBROKEN"}), {}, false});
  for (const auto& [id, code] : results_of(pool)) {
    EXPECT_FALSE(code.compiled);
    EXPECT_TRUE(code.cubin.empty());
    EXPECT_NE(code.failure.find("folder/k.cu(5): error"), std::string::npos) << id << ": " << code.failure;
    EXPECT_NE(code.failure.find("undeclared"), std::string::npos) << code.failure;
  }
}

TEST_F(CompilePoolTest, AFailureCostsOneJob) {
  CompilePool pool(2, 120);
  pool.submit({0, request(RegisterCap{32}), {}, false});
  pool.submit({1, request(RegisterCap{32}, {"-DBROKEN"}), {}, false});
  pool.submit({2, request(RegisterCap{32}, {"--no-such-option"}), {}, false});
  pool.submit({3, request(RegisterCap{33}), {}, false});
  const std::map<int, CompiledCode> results = results_of(pool);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_TRUE(results.at(0).compiled && results.at(3).compiled);
  EXPECT_FALSE(results.at(1).compiled);
  EXPECT_FALSE(results.at(2).compiled);
  EXPECT_NE(results.at(2).failure.find("no-such-option"), std::string::npos) << results.at(2).failure;
}

TEST_F(CompilePoolTest, NamesOfTemplatesComeBackMangled) {
  CompilePool pool(1, 120);
  NvrtcRequest wanted{"template <int N> __global__ void t(float* p) { p[0] = N; }",
                      "t.cu",
                      {"--gpu-architecture=sm_90"},
                      {"t<3>", "t< 1 + 3 >"}};
  pool.submit({0, wanted, {}, false});
  const CompiledCode code = pool.next().value();
  ASSERT_TRUE(code.compiled) << code.failure;
  ASSERT_EQ(code.lowered_names.size(), 2u);
  const Cubin cubin = read_cubin(code.cubin);
  for (const std::string& name : code.lowered_names) EXPECT_NE(find_kernel(cubin, name), nullptr) << name;
  EXPECT_NE(code.lowered_names[0], code.lowered_names[1]);
}

TEST_F(CompilePoolTest, BytesThatAreNoUtf8SurviveTheWay) {
  CompilePool pool(1, 120);
  pool.submit(
      {0, NvrtcRequest{"// caf\xe9\n#error caf\xe9\n", "caf\xe9.cu", {"--gpu-architecture=sm_90"}, {}}, {}, false});
  const CompiledCode code = pool.next().value();
  EXPECT_FALSE(code.compiled);
  EXPECT_NE(code.failure.find("#error"), std::string::npos) << code.failure;
}

TEST_F(CompilePoolTest, ADeadlineThatPassesLosesNothing) {
  CompilePool pool(1, 120);
  pool.submit({0, request(RegisterCap{32}), {}, false});
  EXPECT_FALSE(pool.next(after_ms(0)));
  EXPECT_EQ(pool.unfinished(), 1u);
  EXPECT_TRUE(pool.next().value().compiled);
}

// What happens to a child in the middle of a sweep, by a signal to it while three jobs are left.
std::map<int, CompiledCode> results_with(CompilePool& pool, int signal_to_child) {
  std::map<int, CompiledCode> results;
  const CompiledCode first = pool.next().value();
  results.emplace(first.id, first);
  const std::vector<pid_t> running = workers();
  EXPECT_EQ(running.size(), 1u);
  for (const pid_t child : running) kill(child, signal_to_child);
  while (const std::optional<CompiledCode> code = pool.next()) results.emplace(code->id, *code);
  return results;
}

std::vector<std::string> failures_in(const std::map<int, CompiledCode>& results) {
  std::vector<std::string> failures;
  for (const auto& [id, code] : results)
    if (!code.compiled) failures.push_back(code.failure);
  return failures;
}

TEST_F(CompilePoolTest, ACompilerThatDiesCostsOneJob) {
  CompilePool pool(1, 120);
  for (int i = 0; i < 5; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  const std::map<int, CompiledCode> results = results_with(pool, SIGKILL);
  EXPECT_EQ(results.size(), 5u);
  const std::vector<std::string> failures = failures_in(results);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].rfind("the compiler's process was killed by signal 9", 0), 0u) << failures[0];
}

TEST_F(CompilePoolTest, ACompilerThatHangsCostsOneJobAndItsLimit) {
  constexpr double kLimit = 6;  // seconds: no compilation here takes one
  CompilePool pool(1, kLimit);
  for (int i = 0; i < 5; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  const auto start = std::chrono::steady_clock::now();
  const std::map<int, CompiledCode> results = results_with(pool, SIGSTOP);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(results.size(), 5u);
  const std::vector<std::string> failures = failures_in(results);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0], "compiling took longer than 6 s and was stopped");
  EXPECT_GE(seconds, kLimit);
  EXPECT_LT(seconds, 4 * kLimit);
}

TEST_F(CompilePoolTest, ALimitThatNothingKeepsFailsEveryJobAndEnds) {
  CompilePool pool(2, 0.01);
  for (int i = 0; i < 4; ++i) pool.submit({i, request(RegisterCap{32 + i}), {}, false});
  const std::map<int, CompiledCode> results = results_of(pool);
  EXPECT_EQ(results.size(), 4u);
  for (const std::string& failure : failures_in(results))
    EXPECT_EQ(failure, "compiling took longer than 0.01 s and was stopped");
  EXPECT_EQ(failures_in(results).size(), 4u);
}

TEST_F(CompilePoolTest, LeavesNoProcessBehind) {
  std::vector<pid_t> started;
  {
    CompilePool pool(2, 120);
    pool.submit({0, request(RegisterCap{32}), {}, false});
    pool.submit({1, request(RegisterCap{33}), {}, false});
    EXPECT_TRUE(pool.next().value().compiled);
    EXPECT_EQ(workers().size(), 2u);
    started = workers();
  }
  EXPECT_EQ(children(), 0u);
  // A worker dies with the server, by a signal that takes its time.
  const auto alive = [&] {
    return std::any_of(started.begin(), started.end(), [](pid_t pid) { return parents().contains(pid); });
  };
  for (int i = 0; i < 100 && alive(); ++i) usleep(20000);
  EXPECT_FALSE(alive());
}

// A path that is no NVRTC: the child that tries it says so.
TEST(CompilePoolWithoutToolkit, SaysWhereItLooked) {
  const char* before = std::getenv("REGTUNE_NVRTC");
  const std::string kept = before ? before : "";
  setenv("REGTUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
  try {
    identify();
    ADD_FAILURE() << "an NVRTC was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_toolkit);
    EXPECT_NE(std::string(error.what()).find("/nowhere/libnvrtc.so"), std::string::npos) << error.what();
  }
  if (before)
    setenv("REGTUNE_NVRTC", kept.c_str(), 1);
  else
    unsetenv("REGTUNE_NVRTC");
}

}  // namespace
}  // namespace regtune
