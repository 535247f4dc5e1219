// The knobs of a source in its launch description: tuned names, and macros that are the block's size.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "described.hpp"

namespace regtune {
namespace {

TEST(Description, TunedMacrosKeepTheirOrderAndEachValueOnce) {
  const LaunchDescription description = read("tune = {UNROLL = [1, 2, 4, 2], T = [\"float\", \"float4\"]}");
  ASSERT_EQ(description.tune.size(), 2u);
  EXPECT_EQ(description.tune[0].name, "UNROLL");
  EXPECT_EQ(description.tune[0].values, (Texts{"1", "2", "4"}));
  EXPECT_EQ(description.tune[1].name, "T");
  EXPECT_EQ(description.tune[1].values, (Texts{"float", "float4"}));
}

TEST(Description, ATunedMacroNeedsAListOfValues) {
  expect_refusal("tune = 4", {"dir/k.cu:4: tune", "expected a table", "UNROLL = [1, 2, 4, 8]"});
  expect_refusal("tune = {U = 4}", {"tune.U", "expected a list of values"});
  expect_refusal("tune = {U = []}", {"tune.U", "empty list"});
  expect_refusal("tune = {U = [1.5]}", {"tune.U", "expected integers or strings"});
  expect_refusal("tune = {\"U-V\" = [1]}", {"\"U-V\" cannot name a macro"});
  expect_refusal("tune = {\"1U\" = [1]}", {"cannot name a macro"});
  for (const char* value : {"\"1\\n2\"", "'1\\'", "\"1 // one\"", "\"/*\""})
    expect_refusal(std::string("tune = {U = [") + value + "]}", {"cannot be a macro's value"});
}

TEST(Description, BlockMacroIsOneNameOrAList) {
  EXPECT_EQ(read("block_macro = \"BLOCK\"").block_macros, Texts{"BLOCK"});
  EXPECT_EQ(read("block_macro = [\"BX\", \"BY\"]").block_macros, (Texts{"BX", "BY"}));
  expect_refusal("block_macro = 128", {"block_macro", "expected a list of strings", "\"BLOCK\""});
  expect_refusal("block_macro = []", {"one to three macros"});
  expect_refusal("block_macro = [\"A\", \"A\"]", {"\"A\" twice"});
  expect_refusal("block_macro = \"a b\"", {"\"a b\" cannot name a macro"});
}

TEST(Description, MoreThan64CombinationsAreRefused) {
  DescriptionFlags flags;
  flags.tune = {"A=1,2,3,4", "B=1,2,3,4", "C=1,2,3,4"};
  EXPECT_EQ(with_flags({}, flags).tune.size(), 3u);
  flags.tune.emplace_back("D=1,2");
  expect_error([&] { with_flags({}, flags); }, ErrorKind::bad_description,
               {"--tune D", "4 x 4 x 4 x 2 combinations", "more than 64"});
}

TEST(Description, KnobsThatContradictEachOtherAreRefused) {
  expect_error([] { with_flags(read("block_macro = \"B\"\ntune = {B = [1]}"), {}); }, ErrorKind::bad_description,
               {"tune.B", "\"B\" is the block_macro too"});
  expect_error([] { with_flags(read("block_macro = \"B\"\nblock = [256, \"32x8\"]"), {}); }, ErrorKind::bad_description,
               {"block_macro", "32 x 8 x 1", "a macro for each dimension"});
  EXPECT_NO_THROW(with_flags(read("block_macro = \"B\"\nblock = [\"16x16\", 256]"), {})) << "the author's stays";
  expect_error([] { with_flags(read("sizes = {n = 4}\ntune = {n = [1]}"), {}); }, ErrorKind::bad_description,
               {"tune.n", "\"n\" is a size too"});
}

}  // namespace
}  // namespace regtune
