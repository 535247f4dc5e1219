#include "ladder.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "answer.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

const GpuId h100{"NVIDIA H100 80GB HBM3", 9, 0, 132};
const GpuId h100_pcie{"NVIDIA H100 PCIe", 9, 0, 114};
const GpuId a100{"NVIDIA A100-SXM4-80GB", 8, 0, 108};
const GpuId rtx4090{"NVIDIA GeForce RTX 4090", 8, 9, 128};
const GpuId rtx3090{"NVIDIA GeForce RTX 3090", 8, 6, 82};

class Ladder : public testing::Test {
 protected:
  // Later ones are newer.
  void store(const TunedAs& as, std::size_t layer = 0) {
    TunedPolicy answer = answer_of(tuned_record(as)).value();
    answer.finish_order = ++order_;
    layers_.resize(std::max(layers_.size(), layer + 1));
    layers_[layer].insert(layers_[layer].begin(), &answers_.emplace_back(answer));
  }
  void store(const GpuId& gpu, const Sizes& sizes = {{"n", 1024}}, std::size_t layer = 0) {
    TunedAs as;
    as.gpu = gpu;
    as.sizes = sizes;
    store(as, layer);
  }
  Answer ask(const GpuId& gpu, const Sizes& sizes = {{"n", 1024}}, bool accept_stale = true) {
    KernelKey key{"sgemm", sizes};
    return climb(key, gpu, layers_, accept_stale);
  }
  Answer ask(const KernelKey& key, const GpuId& gpu = h200, bool accept_stale = true) {
    return climb(key, gpu, layers_, accept_stale);
  }

  std::vector<Layer> layers_{{}};
  std::deque<TunedPolicy> answers_;
  std::int64_t order_ = 0;
};

TEST_F(Ladder, GivesTheExactAnswerAboveAllOthers) {
  store(h200);
  store(h200, {{"n", 1025}});
  store(h100);
  store(a100);
  const Answer answer = ask(h200);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer.match, Match::exact);
  EXPECT_EQ(answer.size_distance, 0);
  EXPECT_EQ(answer->gpu, h200);
  EXPECT_EQ(answer->best.policy, RegisterPolicy(RegisterCap{57}));
  EXPECT_EQ(answer->best.option, "--maxrregcount=57");
  EXPECT_EQ(answer->in_source.attribute, "__launch_bounds__(256, 4)");
  EXPECT_EQ(ask({"nvidia  h200", 9, 0, 132}).match, Match::exact) << "one normal form, on store and on look-up";
  EXPECT_EQ(ask(GpuId{"H200"}).match, Match::exact) << "what is not known is not compared";
}

TEST_F(Ladder, TheNewestOfEqualAnswersIsGiven) {
  TunedAs as;
  as.best = RegisterCap{40};
  store(as);
  as.best = RegisterCap{50};
  store(as);
  EXPECT_EQ(ask(h200)->best.policy, RegisterPolicy(RegisterCap{50}));
}

TEST_F(Ladder, TakesTheSizesNearestByLogarithmOnTheSameGpu) {
  store(h200, {{"m", 64}, {"n", 1 << 10}});
  store(h200, {{"m", 64}, {"n", 1 << 20}});
  store(h100, {{"m", 64}, {"n", 1 << 16}});
  const Answer answer = ask(h200, {{"m", 32}, {"n", 1 << 16}});
  EXPECT_EQ(answer.match, Match::nearest_sizes);
  EXPECT_EQ(answer->sizes.at("n"), 1 << 20) << "4 doublings, not 6; linearly it is the other way round";
  EXPECT_DOUBLE_EQ(answer.size_distance, 5);
  EXPECT_FALSE(ask(h200, {{"n", 1 << 16}})) << "other names are another problem";
  EXPECT_FALSE(ask(h200, {{"k", 64}, {"n", 1 << 16}}));
  EXPECT_FALSE(ask(h200, {{"m", 0}, {"n", 1 << 16}})) << "nothing is near a zero";
}

TEST_F(Ladder, ThenTheSameCapabilityWithTheClosestNumberOfSms) {
  store(h100_pcie);
  store(h100, {{"n", 4096}});
  store(a100);
  const Answer answer = ask({"NVIDIA GH200 480GB", 9, 0, 132});
  EXPECT_EQ(answer.match, Match::same_capability);
  EXPECT_EQ(answer->gpu, h100) << "SMs count before sizes";
  EXPECT_DOUBLE_EQ(answer.size_distance, 2);
  EXPECT_EQ(ask({"NVIDIA H800 PCIe", 9, 0, 110})->gpu, h100_pcie);
}

TEST_F(Ladder, ThenTheFamilyAndThenNothing) {
  store(a100);
  store(rtx3090);
  const Answer answer = ask(rtx4090);
  EXPECT_EQ(answer.match, Match::same_family);
  EXPECT_EQ(answer->gpu, rtx3090) << "8.6 is closer to 8.9 than 8.0 is";
  const Answer none = ask(h200);
  EXPECT_FALSE(none);
  EXPECT_EQ(none.match, Match::none);
  EXPECT_EQ(none.miss, Miss::not_stored);
}

TEST_F(Ladder, AnotherNumberOfSmsOrMemoryIsAnotherGpu) {
  GpuId part = h200;
  part.sm_count = 60;
  store(part);
  EXPECT_EQ(ask(h200).match, Match::same_capability);
  const GpuId gddr5{"NVIDIA GeForce GTX 1650", 7, 5, 14, 4001};
  const GpuId gddr6{"NVIDIA GeForce GTX 1650", 7, 5, 14, 6001};
  store(gddr5);
  EXPECT_EQ(ask(gddr6).match, Match::same_capability);
  EXPECT_EQ(ask(gddr5).match, Match::exact);
  EXPECT_EQ(ask({"NVIDIA GeForce GTX 1650", 7, 5, 14}).match, Match::exact);
}

TEST_F(Ladder, FirstHitByRungThenByLayer) {
  store(h100, {{"n", 1024}}, 0);
  store(h200, {{"n", 4096}}, 1);
  store(h200, {{"n", 2048}}, 2);
  EXPECT_EQ(ask(h200).match, Match::nearest_sizes) << "a better rung below beats a worse one above";
  EXPECT_EQ(ask(h200)->sizes.at("n"), 4096) << "of one rung the upper layer answers";
  store(h200, {{"n", 1024}}, 2);
  EXPECT_EQ(ask(h200).match, Match::exact);
}

TEST_F(Ladder, NeverGivesWhatCannotBeLaunched) {
  TunedAs as;
  as.gpu = h100;
  as.block = {1024, 1, 1};
  as.best = as.in_source = RegisterCap{80};
  as.registers = 80;  // 1,024 x 80 registers do not fit; such a row should not exist, and may come from anywhere
  store(as);
  EXPECT_FALSE(ask(h200));
  EXPECT_EQ(ask(h200).miss, Miss::not_legal);
  as.best = as.in_source = RegisterCap{64};
  as.registers = 64;
  as.sizes = {{"n", 1 << 20}};
  store(as);
  EXPECT_EQ(ask(h200)->best.policy, RegisterPolicy(RegisterCap{64})) << "the next one that is legal";
}

TEST_F(Ladder, ForAnotherArchitectureOnlyWhatTheBudgetPromisesCounts) {
  TunedAs as;
  as.gpu = a100;
  as.block = {1024, 1, 1};
  as.in_source = LaunchBounds{1024, 0};
  as.best = RegisterCap{96};
  as.registers = 60;  // there; here the code may use all 96
  store(as);
  EXPECT_EQ(ask(rtx4090).miss, Miss::not_legal);
  EXPECT_EQ(ask({"NVIDIA A100-PCIE-40GB", 8, 0, 108}).match, Match::same_capability) << "there it is the same code";
  as.best = RegisterCap{64};
  store(as);
  EXPECT_EQ(ask(rtx4090).match, Match::same_family);
  as.best = as.in_source = CompilerDefault{};
  as.kernel = as.signature = "free";
  store(as);
  EXPECT_EQ(ask(KernelKey{"free", as.sizes}, rtx4090).miss, Miss::not_legal) << "no cap may be 255";
}

TEST_F(Ladder, TheBlockThatWillBeLaunchedMustSuit) {
  store(h200);
  KernelKey key{"sgemm", {{"n", 1024}}};
  key.block = Dim3{256, 1, 1};
  EXPECT_TRUE(ask(key));
  key.block = Dim3{512, 1, 1};
  EXPECT_EQ(ask(key).miss, Miss::not_legal) << "the bound of the source says 256";
  TunedAs as;
  as.in_source = AuthorsOwn{};
  store(as);
  EXPECT_TRUE(ask(key));
}

TEST_F(Ladder, SaysInWhatAnAnswerIsStale) {
  store(h200);
  KernelKey key{"sgemm", {{"n", 1024}}};
  key.compiler = "13.0";
  key.driver = "580";
  key.source_tag = "tag 1";
  EXPECT_EQ(ask(key).stale, Stale{});
  key.compiler = "NVRTC 13.0.88";
  EXPECT_EQ(ask(key).stale, Stale{});
  for (const char* other : {"13.0.8", "3.0", "12.9", "NVRTC 13.1", "nvcc 13.0"}) {
    key.compiler = other;
    EXPECT_TRUE(ask(key).stale.compiler) << other;
  }
  key.driver = "580.1";
  key.source_tag = "tag 2";
  EXPECT_EQ(ask(key).stale, (Stale{true, true, true}));
  EXPECT_EQ(ask(key, h200, false).miss, Miss::stale);
}

TEST_F(Ladder, AFreshAnswerGoesBeforeAStaleOneAndAMatchingSourceBeforeOthers) {
  TunedAs as;
  as.best = RegisterCap{40};
  store(as);
  as.source = "tag 2";
  as.best = RegisterCap{50};
  store(as);
  KernelKey key{"sgemm", as.sizes};
  EXPECT_EQ(ask(key)->best.policy, RegisterPolicy(RegisterCap{50})) << "the newest";
  key.source_tag = "tag 1";
  EXPECT_EQ(ask(key)->best.policy, RegisterPolicy(RegisterCap{40}));
  EXPECT_FALSE(ask(key).stale);
  EXPECT_EQ(ask(key, h200, false)->best.policy, RegisterPolicy(RegisterCap{40}));
}

TEST_F(Ladder, ANameOfSeveralKernelsIsRefused) {
  TunedAs as;
  store(as);
  as.kernel = "_Z5sgemmPi";
  as.signature = "sgemm(int*)";
  as.source = "tag 2";
  store(as);
  KernelKey key{"sgemm", as.sizes};
  EXPECT_EQ(ask(key).miss, Miss::ambiguous);
  key.kernel = "sgemm(int *)";
  EXPECT_EQ(ask(key)->kernel, "_Z5sgemmPi");
  key.kernel = "_Z5sgemmPf";
  EXPECT_EQ(ask(key)->kernel, "_Z5sgemmPf");
  key.kernel = "sgemm";
  key.source_tag = "tag 2";
  EXPECT_EQ(ask(key)->kernel, "_Z5sgemmPi") << "the source tells which is meant";
}

TEST_F(Ladder, WithoutACapabilityOnlyTheSameModelAnswers) {
  store(a100);
  EXPECT_FALSE(ask(GpuId{"Tesla T4"}));
  EXPECT_EQ(ask(GpuId{"A100-SXM4-80GB"}, {{"n", 4096}}).match, Match::nearest_sizes);
}

TEST(SpelledBudget, NamesEveryOptionThatItsCodeNeeds) {
  TunedBudget budget;
  budget.policy = RegisterCap{57};
  budget.register_usage_level = 10;
  budget.macros = {{"TILE", "16"}, {"UNROLL", "4"}};
  spell_budget(budget);
  EXPECT_EQ(budget.option, "--maxrregcount=57 --ptxas-options=--register-usage-level=10");
  EXPECT_EQ(budget.defines, "-DTILE=16 -DUNROLL=4");
  budget.policy = LaunchBounds{256, 0};
  spell_budget(budget);
  EXPECT_EQ(budget.option, "--ptxas-options=--register-usage-level=10");
  EXPECT_EQ(budget.attribute, "__launch_bounds__(256)");
  EXPECT_EQ(budget.statement, "");
  budget.spills_to_shared = true;
  spell_budget(budget);
  EXPECT_EQ(budget.statement, "asm volatile(\".pragma \\\"enable_smem_spilling\\\";\");");
}

}  // namespace
}  // namespace regtune
