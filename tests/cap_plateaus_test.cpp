#include "cap_plateaus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace regtune {
namespace {

std::vector<int> caps_from_to(int first, int last) {
  std::vector<int> caps(static_cast<std::size_t>(last - first + 1));
  std::iota(caps.begin(), caps.end(), first);
  return caps;
}

// Plays the compiler: code_of(cap) for every step, in an order drawn from the seed.
template <typename CodeOf>
CapPlateaus with_steps_known(const std::vector<int>& caps, CodeOf code_of, unsigned seed = 1) {
  CapPlateaus plateaus(caps);
  std::vector<int> steps = plateaus.steps();
  std::shuffle(steps.begin(), steps.end(), std::mt19937(seed));
  for (const int step : steps) plateaus.add(step, code_of(step));
  return plateaus;
}

TEST(CapPlateaus, StepsAreTheEndsAndTheAllocationUnits) {
  const CapPlateaus plateaus(caps_from_to(24, 255));
  EXPECT_EQ(plateaus.steps().size(), 30u);  // 24, 32, ..., 248 and 255
  EXPECT_EQ(plateaus.steps().front(), 24);
  EXPECT_EQ(plateaus.steps()[1], 32);
  EXPECT_EQ(plateaus.steps().back(), 255);
}

TEST(CapPlateaus, OneCodeForAllCapsNeedsTheStepsOnly) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int) { return "same"; });
  EXPECT_TRUE(plateaus.take_to_compile().empty());
  EXPECT_EQ(plateaus.take_settled().size(), 232u - 30u);
}

TEST(CapPlateaus, CompilesEveryCapBetweenStepsThatDiffer) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int cap) { return std::to_string(cap); });
  EXPECT_EQ(plateaus.take_to_compile().size(), 232u - 30u);
  EXPECT_TRUE(plateaus.take_settled().empty());
}

TEST(CapPlateaus, TwoEqualStepsAloneAreNoPlateau) {
  // Only 64 and 72 agree.
  CapPlateaus plateaus =
      with_steps_known(caps_from_to(24, 255), [](int cap) { return std::to_string(cap == 72 ? 64 : cap); });
  EXPECT_TRUE(plateaus.take_settled().empty());
}

TEST(CapPlateaus, ThreeEqualStepsAreAPlateauAndEachCapNamesTheStepBelow) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255),
                                          [](int cap) { return std::to_string(cap >= 64 && cap <= 80 ? 64 : cap); });
  const auto settled = plateaus.take_settled();
  ASSERT_EQ(settled.size(), 14u);
  for (const auto& [cap, step] : settled) EXPECT_EQ(step, cap < 72 ? 64 : 72);
}

TEST(CapPlateaus, CapsThatFailToCompileAreLikeNoOther) {
  CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), [](int) { return ""; });
  EXPECT_TRUE(plateaus.take_settled().empty());
  EXPECT_EQ(plateaus.take_to_compile().size(), 202u);
}

TEST(CapPlateaus, TellsEachCapOnceWhateverTheOrderOfArrival) {
  const auto code_of = [](int cap) { return std::to_string(cap < 60 ? cap : cap < 130 ? 60 : cap < 150 ? cap : 150); };
  std::set<std::pair<int, int>> first_settled;
  for (unsigned seed = 0; seed < 50; ++seed) {
    CapPlateaus plateaus = with_steps_known(caps_from_to(24, 255), code_of, seed);
    const std::vector<int> to_compile = plateaus.take_to_compile();
    const auto settled = plateaus.take_settled();
    std::set<int> all(plateaus.steps().begin(), plateaus.steps().end());
    all.insert(to_compile.begin(), to_compile.end());
    for (const auto& [cap, step] : settled) all.insert(cap);
    EXPECT_EQ(all.size(), 232u);
    EXPECT_EQ(plateaus.steps().size() + to_compile.size() + settled.size(), 232u);
    EXPECT_TRUE(plateaus.take_to_compile().empty());
    EXPECT_TRUE(plateaus.take_settled().empty());
    const std::set<std::pair<int, int>> sorted(settled.begin(), settled.end());
    if (seed == 0) first_settled = sorted;
    EXPECT_EQ(sorted, first_settled);
  }
}

TEST(CapPlateaus, DecidesAsSoonAsNeighbouringStepsAreKnown) {
  CapPlateaus plateaus(caps_from_to(24, 255));
  plateaus.add(24, "a");
  plateaus.add(32, "b");
  EXPECT_EQ(plateaus.take_to_compile(), caps_from_to(25, 31));  // the others need not be waited for
  plateaus.add(40, "b");
  EXPECT_TRUE(plateaus.take_to_compile().empty());  // 48 decides whether that is a plateau
  plateaus.add(48, "b");
  EXPECT_EQ(plateaus.take_settled().size(), 14u);
}

TEST(CapPlateaus, TakesAnySetOfCaps) {
  EXPECT_TRUE(CapPlateaus({}).steps().empty());
  CapPlateaus one({57});
  EXPECT_EQ(one.steps(), std::vector<int>{57});
  one.add(57, "a");
  EXPECT_TRUE(one.take_to_compile().empty());
  CapPlateaus few = with_steps_known({57, 63, 71}, [](int) { return "a"; });  // no step between
  EXPECT_EQ(few.take_to_compile(), std::vector<int>{63});
}

}  // namespace
}  // namespace regtune
