#include "did_you_mean.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

const std::vector<std::string> kWords{"margin", "metric", "kernel", "compile-budget", "budget", "decayWide"};

TEST(DidYouMean, FindsASlipOfTheKeyboard) {
  EXPECT_EQ(nearest_word("marign", kWords), "margin") << "two letters swapped";
  EXPECT_EQ(nearest_word("budgt", kWords), "budget") << "one left out";
  EXPECT_EQ(nearest_word("kerneel", kWords), "kernel") << "one too many";
  EXPECT_EQ(nearest_word("netric", kWords), "metric") << "another one";
  EXPECT_EQ(nearest_word("decaywide", kWords), "decayWide") << "another case";
  EXPECT_EQ(nearest_word("compile-budegt", kWords), "compile-budget");
}

TEST(DidYouMean, TakesABeginningForAnAbbreviation) {
  EXPECT_EQ(nearest_word("compile", kWords), "compile-budget");
  EXPECT_FALSE(nearest_word("co", kWords)) << "of two letters anything could come";
}

TEST(DidYouMean, SaysNothingRatherThanSomethingFarFetched) {
  for (const char* word : {"", "x", "unknown", "gpu", "kernels-of-another-kind"})
    EXPECT_FALSE(nearest_word(word, kWords)) << word;
  EXPECT_FALSE(nearest_word("margin", {}));
  EXPECT_FALSE(nearest_word(std::string(100000, 'a'), {std::string(100000, 'a')})) << "no word is that long";
  EXPECT_EQ(did_you_mean("gpu", kWords), "");
  EXPECT_EQ(did_you_mean("marign", kWords, "--"), "; did you mean --margin?");
}

}  // namespace
}  // namespace regtune
