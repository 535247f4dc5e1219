// The text that is stored with a captured launch, and the integers that it names.
#include "captured_text.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace regtune {
namespace {

CapturedFacts sample() {
  return {"./app", 3, "0123456789abcdef", true, {{"n", 16, 4}, {"stride", 24, 8}}};
}

TEST(CapturedText, ReadsWhatItWrote) {
  EXPECT_EQ(captured_facts(captured_text(sample())), sample());
  CapturedFacts bare;
  bare.outputs_compared = false;
  EXPECT_EQ(captured_facts(captured_text(bare)), bare);
}

TEST(CapturedText, KeepsAnyNameOfAProgram) {
  CapturedFacts facts = sample();
  facts.program = "./odd \"name\"\\ [captured]\n\t'x' = # \u00e4";
  facts.integers[0].name = "n\"]]";
  EXPECT_EQ(captured_facts(captured_text(facts)), facts);
}

TEST(CapturedText, IsNoneInOtherDescriptions) {
  for (const char* other :
       {"", "[launch]\ngrid = [4]\n", "captured = 1\n", "# captured\n[launch]\n", "captured", "[captured"})
    EXPECT_FALSE(captured_facts(other)) << other;
}

// Half of the facts would serve launches that the run knows nothing of.
TEST(CapturedText, IsNoneWhereThePlacesCannotBeRead) {
  for (const char* integers :
       {"", "integers = 4\n", "integers = [4]\n", "integers = [{name = 'n', offset = -1, bytes = 4}]\n",
        "integers = [{name = 'n', offset = 0, bytes = 3}]\n", "integers = [{name = 'n', offset = 0, bytes = 16}]\n",
        "integers = [{name = 'n', offset = 'x', bytes = 4}]\n", "integers = [{name = 'n', bytes = 4}]\n"})
    EXPECT_FALSE(captured_facts(std::string("[captured]\nimage = 'abc'\noutputs_compared = true\n") + integers))
        << integers;
}

TEST(CapturedText, WithoutAWordOnItsOutputsNothingWasCompared) {
  const auto facts = captured_facts("[captured]\nimage = 'abc'\nintegers = []\n");
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->outputs_compared);
}

TEST(CapturedText, ReadsIntegersWithTheirSigns) {
  std::string block(32, '\0');
  const auto put = [&](std::size_t offset, auto value) { std::memcpy(block.data() + offset, &value, sizeof value); };
  put(0, std::int8_t{-5});
  put(2, std::int16_t{-300});
  put(4, std::int32_t{1 << 30});
  put(8, std::int64_t{-1} << 40);
  EXPECT_EQ(integer_at(block, {"", 0, 1}), -5);
  EXPECT_EQ(integer_at(block, {"", 2, 2}), -300);
  EXPECT_EQ(integer_at(block, {"", 4, 4}), 1 << 30);
  EXPECT_EQ(integer_at(block, {"", 8, 8}), std::int64_t{-1} << 40);
}

TEST(CapturedText, AnIntegerBehindTheBlocksEndIsZero) {
  const std::string block(8, '\xff');
  EXPECT_EQ(integer_at(block, {"", 4, 4}), -1);
  EXPECT_EQ(integer_at(block, {"", 5, 4}), 0);
  EXPECT_EQ(integer_at(block, {"", 8, 4}), 0);
  EXPECT_EQ(integer_at(block, {"", 9, 1}), 0);
  EXPECT_EQ(integer_at(block, {"", -1, 4}), 0);
  EXPECT_EQ(integer_at(block, {"", 0, 16}), 0);
  EXPECT_EQ(integer_at(block, {"", INT64_MAX, 8}), 0);
}

}  // namespace
}  // namespace regtune
