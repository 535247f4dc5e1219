#include "collapse.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace regtune {
namespace {

// Policies with made-up codes, compiled for an sm_90, one block of 256 threads unless a test says otherwise.
struct Compiled {
  std::vector<Variant> variants;
  std::vector<BuildCode> codes;
  std::vector<LaunchShape> shapes{{{65536, 1, 1}, {256, 1, 1}, 0}};

  void add_variant(const RegisterPolicy& policy, const SourceChoice& choice) {
    add_variant(policy);
    variants.back().choice = choice;
  }
  void add_variant(const RegisterPolicy& policy, Dim3 block = {256, 1, 1}) {
    Variant variant;
    variant.id = static_cast<int>(variants.size());
    variant.policy = policy;
    variant.block = block;
    variants.push_back(variant);
  }
  void add_code(const RegisterPolicy& policy, const std::string& hash, int registers, int max_threads = 0) {
    StaticFacts facts;
    facts.code_hash = hash;
    facts.registers_per_thread = registers;
    facts.max_threads_per_block = max_threads;
    codes.push_back({{policy}, "kernel", "cubin of " + hash, "", facts, ""});
  }
  void add(const RegisterPolicy& policy, const std::string& hash, int registers, int max_threads = 0) {
    add_variant(policy);
    add_code(policy, hash, registers, max_threads);
  }
  std::vector<Trial> collapse() const {
    std::vector<Trial> planned;
    for (const Variant& variant : variants) {
      const auto shape = std::find_if(shapes.begin(), shapes.end(),
                                      [&](const LaunchShape& each) { return each.block == variant.block; });
      planned.push_back({variant, *shape, {}, NotTimed{}});
    }
    return regtune::collapse(planned, codes, gpu_limits(9, 0).value());
  }
};

int same_as(const Trial& trial) {
  const auto* same = std::get_if<SameCodeAs>(&trial.outcome);
  return same ? same->variant_id : -1;
}
bool is_candidate(const Trial& trial) {
  return std::holds_alternative<NotTimed>(trial.outcome);
}
bool is_refused(const Trial& trial) {
  return std::holds_alternative<NotLaunchable>(trial.outcome);
}

TEST(Collapse, DistinctCodesAreCandidates) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  sweep.add(RegisterCap{32}, "b", 32);
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_TRUE(is_candidate(trials[0]));
  EXPECT_TRUE(is_candidate(trials[1]));
  EXPECT_EQ(trials[0].facts->occupancy->active_blocks_per_sm, 4);
  EXPECT_DOUBLE_EQ(trials[0].facts->occupancy->fraction, 0.5);
  EXPECT_EQ(trials[1].facts->occupancy->active_blocks_per_sm, 8);
  EXPECT_EQ(trials[1].shape.grid, (Dim3{65536, 1, 1}));
}

TEST(Collapse, SameCodeIsTimedOnceAsItsFirstVariant) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  sweep.add(CompilerDefault{}, "b", 60);
  sweep.add(RegisterCap{64}, "a", 56);
  sweep.add(RegisterCap{65}, "b", 60);
  sweep.add(RegisterCap{66}, "a", 56);
  const std::vector<Trial> trials = sweep.collapse();
  EXPECT_TRUE(is_candidate(trials[0]));
  EXPECT_TRUE(is_candidate(trials[1]));
  EXPECT_EQ(same_as(trials[2]), 0);
  EXPECT_EQ(same_as(trials[3]), 1);
  EXPECT_EQ(same_as(trials[4]), 0);
  EXPECT_TRUE(trials[4].facts && trials[4].facts->occupancy) << "facts of its own";
}

TEST(Collapse, LaunchLimitsThatBothAllowTheLaunchDoNotSeparate) {
  Compiled sweep;
  sweep.add(RegisterCap{128}, "a", 90);
  sweep.add(LaunchBounds{256, 2}, "a", 90, 256);
  sweep.add(LaunchBounds{512, 1}, "a", 90, 512);
  const std::vector<Trial> trials = sweep.collapse();
  EXPECT_TRUE(is_candidate(trials[0]));
  EXPECT_EQ(same_as(trials[1]), 0);
  EXPECT_EQ(same_as(trials[2]), 0);
  EXPECT_EQ(trials[2].facts->max_threads_per_block, 512);
}

TEST(Collapse, UnlaunchableNeverHidesBehindLaunchable) {
  Compiled sweep;
  sweep.add(RegisterCap{64}, "a", 60);
  sweep.add(LaunchBounds{128, 0}, "a", 60, 128);  // the same code, refuses 256 threads
  sweep.add(LaunchBounds{128, 1}, "a", 60, 128);
  const std::vector<Trial> trials = sweep.collapse();
  EXPECT_TRUE(is_candidate(trials[0]));
  ASSERT_TRUE(is_refused(trials[1]));
  EXPECT_NE(std::get<NotLaunchable>(trials[1].outcome).reason.find("128"), std::string::npos);
  EXPECT_FALSE(trials[1].facts->occupancy) << "what cannot be launched has no occupancy";
  EXPECT_EQ(same_as(trials[2]), 1) << "refused with the refused";
}

TEST(Collapse, LaunchableNeverHidesBehindUnlaunchable) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 60, 128);
  sweep.add(RegisterCap{64}, "a", 60);
  sweep.add(RegisterCap{65}, "a", 60);
  const std::vector<Trial> trials = sweep.collapse();
  EXPECT_TRUE(is_refused(trials[0]));
  EXPECT_TRUE(is_candidate(trials[1]));
  EXPECT_TRUE(trials[1].facts->occupancy.has_value());
  EXPECT_EQ(same_as(trials[2]), 1);
}

TEST(Collapse, ARefusalSaysWhichResourceFailed) {
  Compiled sweep;
  sweep.shapes = {{{1, 1, 1}, {1024, 1, 1}, 0}};
  sweep.add_variant(AuthorsOwn{}, {1024, 1, 1});
  sweep.add_code(AuthorsOwn{}, "a", 96);
  sweep.add_variant(RegisterCap{64}, {1024, 1, 1});
  sweep.add_code(RegisterCap{64}, "b", 64);
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_TRUE(is_refused(trials[0]));
  const std::string reason = std::get<NotLaunchable>(trials[0].outcome).reason;
  EXPECT_NE(reason.find("98,304"), std::string::npos) << reason;
  EXPECT_NE(reason.find("65,536"), std::string::npos) << reason;
  EXPECT_TRUE(is_candidate(trials[1]));
}

TEST(Collapse, EveryBlockIsAnotherCandidateOfTheSameCode) {
  Compiled sweep;
  sweep.shapes = {{{100, 1, 1}, {256, 1, 1}, 0}, {{200, 1, 1}, {128, 1, 1}, 0}, {{100, 1, 1}, {16, 16, 1}, 0}};
  for (const RegisterPolicy& policy : {RegisterPolicy(AuthorsOwn{}), RegisterPolicy(RegisterCap{64})}) {
    for (const LaunchShape& shape : sweep.shapes) sweep.add_variant(policy, shape.block);
    sweep.add_code(policy, "a", 56);
  }
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_EQ(trials.size(), 6u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(is_candidate(trials[i])) << i;
    EXPECT_EQ(trials[i].shape.grid, sweep.shapes[i].grid);
    EXPECT_EQ(same_as(trials[i + 3]), static_cast<int>(i)) << "256 x 1 and 16 x 16 are not one";
  }
}

TEST(Collapse, AnotherGridIsAnotherCandidateOfTheSameCode) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  const SourceChoice four{false, -1, {{"UNROLL", "4"}}};
  sweep.codes.push_back(sweep.codes.front());
  sweep.codes.back().build.choice = four;
  const LaunchShape own = sweep.shapes.front();
  LaunchShape fewer_blocks = own;
  fewer_blocks.grid.x /= 4;
  const std::vector<Trial> planned{{{0, AuthorsOwn{}, own.block}, own, {}, NotTimed{}},
                                   {{1, AuthorsOwn{}, own.block, four}, fewer_blocks, {}, NotTimed{}},
                                   {{2, AuthorsOwn{}, own.block, four}, own, {}, NotTimed{}}};
  const std::vector<Trial> trials = regtune::collapse(planned, sweep.codes, gpu_limits(9, 0).value());
  EXPECT_TRUE(is_candidate(trials[0]));
  EXPECT_TRUE(is_candidate(trials[1])) << "a quarter of the blocks is other work";
  EXPECT_EQ(trials[1].shape, fewer_blocks);
  EXPECT_EQ(same_as(trials[2]), 0);
}

TEST(Collapse, ARefusalIsOfOneBlockOnly) {
  Compiled sweep;
  sweep.shapes = {{{100, 1, 1}, {256, 1, 1}, 0}, {{200, 1, 1}, {128, 1, 1}, 0}};
  sweep.add_variant(LaunchBounds{128, 0}, {256, 1, 1});
  sweep.add_variant(LaunchBounds{128, 0}, {128, 1, 1});
  sweep.add_code(LaunchBounds{128, 0}, "a", 56, 128);
  const std::vector<Trial> trials = sweep.collapse();
  EXPECT_TRUE(is_refused(trials[0]));
  EXPECT_TRUE(is_candidate(trials[1]));
}

TEST(Collapse, DynamicSharedMemoryCountsTowardsOccupancy) {
  Compiled sweep;
  sweep.shapes = {{{100, 1, 1}, {256, 1, 1}, 100 * 1024}, {{100, 1, 1}, {128, 1, 1}, 300 * 1024}};
  sweep.add_variant(AuthorsOwn{}, {256, 1, 1});
  sweep.add_variant(AuthorsOwn{}, {128, 1, 1});
  sweep.add_code(AuthorsOwn{}, "a", 32);
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_TRUE(trials[0].facts->occupancy);
  EXPECT_EQ(trials[0].facts->occupancy->active_blocks_per_sm, 2);
  EXPECT_EQ(trials[0].facts->occupancy->limiter, Limiter::shared_memory);
  EXPECT_TRUE(is_refused(trials[1]));
}

TEST(Collapse, WhatDidNotCompileKeepsItsMessageAndNothingElse) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  sweep.add_variant(RegisterCap{24});
  sweep.codes.push_back({{RegisterCap{24}}, "kernel", "", "", {}, "register allocation failed"});
  sweep.add_variant(RegisterCap{25});
  sweep.codes.push_back({{RegisterCap{25}}, "kernel", "", "", {}, "register allocation failed"});
  const std::vector<Trial> trials = sweep.collapse();
  for (std::size_t i = 1; i < 3; ++i) {
    ASSERT_TRUE(std::holds_alternative<CompileFailed>(trials[i].outcome)) << i;
    EXPECT_EQ(std::get<CompileFailed>(trials[i].outcome).message, "register allocation failed");
    EXPECT_FALSE(trials[i].facts);
  }
}

TEST(Collapse, WhatTheCompilerRefusesByARuleOfItsOwnIsNotApplicable) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  SourceChoice spilling;
  spilling.spills_to_shared = true;
  const std::string refusal = "ptxas fatal   : Pragma 'enable_smem_spilling' is not allowed for dynamic SMEM\n";
  sweep.add_variant(LaunchBounds{256, 4}, spilling);
  sweep.codes.push_back({{LaunchBounds{256, 4}, spilling}, "kernel", "", "", {}, refusal});
  sweep.add_variant(LaunchBounds{256, 5}, spilling);
  sweep.codes.push_back({{LaunchBounds{256, 5}, spilling}, "kernel", "", "", {}, "register allocation failed"});
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_TRUE(std::holds_alternative<NotApplicable>(trials[1].outcome));
  EXPECT_EQ(std::get<NotApplicable>(trials[1].outcome).reason,
            "ptxas: Pragma 'enable_smem_spilling' is not allowed for dynamic SMEM");
  EXPECT_TRUE(std::holds_alternative<CompileFailed>(trials[2].outcome)) << "any other failure is one";
}

TEST(Collapse, WhatWasNotCompiledForWantOfTimeIsNoFailure) {
  Compiled sweep;
  sweep.add(AuthorsOwn{}, "a", 56);
  sweep.add_variant(RegisterCap{24});
  sweep.codes.push_back({{RegisterCap{24}}, "kernel", "", "", {}, "the time was up", false, true});
  const std::vector<Trial> trials = sweep.collapse();
  ASSERT_TRUE(std::holds_alternative<NotCompiled>(trials[1].outcome));
  EXPECT_EQ(std::get<NotCompiled>(trials[1].outcome).reason, "the time was up");
  EXPECT_FALSE(trials[1].facts);
}

TEST(Collapse, CodesAreFoundByPolicyWhateverTheirOrder) {
  Compiled sweep;
  sweep.add_code(RegisterCap{32}, "b", 32);
  sweep.add_code(MaxRegisters{32}, "c", 32);
  sweep.add_code(AuthorsOwn{}, "a", 56);
  EXPECT_EQ(code_of(sweep.codes, {AuthorsOwn{}}).cubin, "cubin of a");
  EXPECT_EQ(code_of(sweep.codes, {MaxRegisters{32}}).cubin, "cubin of c");
  EXPECT_EQ(code_of(sweep.codes, {RegisterCap{32}}).cubin, "cubin of b");
}

}  // namespace
}  // namespace regtune
