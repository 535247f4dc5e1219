#include "compile_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy.hpp"
#include "search_space.hpp"

namespace regtune {
namespace {

using Steps = std::vector<int>;

GpuLimits sm(const std::string& architecture) {
  return gpu_limits(architecture).value();
}

LaunchShape block_of(unsigned threads, std::int64_t dynamic_shared_bytes = 0) {
  return {{1000, 1, 1}, {threads, 1, 1}, dynamic_shared_bytes};
}

int blocks_with(int registers, const LaunchShape& shape, const GpuLimits& limits) {
  const BlockResources resources{registers, 0, shape.dynamic_shared_bytes, 0, 0};
  if (why_not_launchable(limits, resources, shape.block)) return 0;
  return occupancy(limits, resources, shape.block).active_blocks_per_sm;
}

TEST(OccupancySteps, AreTheMostRegistersOfEachNumberOfBlocks) {
  EXPECT_EQ(occupancy_steps(block_of(256), 0, sm("sm_90")), (Steps{255, 128, 80, 64, 48, 40, 32}));
  EXPECT_EQ(occupancy_steps(block_of(256), 0, sm("sm_75")), (Steps{255, 128, 80, 64})) << "1,024 threads on an SM";
  EXPECT_EQ(occupancy_steps(block_of(256), 0, sm("sm_120")), (Steps{255, 128, 80, 64, 48, 40})) << "1,536 threads";
}

TEST(OccupancySteps, AreWhereOccupancyChangesAndNowhereElse) {
  for (const char* architecture : {"sm_75", "sm_86", "sm_90", "sm_120"})
    for (const unsigned threads : {32u, 96u, 128u, 384u, 512u, 1024u}) {
      const LaunchShape shape = block_of(threads, 4096);
      const GpuLimits limits = sm(architecture);
      const Steps steps = occupancy_steps(shape, 0, limits);
      for (int cap = 24; cap < 255; ++cap) {
        const bool changes = blocks_with(cap, shape, limits) != blocks_with(cap + 1, shape, limits);
        EXPECT_EQ(std::count(steps.begin(), steps.end(), cap), changes ? 1 : 0)
            << architecture << " " << threads << " threads, cap " << cap;
      }
    }
}

TEST(OccupancySteps, LeaveOutWhatCannotBeLaunched) {
  EXPECT_EQ(occupancy_steps(block_of(1024), 0, sm("sm_90")), (Steps{64, 32}));
}

TEST(OccupancySteps, EndWhereSharedMemoryDecides) {
  EXPECT_EQ(occupancy_steps(block_of(256, 100 * 1024), 0, sm("sm_90")), (Steps{255, 128}));
  EXPECT_EQ(occupancy_steps(block_of(256), 40 * 1024, sm("sm_90")), (Steps{255, 128, 80, 64, 48}));
}

struct Order {
  std::vector<Variant> variants;
  CompileOrder order;
  std::vector<Build> all;

  explicit Order(const SearchSpaceRequest& request, std::int64_t static_shared_bytes = 0) {
    variants = search_space(request);
    std::vector<Trial> planned;
    for (const Variant& variant : variants) planned.push_back({variant, {{1, 1, 1}, variant.block, 0}, {}, NotTimed{}});
    order = compile_order(planned, static_shared_bytes, request.limits);
    all = in_one_wave(order).first;
  }
  std::ptrdiff_t place_of(const RegisterPolicy& policy, const SourceChoice& choice = {}) const {
    const auto found = std::find(all.begin(), all.end(), Build{policy, choice});
    EXPECT_NE(found, all.end()) << spell(policy);
    return found - all.begin();
  }
};

SearchSpaceRequest space_of(const std::string& architecture, unsigned threads = 256) {
  SearchSpaceRequest request{sm(architecture), {}};
  request.blocks.push_back({{threads, 1, 1}});
  return request;
}

std::string spelled(const std::vector<Build>& builds) {
  std::string text;
  for (const Build& build : builds) text += (text.empty() ? "" : " | ") + spell(build.policy);
  return text;
}

TEST(CompileOrder, BeginsWithTheAuthorsCodeThenBoundsThenOccupancySteps) {
  EXPECT_EQ(spelled(Order(space_of("sm_90")).order.first),
            "author's code | no bound, no cap | __launch_bounds__(256) | __launch_bounds__(256, 1) | "
            "__launch_bounds__(256, 2) | __launch_bounds__(256, 3) | __launch_bounds__(256, 4) | "
            "__launch_bounds__(256, 5) | __launch_bounds__(256, 6) | __launch_bounds__(256, 7) | "
            "--maxrregcount=255 | --maxrregcount=128 | --maxrregcount=80 | --maxrregcount=64 | --maxrregcount=48 | "
            "--maxrregcount=40 | --maxrregcount=32");
  EXPECT_EQ(spelled(Order(space_of("sm_75")).order.first),
            "author's code | no bound, no cap | __launch_bounds__(256) | __launch_bounds__(256, 1) | "
            "__launch_bounds__(256, 2) | __launch_bounds__(256, 3) | __launch_bounds__(256, 4) | "
            "--maxrregcount=255 | --maxrregcount=128 | --maxrregcount=80 | --maxrregcount=64");
}

TEST(CompileOrder, HoldsEveryBuildOnce) {
  SearchSpaceRequest request = space_of("sm_90");
  request.blocks.push_back({{128, 1, 1}});
  request.with_register_usage_levels = true;
  request.further_choices.push_back({true, -1, {}});
  const Order order(request);
  std::size_t builds = 0;
  std::vector<Build> seen;
  for (const Variant& variant : order.variants) {
    const Build build{variant.policy, variant.choice};
    if (std::find(seen.begin(), seen.end(), build) != seen.end()) continue;
    seen.push_back(build);
    ++builds;
    EXPECT_EQ(std::count(order.all.begin(), order.all.end(), build), 1) << spell(variant.policy);
  }
  EXPECT_EQ(order.all.size(), builds);
}

TEST(CompileOrder, TakesEverySecondOfTheCapsThatAreLeftAndEndsWithCheapOnes) {
  const Order order(space_of("sm_90"));
  // Wherever a budget ends, no stretch is untouched: after an eighth of the caps the gaps are no wider than nine.
  std::vector<int> caps;
  for (const Build& build : order.all)
    if (const auto* cap = std::get_if<RegisterCap>(&build.policy)) caps.push_back(cap->registers_per_thread);
  ASSERT_EQ(caps.size(), 232u);
  std::vector<int> early(caps.begin(), caps.begin() + 7 + 29);
  std::sort(early.begin(), early.end());
  for (std::size_t i = 1; i < early.size(); ++i) EXPECT_LE(early[i] - early[i - 1], 9) << early[i];
  // A low cap is the dearest: with sixteen workers none may be among the last that are begun.
  for (std::size_t i = caps.size() - 64; i < caps.size(); ++i) EXPECT_GT(caps[i], 100);
}

TEST(CompileOrder, LeavesOtherNamesAndOptionsForLater) {
  SearchSpaceRequest request = space_of("sm_90");
  const SourceChoice renamed{true, -1, {}};
  request.further_choices.push_back(renamed);
  request.with_register_usage_levels = true;
  const Order order(request);
  for (const Build& build : order.order.first) EXPECT_TRUE(build.choice.is_authors()) << spell(build.policy);
  const std::ptrdiff_t last_own = order.place_of(RegisterCap{254});
  EXPECT_LT(last_own, order.place_of(AuthorsOwn{}, renamed));
  EXPECT_LT(order.place_of(LaunchBounds{256, 4}, renamed), order.place_of(RegisterCap{80}, renamed));
  EXPECT_LT(order.place_of(RegisterCap{80}, renamed), order.place_of(RegisterCap{81}, renamed));
  EXPECT_LT(last_own, order.place_of(RegisterCap{80}, {false, 10, {}}));
}

TEST(CompileOrder, BeginsWithEveryValueOfTheSourcesMacros) {
  SearchSpaceRequest request = space_of("sm_90");
  const SourceChoice four{false, -1, {{"UNROLL", "4"}}};
  request.blocks.front().choices.push_back(four);
  const Order order(request);
  EXPECT_EQ(order.all.front(), Build{AuthorsOwn{}});
  EXPECT_LT(order.place_of(AuthorsOwn{}, four), order.place_of(RegisterCap{255}));
  EXPECT_LT(order.place_of(RegisterCap{64}, four), order.place_of(RegisterCap{25}));
}

TEST(CompileOrder, TakesTheStepsOfTheBlockThatAChoiceIsTiedTo) {
  const SourceChoice of_1024{false, -1, {{"BLOCK", "1024"}}};
  SearchSpaceRequest request{sm("sm_90"), {{{256, 1, 1}, {SourceChoice{}}}, {{1024, 1, 1}, {of_1024}}}};
  Steps steps;
  for (const Build& build : Order(request).order.first)
    if (const auto* cap = std::get_if<RegisterCap>(&build.policy); cap && build.choice == of_1024)
      steps.push_back(cap->registers_per_thread);
  EXPECT_EQ(steps, (Steps{64, 32}));
}

TEST(CompileOrder, TakesACapInTheSourceForACap) {
  std::vector<Trial> planned{{{0, AuthorsOwn{}, {256, 1, 1}}, block_of(256), {}, NotTimed{}}};
  for (int n = 24; n <= 255; ++n) planned.push_back({{n - 23, MaxRegisters{n}, {256, 1, 1}}, block_of(256), {}, {}});
  const CompileOrder order = compile_order(planned, 0, sm("sm_90"));
  EXPECT_EQ(spelled(order.first),
            "author's code | __maxnreg__(255) | __maxnreg__(128) | __maxnreg__(80) | __maxnreg__(64) | "
            "__maxnreg__(48) | __maxnreg__(40) | __maxnreg__(32)");
  EXPECT_EQ(order.rest.size(), 225u);
  EXPECT_EQ(spelled(neighbours({{64, {{MaxRegisters{64}}}}}, {{MaxRegisters{62}}, {MaxRegisters{69}}})),
            "__maxnreg__(62)");
}

TEST(Neighbours, AreTheNearestFirstAndOfTheFastestFirst) {
  std::vector<Build> left;
  for (int cap = 24; cap <= 255; ++cap)
    if (cap != 64 && cap != 128) left.push_back({RegisterCap{cap}});
  const std::vector<Build> near =
      neighbours({{64, {{RegisterCap{64}}}}, {126, {{CompilerDefault{}}, {RegisterCap{128}}}}}, left);
  EXPECT_EQ(spelled({near.begin(), near.begin() + 5}),
            "--maxrregcount=126 | --maxrregcount=63 | --maxrregcount=65 | --maxrregcount=125 | --maxrregcount=127");
  EXPECT_EQ(near.size(), 8u + 8u) << "four on either side, and 126 itself, of which 128 is there already";
}

TEST(Neighbours, BeginWithTheSameBudgetUnderAnotherName) {
  const SourceChoice renamed{true, -1, {}};
  const std::vector<Build> left{{RegisterCap{60}},
                                {RegisterCap{65}},
                                {RegisterCap{65}, renamed},
                                {RegisterCap{64}, renamed},
                                {LaunchBounds{256, 4}, renamed}};
  const std::vector<Build> near = neighbours({{64, {{LaunchBounds{256, 4}}, {RegisterCap{64}}}}}, left);
  EXPECT_EQ(near, (std::vector<Build>{{LaunchBounds{256, 4}, renamed}, {RegisterCap{65}}, {RegisterCap{60}}}))
      << "the caps of a name are neighbours of the codes of that name";
}

TEST(Neighbours, OfNothingFastAreNone) {
  EXPECT_TRUE(neighbours({}, {{RegisterCap{60}}}).empty());
}

}  // namespace
}  // namespace regtune
