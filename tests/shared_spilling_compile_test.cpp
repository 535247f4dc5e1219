// Spilling to shared memory with the real compilers: where it changes the code, where ptxas refuses it, and that the
// linked way gives plain NVRTC's code. Needs NVRTC, no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "collapse.hpp"
#include "kept_codes.hpp"
#include "kernel_choice.hpp"
#include "nvrtc_compile.hpp"
#include "policy.hpp"
#include "shared_spilling.hpp"
#include "static_facts.hpp"
#include "sweep.hpp"
#include "tuning_plan.hpp"

namespace regtune {
namespace {

std::string text_of(const std::string& name) {
  std::ifstream in(std::string(REGTUNE_SOURCE_FOLDER) + "/kernels/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::runtime_error("no " + what);
  return text.replace(at, what.size(), by);
}

SourceChoice spilling() {
  SourceChoice choice;
  choice.spills_to_shared = true;
  return choice;
}

class SharedSpillingCompile : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (nvrtc() && nvrtc()->major() < kFirstCudaThatSpillsToShared) GTEST_SKIP() << "NVRTC 13 knows the pragma";
  }

  // Each build, and beside it whether the plain compiler gives the same.
  struct Result {
    std::vector<Trial> trials;
    std::vector<BuildCode> codes;
    std::vector<std::optional<std::string>> differences;
    std::string route;
  };

  static Result compile_builds(const std::string& text, const std::string& kernel, const std::vector<Build>& builds,
                               const std::vector<std::string>& options = {}, std::int64_t dynamic_shared_bytes = 0) {
    CompilePool pool(2, 120);
    LaunchDescription description;
    description.options = options;
    description.kernel = kernel;
    const CompileUnit unit = compile_unit({"k.cu", text}, description, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const CompiledCode& first = sweep.first();
    const KernelSignature signature = choose_kernel(read_cubin(first.cubin), text, "k.cu", kernel, "");
    const GpuLimits limits = gpu_limits(9, 0).value();
    sweep.begin(signature.mangled_name, kernel, limits, builds);
    Result result;
    while (std::optional<BuildCode> code = sweep.next()) result.codes.push_back(std::move(*code));
    std::vector<Trial> planned;
    const LaunchShape shape{{1, 1, 1}, {256, 1, 1}, dynamic_shared_bytes};
    for (std::size_t i = 0; i < builds.size(); ++i)
      planned.push_back(
          {{static_cast<int>(i), builds[i].policy, shape.block, builds[i].choice}, shape, {}, NotTimed{}});
    result.trials = collapse(planned, result.codes, limits);
    for (const Build& build : builds) {
      const BuildCode& code = code_of(result.codes, build);
      result.differences.push_back(code.facts ? sweep.difference_from_plain(code) : std::nullopt);
    }
    result.route = sweep.route();
    return result;
  }

  static std::vector<std::string> notes_of_plan(const std::string& text, const std::string& kernel,
                                                const std::vector<std::string>& options,
                                                std::optional<std::string> shared, std::size_t& spilling_trials) {
    CompilePool pool(1, 120);
    LaunchDescription description;
    description.kernel = kernel;
    description.options = options;
    description.blocks = {{256, 1, 1}};
    description.grid = Expression{"4", {}};
    description.sizes = {{"n", {"1024", {}}}};
    if (shared) description.dynamic_shared_bytes = Expression{*shared, {}};
    const CompileUnit unit = compile_unit({"k.cu", text}, description, "sm_90", pool.identity());
    KeptCodes kept(nullptr, unit, pool.identity());
    Sweep sweep(pool, unit, kept);
    const CompiledCode& first = sweep.first();
    const KernelSignature signature = choose_kernel(read_cubin(first.cubin), text, "k.cu", kernel, "");
    const InferredLaunch launch = described_launch(description, unit, pool, signature, 0);
    SweepScope scope{false, {}, false};
    scope.levers.shared_spilling = true;
    const TuningPlan plan =
        plan_tuning(unit, launch, nullptr, signature, first, gpu_limits(9, 0).value(), scope, pool.identity());
    spilling_trials =
        static_cast<std::size_t>(std::count_if(plan.trials.begin(), plan.trials.end(), [](const Trial& trial) {
          return trial.variant.choice.spills_to_shared;
        }));
    return plan.notes;
  }
};

TEST_F(SharedSpillingCompile, MovesSpillsAndChargesTheirMemoryToOccupancy) {
  const Build plain{LaunchBounds{256, 8}};
  const Build moved{LaunchBounds{256, 8}, spilling()};
  const Build none{LaunchBounds{256, 3}};
  const Build none_moved{LaunchBounds{256, 3}, spilling()};
  const Result result =
      compile_builds(text_of("decay_wide.cu"), "decayWide", {{AuthorsOwn{}}, plain, moved, none, none_moved});
  EXPECT_EQ(result.route.rfind("LTO-IR once", 0), 0u) << result.route;
  const StaticFacts& before = result.trials[1].facts.value();
  const StaticFacts& after = result.trials[2].facts.value();
  EXPECT_EQ(after.registers_per_thread, before.registers_per_thread);
  EXPECT_EQ(after.max_threads_per_block, 256);
  EXPECT_LT(after.spill_store_bytes, before.spill_store_bytes);
  EXPECT_EQ(before.shared_spill_store_bytes + before.shared_spill_load_bytes, 0);
  EXPECT_GT(after.shared_spill_store_bytes, 0);
  EXPECT_GT(after.shared_spill_load_bytes, 0);
  EXPECT_EQ(before.static_shared_bytes, 0);
  EXPECT_GE(after.static_shared_bytes, 256 * 4);
  EXPECT_NE(after.code_hash, before.code_hash);
  ASSERT_TRUE(after.occupancy);
  EXPECT_EQ(after.occupancy->active_blocks_per_sm, 8) << "what B asks for still fits, the memory included";
  // ptxas's own report is the second witness: local spills, and shared memory.
  const BuildCode& code = code_of(result.codes, moved);
  const PtxasReport report = read_ptxas_report(code.log);
  if (const PtxasEntry* entry = report.find(code.kernel)) {
    EXPECT_EQ(entry->spill_store_bytes(), after.spill_store_bytes);
    EXPECT_EQ(entry->spill_load_bytes(), after.spill_load_bytes);
    EXPECT_EQ(entry->static_shared_bytes, after.static_shared_bytes);
  }
  // Where nothing spills, it is the same code.
  EXPECT_EQ(result.trials[4].facts->code_hash, result.trials[3].facts->code_hash);
  EXPECT_TRUE(std::holds_alternative<SameCodeAs>(result.trials[4].outcome));
  for (std::size_t i = 0; i < result.differences.size(); ++i)
    EXPECT_FALSE(result.differences[i]) << i << ": " << *result.differences[i];
}

TEST_F(SharedSpillingCompile, PlainNvrtcAndItsReportAgreeOnEveryArchitecture) {
  const std::string text = with_shared_spilling(replaced(text_of("decay_wide.cu"), "__global__ void",
                                                         "extern \"C\" __global__ void __launch_bounds__(256, 6)"),
                                                "decayWide")
                               .value();
  for (const int architecture : {75, 80, 90, 100, 120}) {
    if (!supports(architecture)) continue;
    const Compiled compiled = compile(text, architecture);
    const CubinKernel& kernel = compiled.kernel("decayWide");
    EXPECT_EQ(discrepancy(kernel, compiled.entry("decayWide")), std::nullopt) << architecture;
    EXPECT_EQ(kernel.shared_spill_store_bytes > 0, kernel.static_shared_bytes > 0) << architecture;
  }
}

TEST_F(SharedSpillingCompile, BesideDynamicSharedMemoryItIsNotApplicable) {
  const std::string text = replaced(text_of("decay_wide.cu"), "  const float x = in[i];",
                                    "  extern __shared__ float first[];\n  first[threadIdx.x] = in[i];\n"
                                    "  __syncthreads();\n  const float x = first[threadIdx.x];");
  const Result result = compile_builds(
      text, "decayWide", {{AuthorsOwn{}}, {LaunchBounds{256, 6}}, {LaunchBounds{256, 6}, spilling()}}, {}, 1024);
  EXPECT_TRUE(result.trials[1].facts) << "without the pragma it compiles";
  const auto* refused = std::get_if<NotApplicable>(&result.trials[2].outcome);
  ASSERT_TRUE(refused) << code_of(result.codes, {LaunchBounds{256, 6}, spilling()}).failure;
  EXPECT_NE(refused->reason.find("'enable_smem_spilling' is not allowed for dynamic SMEM"), std::string::npos)
      << refused->reason;
  std::size_t planned = 0;
  const std::vector<std::string> notes = notes_of_plan(text, "decayWide", {}, "4 * block", planned);
  EXPECT_EQ(planned, 0u) << "where the launch says that there is some, it is not even tried";
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("dynamic shared") != std::string::npos; }));
}

TEST_F(SharedSpillingCompile, OfADebugBuildItIsNotApplicable) {
  const std::string text = text_of("decay_wide.cu");
  const Result result = compile_builds(
      text, "decayWide", {{AuthorsOwn{}}, {LaunchBounds{256, 6}}, {LaunchBounds{256, 6}, spilling()}}, {"-G"});
  EXPECT_TRUE(result.trials[1].facts);
  const auto* refused = std::get_if<NotApplicable>(&result.trials[2].outcome);
  ASSERT_TRUE(refused) << code_of(result.codes, {LaunchBounds{256, 6}, spilling()}).failure;
  EXPECT_NE(refused->reason.find("per-function compilation modes"), std::string::npos) << refused->reason;
  std::size_t planned = 0;
  const std::vector<std::string> notes = notes_of_plan(text, "decayWide", {"-G"}, {}, planned);
  EXPECT_EQ(planned, 0u);
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("-G") != std::string::npos; }));
}

TEST_F(SharedSpillingCompile, AnAuthorsOwnBoundStaysInTheBaselineAndInTheVariantThatRepeatsIt) {
  const std::string text =
      replaced(text_of("decay_wide.cu"), "__global__ void", "__global__ void __launch_bounds__(256, 6)");
  const Result result = compile_builds(
      text, "decayWide", {{AuthorsOwn{}}, {LaunchBounds{256, 6}, spilling()}, {LaunchBounds{256, 8}, spilling()}});
  const StaticFacts& authors = result.trials[0].facts.value();
  const StaticFacts& repeated = result.trials[1].facts.value();
  const StaticFacts& other = result.trials[2].facts.value();
  EXPECT_EQ(authors.register_ceiling, 40);
  EXPECT_EQ(authors.shared_spill_store_bytes, 0) << "the author's code is the author's";
  EXPECT_EQ(repeated.register_ceiling, 40);
  EXPECT_EQ(repeated.max_threads_per_block, 256);
  EXPECT_EQ(repeated.budget.status, BudgetStatus::in_force);
  EXPECT_GT(repeated.shared_spill_store_bytes, 0);
  EXPECT_EQ(other.register_ceiling, 32) << "the author's bound is stripped for another";
  std::size_t planned = 0;
  EXPECT_TRUE(notes_of_plan(text, "decayWide", {}, {}, planned).empty());
  EXPECT_EQ(planned, 8u) << "(256, 1) to (256, 8)";
}

TEST_F(SharedSpillingCompile, ABodyThatAMacroMakesIsNotTried) {
  const std::string text =
      "#define KERNEL(name) __global__ void name(float* out, int n) { if (n) out[threadIdx.x] = 1; }\nKERNEL(k)\n";
  std::size_t planned = 0;
  const std::vector<std::string> notes = notes_of_plan(text, "k", {}, {}, planned);
  EXPECT_EQ(planned, 0u);
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("not written out") != std::string::npos; }));
}

}  // namespace
}  // namespace regtune
