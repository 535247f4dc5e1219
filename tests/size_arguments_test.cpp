// Sizes on the command line: one list of them, or several that are tuned one after the other.
#include "size_arguments.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

using Set = std::vector<std::string>;

TEST(SizeArguments, LaterOnesSeeThoseBeforeThem) {
  EXPECT_EQ(sizes_from({"n=1<<20", "m=n // 4"}, "--set"), (Sizes{{"m", 1 << 18}, {"n", 1 << 20}}));
  EXPECT_THROW(sizes_from({"n"}, "--set"), Error);
  EXPECT_THROW(sizes_from({"=4"}, "--set"), Error);
}

TEST(SizeArguments, AListStandsForSeveralTunings) {
  EXPECT_EQ(size_sets({}), std::vector<Set>{{}});
  EXPECT_EQ(size_sets({"n=4", "m=2"}), (std::vector<Set>{{"n=4", "m=2"}}));
  EXPECT_EQ(size_sets({"n=1<<20,1<<24"}), (std::vector<Set>{{"n=1<<20"}, {"n=1<<24"}}));
  EXPECT_EQ(
      size_sets({"n=1,2", "k=5", "m=3,4"}),
      (std::vector<Set>{{"n=1", "k=5", "m=3"}, {"n=1", "k=5", "m=4"}, {"n=2", "k=5", "m=3"}, {"n=2", "k=5", "m=4"}}));
}

TEST(SizeArguments, CommasInBracketsBelongToTheirExpression) {
  EXPECT_EQ(size_sets({"n=max(1, 2),ceil_div(9, 2)"}), (std::vector<Set>{{"n=max(1, 2)"}, {"n=ceil_div(9, 2)"}}));
}

TEST(SizeArguments, RefusesWhatCannotBeMeant) {
  for (const Set& bad : std::vector<Set>{{"n=1,"}, {"n=,1"}, {"n=1,,2"}}) EXPECT_THROW(size_sets(bad), Error);
  const std::string nine = "=1,2,3,4,5,6,7,8,9";
  EXPECT_THROW(size_sets({"a" + nine, "b" + nine}), Error);
}

}  // namespace
}  // namespace regtune
