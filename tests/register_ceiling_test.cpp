// The ceiling that the compiler works under, for every form of budget, against the one that was asked for
// and against the formula of occupancy.hpp. Needs NVRTC, no GPU.
#include <gtest/gtest.h>

#include <string>

#include "gpu_limits.hpp"
#include "nvrtc_compile.hpp"
#include "occupancy.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

class RegisterCeiling : public NvrtcTest {
 protected:
  static std::string kernel(const std::string& attributes, const std::string& name = "k") {
    return "extern \"C\" __global__ " + attributes + " void " + name + "(float* p) { p[threadIdx.x] += 1; }\n";
  }
  static StaticFacts facts_of(const std::string& source, const RegisterPolicy& policy, int architecture = 90,
                              std::vector<std::string> options = {}, std::optional<int> option_cap = std::nullopt) {
    if (const auto* asked = std::get_if<RegisterCap>(&policy)) options.push_back(cap(asked->registers_per_thread));
    if (option_cap) options.push_back(cap(*option_cap));
    const Compiled compiled = compile(source, architecture, options);
    const auto limits = gpu_limits("sm_" + std::to_string(architecture));
    return static_facts(compiled.kernel("k"), compiled.report.find("k"), policy, limits.value(), option_cap);
  }
};

TEST_F(RegisterCeiling, EveryCapIsInForce) {
  for (int registers = 24; registers <= 255; ++registers) {
    const StaticFacts facts = facts_of(kernel(""), RegisterCap{registers});
    EXPECT_EQ(facts.register_ceiling, registers);
    EXPECT_EQ(facts.budget.status, registers == 255 ? BudgetStatus::inert : BudgetStatus::in_force) << registers;
    EXPECT_EQ(facts.budget.asked, registers);
  }
}

TEST_F(RegisterCeiling, CapsUnderTheMinimumAreClamped) {
  for (int registers = 8; registers < 24; ++registers) {
    const StaticFacts facts = facts_of(kernel(""), RegisterCap{registers});
    EXPECT_EQ(facts.register_ceiling, 24) << registers;
    EXPECT_EQ(facts.budget.status, BudgetStatus::clamped) << registers;
    EXPECT_NE(facts.budget.note.find("24"), std::string::npos);
  }
}

TEST_F(RegisterCeiling, CapsOver255AreClamped) {
  const StaticFacts facts = facts_of(kernel(""), RegisterCap{300});
  EXPECT_EQ(facts.register_ceiling, 255);
  EXPECT_EQ(facts.budget.status, BudgetStatus::clamped);
}

TEST_F(RegisterCeiling, BoundsInTheSourceOverrideACapAndAreNamed) {
  for (const int architecture : {80, 90, 120}) {
    if (!supports(architecture)) continue;
    const StaticFacts facts = facts_of(kernel("__launch_bounds__(256, 2)"), RegisterCap{64}, architecture);
    EXPECT_EQ(facts.register_ceiling, 128);
    EXPECT_EQ(facts.budget.status, BudgetStatus::overridden);
    EXPECT_NE(facts.budget.note.find("__launch_bounds__ of 256 threads"), std::string::npos) << facts.budget.note;
    // A cap over the bounds' ceiling changes nothing either, but nothing was taken from it.
    EXPECT_EQ(facts_of(kernel("__launch_bounds__(256, 2)"), RegisterCap{200}, architecture).budget.status,
              BudgetStatus::inert);
  }
}

TEST_F(RegisterCeiling, MaxRegistersInTheSourceOverridesACap) {
  const StaticFacts facts = facts_of(kernel("__maxnreg__(48)"), RegisterCap{32});
  EXPECT_EQ(facts.register_ceiling, 48);
  EXPECT_EQ(facts.budget.status, BudgetStatus::overridden);
  EXPECT_NE(facts.budget.note.find("__maxnreg__"), std::string::npos);
}

TEST_F(RegisterCeiling, MaxRegistersIsInForceOrClamped) {
  const StaticFacts facts = facts_of(kernel("__maxnreg__(48)"), MaxRegisters{48}, 90, {}, 96);
  EXPECT_EQ(facts.register_ceiling, 48);
  EXPECT_EQ(facts.budget.status, BudgetStatus::in_force);
  EXPECT_EQ(facts_of(kernel("__maxnreg__(10)"), MaxRegisters{10}).budget.status, BudgetStatus::clamped);
}

TEST_F(RegisterCeiling, TheAuthorsOwnBudgetIsReadBack) {
  EXPECT_EQ(facts_of(kernel(""), AuthorsOwn{}).budget.status, BudgetStatus::not_asked);
  const StaticFacts bounds = facts_of(kernel("__launch_bounds__(512)"), AuthorsOwn{});
  EXPECT_EQ(bounds.budget.status, BudgetStatus::in_force);
  EXPECT_EQ(bounds.budget.asked, 128);
  const StaticFacts option = facts_of(kernel(""), AuthorsOwn{}, 90, {}, 40);
  EXPECT_EQ(option.budget.status, BudgetStatus::in_force);
  EXPECT_EQ(option.budget.asked, 40);
  EXPECT_EQ(facts_of(kernel("__launch_bounds__(512)"), AuthorsOwn{}, 90, {}, 40).budget.status,
            BudgetStatus::overridden);
  EXPECT_EQ(facts_of(kernel(""), CompilerDefault{}).budget.status, BudgetStatus::not_asked);
  EXPECT_EQ(facts_of(kernel("__launch_bounds__(512)"), CompilerDefault{}).budget.status, BudgetStatus::overridden);
}

TEST_F(RegisterCeiling, BlocksThatTheSmCannotHoldAreInert) {
  const StaticFacts ignored = facts_of(kernel("__launch_bounds__(1024, 2)"), LaunchBounds{1024, 2}, 89);
  EXPECT_EQ(ignored.register_ceiling, 64);
  EXPECT_EQ(ignored.budget.status, BudgetStatus::inert);
  const Compiled compiled = compile(kernel("__launch_bounds__(1024, 2)"), 89);
  ASSERT_EQ(compiled.entry("k").notes.size(), 1u) << compiled.log;
  EXPECT_NE(compiled.entry("k").notes.front().find("minnctapersm"), std::string::npos);
  const StaticFacts held = facts_of(kernel("__launch_bounds__(1024, 2)"), LaunchBounds{1024, 2}, 90);
  EXPECT_EQ(held.register_ceiling, 32);
  EXPECT_EQ(held.budget.status, BudgetStatus::in_force);
}

TEST_F(RegisterCeiling, TheFormulaAgreesWithTheCompiler) {
  // All pairs as kernels of one file: one compile per architecture.
  std::string source;
  std::vector<std::pair<std::string, LaunchBounds>> cases;
  for (const int threads : {1, 32, 96, 128, 192, 256, 320, 384, 512, 640, 768, 1000, 1024, 2048}) {
    for (const int blocks : {0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 17, 24, 25, 32, 33}) {
      const std::string name = "k_" + std::to_string(threads) + "_" + std::to_string(blocks);
      const std::string second = blocks > 0 ? ", " + std::to_string(blocks) : "";
      source += kernel("__launch_bounds__(" + std::to_string(threads) + second + ")", name);
      cases.emplace_back(name, LaunchBounds{threads, blocks});
    }
  }
  int compared = 0;
  for (const int architecture : nvrtc()->supported_architectures()) {
    const auto limits = gpu_limits("sm_" + std::to_string(architecture));
    if (!limits || architecture < 75 || architecture == 103 || architecture == 121)
      continue;  // as 100 and 120; saves time
    const Compiled compiled = compile(source, architecture);
    for (const auto& [name, bounds] : cases) {
      const CubinKernel& kernel = compiled.kernel(name);
      EXPECT_EQ(kernel.register_ceiling, register_ceiling(*limits, bounds)) << "sm_" << architecture << " " << name;
      EXPECT_EQ(kernel.max_threads_per_block, bounds.max_threads_per_block) << "sm_" << architecture << " " << name;
      const PtxasEntry& entry = compiled.entry(name);
      EXPECT_EQ(min_blocks_ignored(*limits, bounds) || register_ceiling(*limits, bounds) == 255 || entry.notes.empty(),
                true)
          << name;
      const Budget budget = static_facts(kernel, &entry, bounds, *limits, std::nullopt).budget;
      // ptxas warns exactly where B is ignored or T is more than an SM holds.
      EXPECT_EQ(budget.status, entry.notes.empty() ? BudgetStatus::in_force : BudgetStatus::inert)
          << "sm_" << architecture << " " << name << ": " << budget.note;
      ++compared;
    }
  }
  EXPECT_GE(compared, 1000);
}

}  // namespace
}  // namespace regtune
