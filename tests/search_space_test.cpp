#include "search_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "policy.hpp"
#include "static_facts.hpp"

namespace regtune {
namespace {

SearchSpaceRequest space_of(const GpuLimits& limits, const std::vector<Dim3>& blocks) {
  SearchSpaceRequest request{limits, {}};
  for (const Dim3& block : blocks) request.blocks.push_back({block});
  return request;
}

std::vector<Variant> space(const char* architecture, const std::vector<Dim3>& blocks) {
  return search_space(space_of(gpu_limits(architecture).value(), blocks));
}

template <class Policy>
std::vector<Policy> all_of(const std::vector<Variant>& variants, Dim3 block) {
  std::vector<Policy> found;
  for (const Variant& variant : variants)
    if (const auto* policy = std::get_if<Policy>(&variant.policy); policy && variant.block == block)
      found.push_back(*policy);
  return found;
}

int most_blocks(const char* architecture, Dim3 block) {
  int most = 0;
  for (const LaunchBounds& bounds : all_of<LaunchBounds>(space(architecture, {block}), block))
    most = std::max(most, bounds.min_blocks_per_sm);
  return most;
}

TEST(SearchSpace, OneBlockOf256OnSm90Has243Variants) {
  const std::vector<Variant> variants = space("sm_90", {{256, 1, 1}});
  // The author's, the compiler's default, caps 24 to 255, (256), and (256, 1) to (256, 8).
  EXPECT_EQ(variants.size(), 1u + 1 + 232 + 1 + 8);
  EXPECT_EQ(variants.size(), 243u);
}

TEST(SearchSpace, OfPtxHasNoBounds) {
  SearchSpaceRequest request = space_of(gpu_limits("sm_90").value(), {{256, 1, 1}});
  request.with_bounds = false;
  const std::vector<Variant> variants = search_space(request);
  EXPECT_EQ(variants.size(), 1u + 1 + 232) << "the author's, the compiler's default, caps 24 to 255";
  EXPECT_TRUE(all_of<LaunchBounds>(variants, {256, 1, 1}).empty());
}

TEST(SearchSpace, IdZeroIsTheAuthorsCodeAndIdsArePlaces) {
  const std::vector<Variant> variants = space("sm_90", {{128, 1, 1}, {256, 1, 1}});
  EXPECT_TRUE(std::holds_alternative<AuthorsOwn>(variants[0].policy));
  EXPECT_EQ(variants[0].block, (Dim3{128, 1, 1})) << "the author's block is the first";
  for (std::size_t i = 0; i < variants.size(); ++i) EXPECT_EQ(variants[i].id, static_cast<int>(i));
}

TEST(SearchSpace, CapsRunFromTheCompilersMinimumToTheHardwaresMost) {
  const std::vector<Variant> variants = space("sm_80", {{64, 1, 1}});
  const std::vector<RegisterCap> caps = all_of<RegisterCap>(variants, {64, 1, 1});
  ASSERT_EQ(caps.size(), 232u);
  for (std::size_t i = 0; i < caps.size(); ++i)
    EXPECT_EQ(caps[i].registers_per_thread, compiler_minimum_registers + static_cast<int>(i));
  EXPECT_EQ(caps.back().registers_per_thread, 255);
}

TEST(SearchSpace, MinBlocksEndAtWhatTheArchitectureHolds) {
  EXPECT_EQ(most_blocks("sm_75", {256, 1, 1}), 4);  // 1,024 threads
  EXPECT_EQ(most_blocks("sm_80", {256, 1, 1}), 8);  // 2,048
  EXPECT_EQ(most_blocks("sm_86", {256, 1, 1}), 6);  // 1,536
  EXPECT_EQ(most_blocks("sm_89", {256, 1, 1}), 6);
  EXPECT_EQ(most_blocks("sm_90", {1024, 1, 1}), 2);
  EXPECT_EQ(most_blocks("sm_86", {1024, 1, 1}), 1);
  EXPECT_EQ(most_blocks("sm_75", {32, 1, 1}), 16);  // blocks, not threads, are the limit
  EXPECT_EQ(most_blocks("sm_86", {32, 1, 1}), 16);
  EXPECT_EQ(most_blocks("sm_89", {32, 1, 1}), 24);
  EXPECT_EQ(most_blocks("sm_90", {32, 1, 1}), 32);
  EXPECT_EQ(most_blocks("sm_90", {1, 1, 1}), 32);
}

TEST(SearchSpace, MinBlocksCountWholeWarps) {
  EXPECT_EQ(most_blocks("sm_90", {96, 1, 1}), 21);   // 3 of 64 warps
  EXPECT_EQ(most_blocks("sm_90", {100, 1, 1}), 16);  // 100 threads take 4 warps
}

TEST(SearchSpace, OffersNoBoundThatTheCompilerIgnores) {
  for (const auto& [major, minor] : known_compute_capabilities()) {
    const GpuLimits limits = gpu_limits(major, minor).value();
    for (const unsigned threads : {32u, 96u, 100u, 256u, 384u, 1024u}) {
      const auto bounds = all_of<LaunchBounds>(search_space(space_of(limits, {{threads, 1, 1}})), {threads, 1, 1});
      for (const LaunchBounds& b : bounds)
        EXPECT_TRUE(b.min_blocks_per_sm == 0 || !min_blocks_ignored(limits, b)) << major << minor << " " << spell(b);
      const LaunchBounds next{static_cast<int>(threads), bounds.back().min_blocks_per_sm + 1};
      EXPECT_TRUE(min_blocks_ignored(limits, next)) << major << minor << " " << spell(next);
    }
  }
}

TEST(SearchSpace, EveryBlockGetsEveryCapAndItsOwnBounds) {
  const std::vector<Dim3> blocks{{256, 1, 1}, {128, 1, 1}, {16, 16, 1}};
  const std::vector<Variant> variants = space("sm_90", blocks);
  for (const Dim3& block : blocks) {
    EXPECT_EQ(all_of<AuthorsOwn>(variants, block).size(), 1u);
    EXPECT_EQ(all_of<CompilerDefault>(variants, block).size(), 1u);
    EXPECT_EQ(all_of<RegisterCap>(variants, block).size(), 232u);
    for (const LaunchBounds& bounds : all_of<LaunchBounds>(variants, block))
      EXPECT_EQ(bounds.max_threads_per_block, static_cast<int>(block.volume()));
  }
  EXPECT_EQ(variants.size(), 243u + (1 + 1 + 232 + 1 + 16) + 243u);
}

TEST(SearchSpace, HoldsNoVariantTwice) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Variant& variant : space("sm_90", {{256, 1, 1}, {16, 16, 1}, {64, 1, 1}}))
    EXPECT_TRUE(
        seen.emplace(spell(variant.policy), std::to_string(variant.block.x) + "x" + std::to_string(variant.block.y))
            .second)
        << spell(variant.policy);
}

// How many variants there are of each choice, and how many of these are of the block.
std::map<std::string, std::pair<int, int>> by_choice(const std::vector<Variant>& variants, Dim3 block) {
  std::map<std::string, std::pair<int, int>> counts;
  for (const Variant& variant : variants) {
    auto& [all, of_block] = counts[spell(variant.choice)];
    ++all;
    of_block += variant.block == block ? 1 : 0;
  }
  return counts;
}
using Counts = std::map<std::string, std::pair<int, int>>;

const Dim3 k128{128, 1, 1};
const Dim3 k256{256, 1, 1};
const SourceChoice kUnroll{false, -1, {{"UNROLL", "4"}}};
const SourceChoice kBlock{false, -1, {{"BLOCK", "128"}}};
const SourceChoice kBoth{false, -1, {{"BLOCK", "128"}, {"UNROLL", "4"}}};

TEST(SearchSpace, EveryChoiceHasTheWholeRegisterSpaceBehindIt) {
  SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}, kUnroll}}}};
  const std::vector<Variant> variants = search_space(request);
  EXPECT_EQ(by_choice(variants, k256), (Counts{{"", {243, 243}}, {"UNROLL=4", {243, 243}}}));
  EXPECT_TRUE(variants[0].choice.is_authors());
  for (std::size_t i = 0; i < variants.size(); ++i) EXPECT_EQ(variants[i].id, static_cast<int>(i));
  EXPECT_EQ(variants[243].policy, RegisterPolicy(AuthorsOwn{})) << "the author's bounds, with another value";
}

TEST(SearchSpace, AChoiceOfABlockIsOfThatBlockAlone) {
  const SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}, kUnroll}}, {k128, {kBlock, kBoth}}}};
  EXPECT_EQ(
      by_choice(search_space(request), k128),
      (Counts{{"", {243, 0}}, {"UNROLL=4", {243, 0}}, {"BLOCK=128", {251, 251}}, {"BLOCK=128, UNROLL=4", {251, 251}}}));
}

TEST(SearchSpace, AFurtherChoiceIsJoinedWithTheBlocksOwn) {
  SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}, kUnroll}}, {k128, {kBlock, kBoth}}}};
  request.further_choices = {{true, -1, {}}};
  const Counts counts = by_choice(search_space(request), k128);
  EXPECT_EQ(counts.size(), 6u);
  EXPECT_EQ(counts.at("named cutlass_<kernel>"), (std::pair{243, 0}));
  EXPECT_EQ(counts.at("BLOCK=128, named cutlass_<kernel>"), (std::pair{251, 251}));
}

TEST(SearchSpace, LeversAreForTheBlocksOwnChoiceUnderEveryCap) {
  SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}, kUnroll}}, {k128, {kBlock, kBoth}}}};
  request.with_register_usage_levels = true;
  const Counts counts = by_choice(search_space(request), k128);
  EXPECT_EQ(counts.size(), 8u);
  for (const char* level : {"--register-usage-level=0", "--register-usage-level=10"}) {
    EXPECT_EQ(counts.at(level), (std::pair{233, 0}));
    EXPECT_EQ(counts.at(std::string("BLOCK=128, ") + level), (std::pair{233, 233}));
  }
}

TEST(SearchSpace, SpillingToSharedMemoryIsForBoundsWithBothNumbersAlone) {
  SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}, kUnroll}}, {k128, {kBlock, kBoth}}}};
  request.with_shared_spilling = true;
  std::vector<Variant> spilling = search_space(request);
  std::erase_if(spilling, [](const Variant& variant) { return !variant.choice.spills_to_shared; });
  EXPECT_EQ(spilling.size(), 8u + 16u) << "of 256 threads 8 blocks fit, of 128 threads 16";
  for (const Variant& variant : spilling) {
    const auto* bounds = std::get_if<LaunchBounds>(&variant.policy);
    ASSERT_TRUE(bounds);
    EXPECT_GT(bounds->min_blocks_per_sm, 0);
    EXPECT_EQ(static_cast<std::uint64_t>(bounds->max_threads_per_block), variant.block.volume());
    SourceChoice own = variant.choice;
    own.spills_to_shared = false;
    EXPECT_EQ(own, variant.block == k128 ? kBlock : SourceChoice{});
  }
  request.block_is_fixed = true;
  for (const Variant& variant : search_space(request)) EXPECT_FALSE(variant.choice.spills_to_shared);
}

TEST(SearchSpace, ADeclaredBlockSizeTakesEveryMaxnregAndNeitherCapsNorBounds) {
  SearchSpaceRequest request = space_of(gpu_limits("sm_90").value(), {k256});
  request.block_is_fixed = true;
  request.further_choices = {{true, -1, {}}};
  const std::vector<Variant> variants = search_space(request);
  EXPECT_EQ(variants.size(), 2u * 234);
  EXPECT_TRUE(all_of<LaunchBounds>(variants, k256).empty());
  EXPECT_TRUE(all_of<RegisterCap>(variants, k256).empty());
  const std::vector<MaxRegisters> maxima = all_of<MaxRegisters>(variants, k256);
  ASSERT_EQ(maxima.size(), 2u * 232);
  EXPECT_EQ(maxima.front().registers_per_thread, compiler_minimum_registers);
  EXPECT_EQ(maxima.back().registers_per_thread, 255);
}

TEST(SearchSpace, AnInstanceKeepsItsArgumentsUnderEveryFurtherChoice) {
  const SourceChoice of_four{false, -1, {}, "scale<4>"};
  SearchSpaceRequest request{gpu_limits("sm_90").value(), {{k256, {{}}}, {k128, {of_four}}}};
  request.further_choices = {{true, -1, {}}};
  const Counts counts = by_choice(search_space(request), k128);
  EXPECT_EQ(counts.at("scale<4>"), (std::pair{251, 251}));
  EXPECT_EQ(counts.at("scale<4>, named cutlass_<kernel>"), (std::pair{251, 251}));
}

}  // namespace
}  // namespace regtune
