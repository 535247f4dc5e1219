#include "static_facts.hpp"

#include <gtest/gtest.h>

#include "gpu_limits.hpp"

namespace regtune {
namespace {

CubinKernel kernel_with(int ceiling, int max_threads = 0) {
  CubinKernel kernel;
  kernel.name = "k";
  kernel.registers_per_thread = 24;
  kernel.register_ceiling = ceiling;
  kernel.max_threads_per_block = max_threads;
  return kernel;
}

Budget budget_of(const CubinKernel& kernel, const RegisterPolicy& policy, std::optional<int> option_cap = std::nullopt,
                 const char* architecture = "sm_90") {
  return static_facts(kernel, nullptr, policy, gpu_limits(architecture).value(), option_cap).budget;
}

TEST(StaticFacts, ACapThatTheCodeHasIsInForce) {
  const Budget budget = budget_of(kernel_with(64), RegisterCap{64});
  EXPECT_EQ(budget, (Budget{BudgetStatus::in_force, 64, ""}));
}

TEST(StaticFacts, ACapOutsideTheCompilersRangeIsClamped) {
  EXPECT_EQ(budget_of(kernel_with(24), RegisterCap{16}).status, BudgetStatus::clamped);
  EXPECT_NE(budget_of(kernel_with(24), RegisterCap{16}).note.find("minimum"), std::string::npos);
  EXPECT_EQ(budget_of(kernel_with(255), RegisterCap{400}).status, BudgetStatus::clamped);
  EXPECT_EQ(budget_of(kernel_with(255), RegisterCap{400}).asked, 400);
}

TEST(StaticFacts, ACapOf255IsInert) {
  const Budget budget = budget_of(kernel_with(255), RegisterCap{255});
  EXPECT_EQ(budget.status, BudgetStatus::inert);
  EXPECT_FALSE(budget.note.empty());
}

TEST(StaticFacts, BoundsOverrideALowerCapAndMakeAHigherOneInert) {
  const Budget lower = budget_of(kernel_with(128, 256), RegisterCap{64});
  EXPECT_EQ(lower.status, BudgetStatus::overridden);
  EXPECT_NE(lower.note.find("__launch_bounds__ of 256 threads"), std::string::npos);
  EXPECT_EQ(budget_of(kernel_with(128, 256), RegisterCap{200}).status, BudgetStatus::inert);
  EXPECT_EQ(budget_of(kernel_with(128, 256), RegisterCap{128}).status, BudgetStatus::inert);
  CubinKernel required = kernel_with(128);
  required.required_threads_per_block = 96;
  EXPECT_NE(budget_of(required, RegisterCap{64}).note.find("exactly 96 threads"), std::string::npos);
}

TEST(StaticFacts, ACapThatDidNotReachTheCodeIsNeverInForce) {
  EXPECT_EQ(budget_of(kernel_with(48), RegisterCap{32}).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(kernel_with(48), RegisterCap{96}).status, BudgetStatus::inert);
  EXPECT_EQ(budget_of(kernel_with(255), MaxRegisters{96}).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(kernel_with(96), MaxRegisters{96}).status, BudgetStatus::in_force);
}

TEST(StaticFacts, BesideADeclaredBlockSizeMaxnregSetsTheCeiling) {
  const auto with_block = [](int ceiling, int threads) {
    CubinKernel kernel = kernel_with(ceiling);
    kernel.required_threads_per_block = threads;
    return kernel;
  };
  EXPECT_EQ(budget_of(with_block(48, 256), MaxRegisters{48}).status, BudgetStatus::in_force);
  EXPECT_EQ(budget_of(with_block(254, 256), MaxRegisters{254}).status, BudgetStatus::in_force);
  EXPECT_EQ(budget_of(with_block(255, 256), MaxRegisters{255}).status, BudgetStatus::inert);
  EXPECT_EQ(budget_of(with_block(64, 1024), MaxRegisters{64}).status, BudgetStatus::inert) << "1,024 threads: 64";
  EXPECT_EQ(budget_of(with_block(100, 1024), MaxRegisters{100}).status, BudgetStatus::in_force) << "above the block's";
  EXPECT_EQ(budget_of(with_block(255, 1024), MaxRegisters{255}).status, BudgetStatus::in_force);
  EXPECT_EQ(budget_of(with_block(64, 1024), MaxRegisters{100}).status, BudgetStatus::inert);
  EXPECT_EQ(budget_of(with_block(255, 256), MaxRegisters{48}).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(with_block(255, 256), CompilerDefault{}).status, BudgetStatus::not_asked) << "it holds nothing";
  EXPECT_EQ(budget_of(with_block(64, 1024), CompilerDefault{}).status, BudgetStatus::overridden);
}

TEST(StaticFacts, BoundsAreInForceWhenBothTheirMarksAreInTheCode) {
  EXPECT_EQ(budget_of(kernel_with(64, 256), LaunchBounds{256, 4}), (Budget{BudgetStatus::in_force, 64, ""}));
  EXPECT_EQ(budget_of(kernel_with(255, 256), LaunchBounds{256, 0}).status, BudgetStatus::in_force);
  EXPECT_EQ(budget_of(kernel_with(64, 128), LaunchBounds{256, 4}).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(kernel_with(64), LaunchBounds{256, 4}).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(kernel_with(128, 256), LaunchBounds{256, 4}).status, BudgetStatus::overridden);
}

TEST(StaticFacts, BlocksThatTheSmCannotHoldAreInert) {
  const Budget budget = budget_of(kernel_with(64, 1024), LaunchBounds{1024, 2}, std::nullopt, "sm_120");
  EXPECT_EQ(budget.status, BudgetStatus::inert);
  EXPECT_NE(budget.note.find("2 blocks per SM"), std::string::npos);
  EXPECT_EQ(budget_of(kernel_with(255, 2048), LaunchBounds{2048, 0}, std::nullopt, "sm_120").status,
            BudgetStatus::inert);
}

TEST(StaticFacts, TheAuthorsBudgetIsReadFromTheCode) {
  EXPECT_EQ(budget_of(kernel_with(255), AuthorsOwn{}), Budget{});
  EXPECT_EQ(budget_of(kernel_with(128, 512), AuthorsOwn{}), (Budget{BudgetStatus::in_force, 128, ""}));
  EXPECT_EQ(budget_of(kernel_with(40), AuthorsOwn{}, 40), (Budget{BudgetStatus::in_force, 40, ""}));
  EXPECT_EQ(budget_of(kernel_with(128, 512), AuthorsOwn{}, 40).status, BudgetStatus::overridden);
  EXPECT_EQ(budget_of(kernel_with(255), CompilerDefault{}), Budget{});
  EXPECT_EQ(budget_of(kernel_with(128, 512), CompilerDefault{}).status, BudgetStatus::overridden);
}

TEST(StaticFacts, SpillsAreTheGreaterOfCodeAndReport) {
  CubinKernel kernel = kernel_with(24);
  kernel.spill_store_bytes = 100;
  kernel.spill_load_bytes = 300;
  PtxasEntry report;
  report.own.spill_store_bytes = 150;
  report.own.spill_load_bytes = 100;
  report.functions.push_back({"f", 0, 20, 30});
  const StaticFacts facts = static_facts(kernel, &report, RegisterCap{24}, gpu_limits("sm_90").value(), std::nullopt);
  EXPECT_EQ(facts.spill_store_bytes, 170);
  EXPECT_EQ(facts.spill_load_bytes, 300);
  EXPECT_EQ(static_facts(kernel, nullptr, RegisterCap{24}, gpu_limits("sm_90").value(), std::nullopt).spill_store_bytes,
            100);
}

TEST(StaticFacts, CopiesWhatTheCodeSays) {
  CubinKernel kernel = kernel_with(64, 256);
  kernel.stack_frame_bytes = 32;
  kernel.static_shared_bytes = 512;
  kernel.code_hash = "abc";
  const StaticFacts facts = static_facts(kernel, nullptr, AuthorsOwn{}, gpu_limits("sm_90").value(), std::nullopt);
  EXPECT_EQ(facts.registers_per_thread, 24);
  EXPECT_EQ(facts.register_ceiling, 64);
  EXPECT_EQ(facts.stack_frame_bytes, 32);
  EXPECT_EQ(facts.static_shared_bytes, 512);
  EXPECT_EQ(facts.max_threads_per_block, 256);
  EXPECT_EQ(facts.code_hash, "abc");
  EXPECT_FALSE(facts.occupancy.has_value());
}

TEST(StaticFacts, ADiscrepancyNamesBothFigures) {
  CubinKernel kernel = kernel_with(24);
  kernel.spill_store_bytes = 8468;
  PtxasEntry report;
  report.registers_per_thread = 24;
  report.own.spill_store_bytes = 47252;
  const auto sentence = discrepancy(kernel, report);
  ASSERT_TRUE(sentence.has_value());
  EXPECT_NE(sentence->find("spill store bytes 8468 against 47252"), std::string::npos) << *sentence;
  // With a callee the kernel's own line is not the sum that the cubin gives.
  report.functions.push_back({"f", 0, 0, 0});
  EXPECT_FALSE(discrepancy(kernel, report).has_value());
  report.registers_per_thread = 25;
  EXPECT_TRUE(discrepancy(kernel, report).has_value());
}

}  // namespace
}  // namespace regtune
