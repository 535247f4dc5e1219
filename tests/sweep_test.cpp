// The compile engine with the real NVRTC and nvJitLink: one front end, a comparison before anything is handed out,
// and nothing compiled twice.
#include "sweep.hpp"

#include <gtest/gtest.h>

#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "nvrtc_compile.hpp"
#include "policy.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

const std::string kSource = R"(#ifndef STEPS
#define STEPS 8
#endif
__global__ void __launch_bounds__(128, 8) k(const float* in, float* out) {
  float x[24];
#pragma unroll
  for (int i = 0; i < 24; ++i) x[i] = in[threadIdx.x + i * 128];
#pragma unroll
  for (int s = 0; s < STEPS; ++s)
#pragma unroll
    for (int i = 0; i < 24; ++i) x[i] = x[i] * x[(i + 1) % 24] + x[(i + 7) % 24];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 24; ++i) sum += x[i];
  out[threadIdx.x] = sum;
}
)";

class SweepTest : public NvrtcTest {
 protected:
  struct Run {
    std::map<int, BuildCode> by_cap;  // 0: the author's own
    std::string route;
    std::size_t kept = 0;
    std::size_t hits = 0;
  };

  Run run(Store* store, const std::string& text = kSource, const std::vector<std::string>& options = {},
          const std::vector<Build>& extra = {}) {
    CompilePool pool(2, 120);
    LaunchDescription description;
    description.options = options;
    const CompileUnit unit = compile_unit({"k.cu", text}, description, "sm_90", pool.identity());
    KeptCodes kept(store, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const Cubin first = read_cubin(sweep.first().cubin);
    std::vector<Build> builds{{AuthorsOwn{}}, {CompilerDefault{}}};
    for (const int cap : {24, 28, 32, 40, 48}) builds.push_back({RegisterCap{cap}});
    builds.insert(builds.end(), extra.begin(), extra.end());
    sweep.begin(first.kernels.front().name, "k", gpu_limits(9, 0).value(), builds);
    Run result;
    std::size_t delivered = 0;
    while (std::optional<BuildCode> code = sweep.next()) {
      ++delivered;
      result.kept += code->kept ? 1 : 0;
      const auto* cap = std::get_if<RegisterCap>(&code->build.policy);
      const bool authors = code->build == Build{AuthorsOwn{}};
      if (cap || authors) result.by_cap.emplace(cap ? cap->registers_per_thread : 0, *code);
      others_.push_back(*code);
    }
    EXPECT_EQ(delivered, builds.size()) << "each build once";
    for (const auto& [cap, code] : result.by_cap) {
      const auto found = sweep.difference_from_plain(code);
      EXPECT_FALSE(found) << cap << ": " << *found;
    }
    result.route = sweep.route();
    result.hits = kept.hits();
    return result;
  }

  std::string code_hash_of(const Build& build) const {
    for (const BuildCode& code : others_)
      if (code.build == build && code.facts) return code.facts->code_hash;
    ADD_FAILURE() << spell(build.policy) << " " << spell(build.choice) << " did not compile";
    return "";
  }

  std::vector<BuildCode> others_;
};

TEST_F(SweepTest, LinksEveryCapAndGivesThePlainCode) {
  const Run result = run(nullptr);
  ASSERT_EQ(result.route.rfind("LTO-IR once, then nvJitLink", 0), 0u) << result.route;
  for (const auto& [cap, code] : result.by_cap) {
    ASSERT_TRUE(code.facts) << cap << ": " << code.failure;
    EXPECT_EQ(code.facts->register_ceiling, cap == 0 ? 64 : cap) << "the author's bounds are stripped for caps alone";
  }
  EXPECT_GT(result.by_cap.at(24).facts->spill_store_bytes, 0);
}

TEST_F(SweepTest, AnOptionThatCannotBeSaidToTheLinkerMeansPlainNvrtc) {
  const Run result = run(nullptr, kSource, {"--restrict"});
  EXPECT_EQ(result.route.rfind("plain NVRTC: ", 0), 0u) << result.route;
  EXPECT_NE(result.route.find("--restrict"), std::string::npos) << result.route;
  for (const auto& [cap, code] : result.by_cap) EXPECT_TRUE(code.facts) << cap << ": " << code.failure;
}

TEST_F(SweepTest, ASecondRunCompilesNothing) {
  const TemporaryFolder folder;
  Store store = Store::open(folder.path() / "cache.db");
  const Run cold = run(&store);
  EXPECT_EQ(cold.kept, 0u);
  const Run warm = run(&store);
  EXPECT_EQ(warm.kept, 7u);
  for (const auto& [cap, code] : cold.by_cap) {
    const BuildCode& kept = warm.by_cap.at(cap);
    EXPECT_EQ(kept.facts->code_hash, code.facts->code_hash) << cap;
    EXPECT_EQ(kept.facts->register_ceiling, code.facts->register_ceiling) << cap;
    EXPECT_EQ(kept.facts->spill_load_bytes, code.facts->spill_load_bytes) << cap;
    EXPECT_FALSE(kept.cubin.empty()) << cap;
  }
  // Another text and another option are other keys.
  EXPECT_EQ(run(&store, kSource + "// changed\n").kept, 0u);
  EXPECT_EQ(run(&store, kSource, {"--use_fast_math"}).kept, 0u);
  EXPECT_EQ(run(&store).kept, 7u);
}

TEST_F(SweepTest, WhatIsCompiledAheadForAComparisonIsNotCompiledAgain) {
  const TemporaryFolder folder;
  Store store = Store::open(folder.path() / "cache.db");
  const std::vector<Build> builds{{AuthorsOwn{}}, {RegisterCap{24}}, {RegisterCap{28}}};
  for (const bool again : {false, true}) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", kSource}, {}, "sm_90", pool.identity());
    KeptCodes kept(&store, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const std::string kernel = read_cubin(sweep.first().cubin).kernels.front().name;
    sweep.begin(kernel, "k", gpu_limits(9, 0).value(), builds);
    std::vector<BuildCode> codes;
    while (std::optional<BuildCode> code = sweep.next()) codes.push_back(std::move(*code));
    if (!sweep.linked()) GTEST_SKIP() << sweep.route();
    const auto difference_of = [&](const Build& build) {
      return sweep.difference_from_plain(
          *std::find_if(codes.begin(), codes.end(), [&](const BuildCode& code) { return code.build == build; }));
    };
    const std::size_t before = pool.usage().spans().size();
    const std::size_t compilations = again ? 0 : 1;
    sweep.begin_plain({builds[0], builds[1]});
    sweep.begin_plain({builds[1]});
    EXPECT_EQ(pool.unfinished(), compilations) << "the author's own is plain already, and nothing is begun twice";
    EXPECT_EQ(difference_of(builds[1]), std::nullopt);
    EXPECT_EQ(pool.usage().spans().size(), before + compilations);
    EXPECT_EQ(difference_of(builds[2]), std::nullopt) << "which was not begun";
    EXPECT_EQ(pool.usage().spans().size(), before + 2 * compilations);
  }
}

TEST_F(SweepTest, CapsOnAPlateauNeedNoCompilationAndHaveTheCodeThatTheyWouldGive) {
  std::map<bool, std::map<int, std::string>> hash_of_cap;
  std::size_t inferred = 0;
  for (const bool every_cap : {false, true}) {
    CompilePool pool(every_cap ? 2 : 8, 120);  // with some that have nothing to do, and guess
    const CompileUnit unit = compile_unit({"k.cu", kSource}, {}, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    if (every_cap) sweep.compile_every_cap();
    const Cubin first = read_cubin(sweep.first().cubin);
    std::vector<Build> builds{{AuthorsOwn{}}};
    for (int cap = 24; cap <= 255; ++cap) builds.push_back({RegisterCap{cap}});
    sweep.begin(first.kernels.front().name, "k", gpu_limits(9, 0).value(), builds);
    std::optional<BuildCode> one_inferred;
    while (std::optional<BuildCode> code = sweep.next()) {
      ASSERT_TRUE(code->facts) << code->failure;
      const auto* cap = std::get_if<RegisterCap>(&code->build.policy);
      if (!cap) continue;
      EXPECT_TRUE(hash_of_cap[every_cap].emplace(cap->registers_per_thread, code->facts->code_hash).second);
      EXPECT_EQ(code->inferred, code->facts->budget.status == BudgetStatus::inferred);
      EXPECT_EQ(code->facts->register_ceiling, code->inferred ? 0 : cap->registers_per_thread);
      inferred += code->inferred ? 1 : 0;
      if (code->inferred) one_inferred = *code;
    }
    ASSERT_EQ(one_inferred.has_value(), !every_cap);
    if (one_inferred) {
      EXPECT_FALSE(sweep.difference_from_plain(*one_inferred)) << spell(one_inferred->build.policy);
    }
  }
  EXPECT_GT(inferred, 100u);
  EXPECT_EQ(hash_of_cap[false].size(), 232u);
  EXPECT_EQ(hash_of_cap[false], hash_of_cap[true]);
}

TEST_F(SweepTest, ASecondRunOverEveryCapDeliversEachOnceAndCompilesNone) {
  const TemporaryFolder folder;
  Store store = Store::open(folder.path() / "cache.db");
  std::map<int, std::string> first_hashes;
  for (const bool second : {false, true}) {
    CompilePool pool(6, 120);
    const CompileUnit unit = compile_unit({"k.cu", kSource}, {}, "sm_90", pool.identity());
    KeptCodes kept(&store, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const Cubin first = read_cubin(sweep.first().cubin);
    std::vector<Build> builds{{AuthorsOwn{}}};
    for (int cap = 24; cap <= 255; ++cap) builds.push_back({RegisterCap{cap}});
    sweep.begin(first.kernels.front().name, "k", gpu_limits(9, 0).value(), builds);
    std::map<int, std::string> hashes;  // 0: the author's own
    std::size_t compiled = 0;
    while (std::optional<BuildCode> code = sweep.next()) {
      const auto* cap = std::get_if<RegisterCap>(&code->build.policy);
      EXPECT_TRUE(hashes.emplace(cap ? cap->registers_per_thread : 0, code->facts.value().code_hash).second);
      compiled += code->kept || code->inferred ? 0 : 1;
    }
    EXPECT_EQ(hashes.size(), builds.size());
    if (second) {
      EXPECT_EQ(compiled, 0u);
      EXPECT_EQ(hashes, first_hashes);
    }
    first_hashes = hashes;
  }
}

TEST_F(SweepTest, AnotherNameAndOtherMacrosAreCodesOfTheirOwn) {
  SourceChoice renamed;
  renamed.renamed = true;
  SourceChoice fewer_steps;
  fewer_steps.macros["STEPS"] = "2";
  run(nullptr, kSource, {}, {{CompilerDefault{}, renamed}, {CompilerDefault{}, fewer_steps}});
  ASSERT_EQ(others_.size(), 9u);
  std::map<std::string, std::string> hash_of;
  for (const BuildCode& code : others_) {
    if (!std::holds_alternative<CompilerDefault>(code.build.policy)) continue;
    ASSERT_TRUE(code.facts) << code.failure;
    EXPECT_EQ(code.kernel.find("cutlass_k") != std::string::npos, code.build.choice.renamed) << code.kernel;
    hash_of[code.build.choice.renamed          ? "renamed"
            : code.build.choice.macros.empty() ? "own"
                                               : "fewer"] = code.facts->code_hash;
  }
  ASSERT_EQ(hash_of.size(), 3u);
  EXPECT_NE(hash_of["own"], hash_of["fewer"]);
}

TEST_F(SweepTest, ASourceThatDoesNotCompileGivesTheAuthorsLines) {
  try {
    run(nullptr, "#define X 1\n__global__ void k(float* p) {\n  undeclared = X;\n}\n");
    ADD_FAILURE() << "it compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::source_not_compiled);
    EXPECT_NE(std::string(error.what()).find("k.cu(3): error"), std::string::npos) << error.what();
  }
}

class BudgetedSweepTest : public SweepTest {
 protected:
  // The clock, in seconds, goes on by `tick_s` whenever it is looked at.
  CompileBudget budget_of(double limit_s, double tick_s) {
    return CompileBudget(limit_s, [this, tick_s] {
      clock_s_ += tick_s;
      return CompileBudget::Time(
          std::chrono::duration_cast<CompileBudget::Time::duration>(std::chrono::duration<double>(clock_s_)));
    });
  }

  // The author's code and the caps from 24 on, in that order; codes by cap, 0 for the author's.
  std::map<int, BuildCode> sweep_caps(Store* store, CompileBudget budget, int caps, std::string* route = nullptr) {
    CompilePool pool(2, 120);
    const CompileUnit unit = compile_unit({"k.cu", kSource}, {}, "sm_90", pool.identity());
    KeptCodes kept(store, unit, pool.identity());
    Sweep sweep(pool, unit, kept, std::move(budget));
    sweep.compile_every_cap();  // so that what the budget leaves out is the end of the list
    const Cubin first = read_cubin(sweep.first().cubin);
    std::vector<Build> builds{{AuthorsOwn{}}};
    for (int cap = 24; cap < 24 + caps; ++cap) builds.push_back({RegisterCap{cap}});
    sweep.begin(first.kernels.front().name, "k", gpu_limits(9, 0).value(), builds);
    std::map<int, BuildCode> by_cap;
    while (std::optional<BuildCode> code = sweep.next()) {
      const auto* cap = std::get_if<RegisterCap>(&code->build.policy);
      EXPECT_TRUE(by_cap.emplace(cap ? cap->registers_per_thread : 0, *code).second) << "delivered twice";
    }
    EXPECT_EQ(by_cap.size(), builds.size()) << "each build once, skipped or not";
    if (route) *route = sweep.route();
    return by_cap;
  }

 private:
  double clock_s_ = 0;
};

TEST_F(BudgetedSweepTest, CompilesTheAuthorsCodeHoweverShortTheBudgetIs) {
  std::string route;
  for (auto& [cap, code] : sweep_caps(nullptr, budget_of(1, 10), 8, &route)) {
    EXPECT_EQ(code.skipped, cap != 0) << cap;
    EXPECT_EQ(code.facts.has_value(), cap == 0) << cap << code.failure;
    EXPECT_EQ(code.failure,
              cap == 0 ? "" : "the compile budget of 1 s was spent before its turn; see --compile-budget");
  }
  EXPECT_EQ(route.rfind("LTO-IR once", 0), 0u) << route;
}

TEST_F(BudgetedSweepTest, BeginsNothingOnceTheBudgetIsSpentAndFinishesWhatWasBegun) {
  const std::map<int, BuildCode> codes = sweep_caps(nullptr, budget_of(30, 1), 120);
  EXPECT_TRUE(codes.at(0).facts);
  int first_skipped = 0;
  int compiled_after = 0;
  for (const auto& [cap, code] : codes) {
    EXPECT_NE(code.skipped, code.facts.has_value()) << cap << ": " << code.failure;
    if (code.skipped && first_skipped == 0) first_skipped = cap;
    if (!code.skipped && first_skipped > 0) ++compiled_after;
  }
  EXPECT_GE(first_skipped, 27);
  EXPECT_LE(first_skipped, 24 + 32) << "one look at the clock, at the least, for each";
  EXPECT_LE(compiled_after, 1) << "in the order given, but for the cap at which the two ways are compared";
}

TEST_F(BudgetedSweepTest, TheNextRunGoesOnWhereTheBudgetEnded) {
  const TemporaryFolder folder;
  Store store = Store::open(folder.path() / "cache.db");
  const std::map<int, BuildCode> short_run = sweep_caps(&store, budget_of(30, 1), 40);
  const std::map<int, BuildCode> long_run = sweep_caps(&store, CompileBudget(), 40);
  for (const auto& [cap, code] : long_run) {
    EXPECT_TRUE(code.facts) << cap << ": " << code.failure;
    EXPECT_EQ(code.kept, !short_run.at(cap).skipped) << cap << ": what was skipped is not kept as a failure";
  }
}

TEST_F(BudgetedSweepTest, KnowsWhatLiesAheadByTheFirstCompilation) {
  CompilePool pool(2, 120);
  const CompileUnit unit = compile_unit({"k.cu", kSource}, {}, "sm_90", pool.identity());
  KeptCodes kept(nullptr, unit, pool.identity());
  Sweep sweep(pool, unit, kept);
  const CompiledCode& first = sweep.first();
  ASSERT_GT(first.link_seconds, 0);
  ASSERT_GT(first.seconds, first.link_seconds);
  const CompileCost cost = sweep.cost_of({{RegisterCap{32}}, {RegisterCap{33}}, {LaunchBounds{128, 4}}}).value();
  EXPECT_EQ(cost.compilations, 3u);
  EXPECT_EQ(cost.jobs, 2);
  EXPECT_NEAR(cost.seconds, 2 * first.link_seconds + first.seconds, 1e-9) << "caps share the front end";
}

// EIATTR_MAX_CLUSTER_RANK, which only the third launch bound sets.
bool holds_cluster(const std::string& cubin, char blocks) {
  return cubin.find(std::string("\x04\x3f\x04\x00", 4) + blocks + std::string(3, '\0')) != std::string::npos;
}

TEST_F(SweepTest, TheThirdLaunchBoundIsKeptUnderEveryOtherBudget) {
  const std::string text =
      "#define C 2\n__global__ void __launch_bounds__(128, 2, C) k(float* p) { p[threadIdx.x] *= 2; }\n";
  const Run result = run(nullptr, text, {}, {{LaunchBounds{128, 4}}, {LaunchBounds{128, 0}}, {LaunchBounds{128, 16}}});
  for (const BuildCode& code : others_) {
    ASSERT_TRUE(code.facts) << spell(code.build.policy) << code.failure;
    EXPECT_TRUE(holds_cluster(code.cubin, 2)) << spell(code.build.policy);
    if (const auto* bounds = std::get_if<LaunchBounds>(&code.build.policy)) {
      EXPECT_EQ(code.facts->max_threads_per_block, 128) << spell(code.build.policy);
      EXPECT_EQ(code.facts->register_ceiling, register_ceiling(gpu_limits(9, 0).value(), *bounds));
      EXPECT_EQ(code.facts->budget.status, BudgetStatus::in_force) << code.facts->budget.note;
    }
  }
  EXPECT_EQ(others_.size(), 10u);
  for (const int cap : {24, 32, 48}) {
    EXPECT_EQ(result.by_cap.at(cap).facts->register_ceiling, cap) << "no bound of the author's is left";
    EXPECT_EQ(result.by_cap.at(cap).facts->max_threads_per_block, 0);
  }
}

// Why the search space holds __maxnreg__ and no caps there: beside __block_size__ the ceiling is the block's, and no
// cap lowers it.
TEST_F(SweepTest, AKernelThatDeclaresItsBlockSizeIgnoresCaps) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " knows no __block_size__";
  for (const int threads : {128, 1024}) {
    const std::string block = std::to_string(threads);
    others_.clear();
    const Run result =
        run(nullptr, "__global__ void __block_size__((" + block + ", 1, 1)) k(float* p) { p[threadIdx.x] *= 2; }\n");
    for (const int cap : {24, 32, 48}) {
      const BuildCode& code = result.by_cap.at(cap);
      ASSERT_TRUE(code.facts) << code.failure;
      EXPECT_EQ(code.facts->required_threads_per_block, threads);
      EXPECT_EQ(code.facts->register_ceiling, threads == 1024 ? 64 : 255);
      EXPECT_EQ(code.facts->budget.status, BudgetStatus::overridden);
      EXPECT_NE(code.facts->budget.note.find("exactly " + block + " threads"), std::string::npos)
          << code.facts->budget.note;
    }
  }
}

TEST_F(SweepTest, AMacrosValueReachesTheCodeWhateverTheAuthorsOptionsSay) {
  const SourceChoice two{false, -1, {{"STEPS", "2"}}};
  run(nullptr, kSource, {"-DSTEPS=4"}, {{CompilerDefault{}, two}});
  const std::string given = code_hash_of({CompilerDefault{}});
  const std::string chosen = code_hash_of({CompilerDefault{}, two});
  others_.clear();
  run(nullptr, kSource, {"-DSTEPS=2"});
  EXPECT_EQ(code_hash_of({CompilerDefault{}}), chosen);
  EXPECT_NE(given, chosen);
}

// kSource with a block size in the place of its bounds.
std::string with_block_size() {
  std::string text = kSource;
  const std::string bounds = "__launch_bounds__(128, 8)";
  return text.replace(text.find(bounds), bounds.size(), "__block_size__((128, 1, 1))");
}

TEST_F(SweepTest, AKernelThatDeclaresItsBlockSizeObeysMaxnreg) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " knows no __block_size__";
  for (const int architecture : {90, 120}) {
    SCOPED_TRACE(architecture);
    // The ceiling of __maxnreg__ is not that of an option: plain NVRTC shows what a user would get.
    const std::string text = with_block_size();
    const std::string name = text.substr(text.find("__global__"), std::string("__global__").size());
    for (const int most : {24, 32, 48}) {
      std::string bounded = text;
      bounded.replace(bounded.find(name), name.size(),
                      "__global__ __attribute__((maxnreg(" + std::to_string(most) + ")))");
      const CubinKernel kernel = compile(bounded, architecture).cubin.kernels.front();
      EXPECT_EQ(kernel.register_ceiling, most);
      EXPECT_EQ(kernel.required_threads_per_block, 128);
      EXPECT_EQ(kernel.spill_store_bytes > 0, most == 24);
      const CubinKernel capped = compile(text, architecture, {cap(most)}).cubin.kernels.front();
      EXPECT_EQ(capped.register_ceiling, 255) << "the cap is ignored";
      EXPECT_EQ(capped.spill_store_bytes, 0);
    }
  }
  run(nullptr, with_block_size(), {}, {{MaxRegisters{24}}, {MaxRegisters{32}}});
  for (const BuildCode& code : others_) {
    const auto* most = std::get_if<MaxRegisters>(&code.build.policy);
    if (!most) continue;
    ASSERT_TRUE(code.facts) << code.failure;
    EXPECT_EQ(code.facts->register_ceiling, most->registers_per_thread);
    EXPECT_EQ(code.facts->budget.status, BudgetStatus::in_force) << code.facts->budget.note;
  }
}

}  // namespace
}  // namespace regtune
