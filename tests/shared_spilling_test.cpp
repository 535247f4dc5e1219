// Where the pragma for spilling to shared memory goes, and which errors are ptxas's refusal of it.
#include "shared_spilling.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "budget_text.hpp"
#include "record.hpp"

namespace regtune {
namespace {

const std::string kStatement = shared_spilling_statement;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

TEST(SharedSpilling, StandsRightBehindTheOpeningBraceAndMovesNoLine) {
  const std::string text =
      "__global__ void k(const float* in); // {\n"
      "template <int N>\n__global__ void __launch_bounds__(N, 2)\nk(float* out /* { */)\n"
      "#ifdef X\n#endif\n{ // the body\n  out[0] = 1;\n}\n"
      "__global__ void other(float* out) { out[0] = 2; }\n";
  const std::string changed = with_shared_spilling(text, "k").value();
  EXPECT_EQ(count(changed, kStatement), 1u);
  EXPECT_NE(changed.find("{ " + kStatement + " // the body\n"), std::string::npos) << changed;
  EXPECT_EQ(std::count(changed.begin(), changed.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}

TEST(SharedSpilling, EveryDefinitionOfTheNameGetsIt) {
  const std::string text = "__global__ void k(int* a) { a[0] = 1; }\n__global__ void k(float* a) { a[0] = 1; }\n";
  EXPECT_EQ(count(with_shared_spilling(text, "k").value(), kStatement), 2u);
  EXPECT_EQ(count(with_shared_spilling(text, "_Z1kPi").value(), kStatement), 2u) << "by a mangled name too";
}

TEST(SharedSpilling, IsNowhereWhereNoBodyIsWrittenOut) {
  EXPECT_FALSE(with_shared_spilling("__global__ void k(int* a);\n", "k"));
  EXPECT_FALSE(with_shared_spilling("#define K(n) __global__ void n(int* a) { a[0] = 1; }\nK(k)\n", "k"));
  EXPECT_FALSE(with_shared_spilling("__global__ void kk(int* a) { }\n", "k"));
}

TEST(SharedSpilling, ABudgetsTextHoldsItBehindThePrelude) {
  AuthorText author{"#include <a>\n__global__ void k(int* a) {\n  a[0] = 1;\n}\n", "k.cu", true};
  author.spills_to_shared = "k";
  const BudgetText text = budget_text(author, LaunchBounds{256, 4});
  EXPECT_NE(text.rest.find("launch_bounds(256, 4)"), std::string::npos);
  EXPECT_NE(text.rest.find("\"k.cu\"\n\n__global__ void k(int* a) { " + kStatement + "\n  a[0] = 1;"),
            std::string::npos)
      << text.rest;
  author.spills_to_shared = "none";
  EXPECT_NE(budget_text(author, LaunchBounds{256, 4}).rest.find("#error"), std::string::npos)
      << "never another budget's code in silence";
}

TEST(SharedSpilling, KnowsPtxassRefusals) {
  EXPECT_EQ(why_no_shared_spilling("ptxas info    : 0 bytes gmem\nptxas fatal   : Pragma 'enable_smem_spilling' is not "
                                   "allowed for dynamic SMEM\n"),
            "ptxas: Pragma 'enable_smem_spilling' is not allowed for dynamic SMEM");
  EXPECT_EQ(why_no_shared_spilling("ptxas fatal   : (C7800) shared memory spilling with ABI functions"),
            "ptxas: (C7800) shared memory spilling with ABI functions");
  EXPECT_FALSE(why_no_shared_spilling("k.cu(3): error: identifier \"a\" is undefined"));
  EXPECT_FALSE(why_no_shared_spilling(""));
}

}  // namespace
}  // namespace regtune
