#include "policy.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

using Policies = std::vector<RegisterPolicy>;

TEST(Policy, IsSpelledAsItIsWritten) {
  EXPECT_EQ(spell(RegisterPolicy(AuthorsOwn{})), "author's code");
  EXPECT_EQ(spell(RegisterPolicy(CompilerDefault{})), "no bound, no cap");
  EXPECT_EQ(spell(RegisterPolicy(RegisterCap{57})), "--maxrregcount=57");
  EXPECT_EQ(spell(RegisterPolicy(LaunchBounds{256, 0})), "__launch_bounds__(256)");
  EXPECT_EQ(spell(RegisterPolicy(LaunchBounds{256, 4})), "__launch_bounds__(256, 4)");
  EXPECT_EQ(spell(RegisterPolicy(MaxRegisters{64})), "__maxnreg__(64)");
}

TEST(Policy, NeighboursBecomeRanges) {
  EXPECT_EQ(spell(Policies{}), "");
  EXPECT_EQ(spell(Policies{RegisterCap{24}}), "--maxrregcount=24");
  EXPECT_EQ(spell(Policies{RegisterCap{66}, RegisterCap{64}, RegisterCap{65}}), "--maxrregcount=64..66");
  EXPECT_EQ(spell(Policies{RegisterCap{24}, RegisterCap{25}, RegisterCap{30}}),
            "--maxrregcount=24..25, --maxrregcount=30");
  EXPECT_EQ(spell(Policies{MaxRegisters{8}, MaxRegisters{9}}), "__maxnreg__(8..9)");
}

TEST(Policy, RangesOfBoundsKeepToOneBlockSize) {
  EXPECT_EQ(spell(Policies{LaunchBounds{256, 1}, LaunchBounds{256, 2}, LaunchBounds{128, 3}, LaunchBounds{256, 5}}),
            "__launch_bounds__(128, 3), __launch_bounds__(256, 1..2), __launch_bounds__(256, 5)");
  // (T) says less than (T, 1) and is never drawn into its range.
  EXPECT_EQ(spell(Policies{LaunchBounds{256, 0}, LaunchBounds{256, 1}, LaunchBounds{256, 2}}),
            "__launch_bounds__(256), __launch_bounds__(256, 1..2)");
}

TEST(Policy, SetsAreSpelledWithoutRepetition) {
  EXPECT_EQ(spell(Policies{AuthorsOwn{}, AuthorsOwn{}, RegisterCap{32}, CompilerDefault{}, RegisterCap{32},
                           LaunchBounds{128, 0}, LaunchBounds{128, 0}}),
            "author's code, no bound, no cap, __launch_bounds__(128), --maxrregcount=32");
}

TEST(Policy, OnlyAFlagDoesNotTravelWithTheSource) {
  EXPECT_FALSE(travels_with_source(RegisterCap{64}));
  for (const RegisterPolicy& policy : Policies{AuthorsOwn{}, CompilerDefault{}, LaunchBounds{256, 0}, MaxRegisters{64}})
    EXPECT_TRUE(travels_with_source(policy)) << spell(policy);
}

TEST(Policy, ComplexityRisesFromTheAuthorsCodeToTheFlag) {
  const Policies rising{AuthorsOwn{},         CompilerDefault{}, LaunchBounds{256, 0},
                        LaunchBounds{256, 1}, MaxRegisters{64},  RegisterCap{64}};
  for (std::size_t i = 1; i < rising.size(); ++i)
    EXPECT_LT(complexity(rising[i - 1]), complexity(rising[i])) << spell(rising[i]);
  EXPECT_EQ(complexity(RegisterCap{24}), complexity(RegisterCap{255}));
}

TEST(Policy, AChoiceIsSpelledByWhatItChanges) {
  EXPECT_EQ(spell(SourceChoice{}), "");
  EXPECT_EQ(spell(SourceChoice{true, -1, {}}), "named cutlass_<kernel>");
  EXPECT_EQ(spell(SourceChoice{true, 10, {{"UNROLL", "4"}, {"BLOCK", "128"}}}),
            "BLOCK=128, UNROLL=4, named cutlass_<kernel>, --register-usage-level=10");
  EXPECT_EQ(spell(SourceChoice{false, 0, {}}), "--register-usage-level=0");
  EXPECT_EQ(spell(SourceChoice{true, -1, {{"STEPS", "4"}}, "scale<4, float>"}),
            "scale<4, float>, STEPS=4, named cutlass_<kernel>");
}

TEST(Policy, SpillingToSharedMemoryIsSpelledBehindItsBound) {
  EXPECT_EQ(spell(LaunchBounds{256, 4}, true), "__launch_bounds__(256, 4) + smem spill");
  EXPECT_EQ(spell(LaunchBounds{256, 4}, false), "__launch_bounds__(256, 4)");
  SourceChoice choice;
  choice.spills_to_shared = true;
  EXPECT_EQ(spell(choice), "smem spill");
  EXPECT_EQ(spell_around("__launch_bounds__(256, 4..8)", choice, ": "), "__launch_bounds__(256, 4..8) + smem spill");
  choice.macros["UNROLL"] = "4";
  EXPECT_EQ(spell_around("__launch_bounds__(256, 4)", choice, ", "),
            "UNROLL=4, __launch_bounds__(256, 4) + smem spill");
  EXPECT_EQ(spell_around("--maxrregcount=57", {}, ": "), "--maxrregcount=57");
  EXPECT_TRUE(travels_with_source(Variant{1, LaunchBounds{256, 4}, {256, 1, 1}, choice}));
}

TEST(Policy, ManyRangesAreSpelledByTheirNumber) {
  std::vector<RegisterPolicy> policies{LaunchBounds{256, 0}};
  for (int cap = 41; cap <= 55; cap += 2) policies.push_back(RegisterCap{cap});
  EXPECT_EQ(spell(policies),
            "__launch_bounds__(256), --maxrregcount=41, --maxrregcount=43, --maxrregcount=45, --maxrregcount=47, "
            "--maxrregcount=49, --maxrregcount=51, --maxrregcount=53, --maxrregcount=55");
  policies.push_back(RegisterCap{57});
  EXPECT_EQ(spell(policies), "__launch_bounds__(256), --maxrregcount=41..57 (9 of them)");
}

}  // namespace
}  // namespace regtune
