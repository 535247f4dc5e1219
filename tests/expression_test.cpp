#include "expression.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "regtune/error.hpp"

namespace regtune {
namespace {

using Integers = std::vector<std::int64_t>;

const Sizes names = {{"n", 16777216}, {"m", 1000},        {"block", 256},
                     {"block_x", 32}, {"big", INT64_MAX}, {"least", INT64_MIN}};

std::int64_t size(const std::string& text) {
  return evaluate_size({text, {"k.cu:3: sizes.n"}}, names);
}

// The message of the error, which must be a bad_description that names the origin.
std::string refusal(const std::string& text) {
  try {
    const Integers values = evaluate_integers({text, {"k.cu:3: sizes.n"}}, names);
    ADD_FAILURE() << text << " gave " << values.size() << " values";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description) << text;
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("k.cu:3: sizes.n: \"")) << message;
    return message;
  }
  return "";
}

void expect_refusal(const std::string& text, const std::string& part) {
  const std::string message = refusal(text);
  EXPECT_NE(message.find(part), std::string::npos) << text << " -> " << message;
}

TEST(Expression, ComputesWith64BitIntegers) {
  EXPECT_EQ(size("1<<24"), 16777216);
  EXPECT_EQ(size("n // 4"), 4194304);
  EXPECT_EQ(size("n*n"), std::int64_t{1} << 48);
  EXPECT_EQ(size("ceil_div(n + 1, block)"), 65537);
  EXPECT_EQ(size("round_up(m, 32)"), 1024);
  EXPECT_EQ(size("min(n, m, 7) + max(1, 2)"), 9);
  EXPECT_EQ(size("-7 // 2"), -4);
  EXPECT_EQ(size("-7 % 3"), 2);
  EXPECT_EQ(size("0x10 | 1"), 17);
  EXPECT_EQ(size("~0 & 0xff"), 255);
  EXPECT_EQ(size("n > 5 and 1 or 2"), 1);
  EXPECT_EQ(size("m == 1000 and 3 or 4"), 3);
  EXPECT_EQ(size("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(size("2^10 + m"), 2024);
  EXPECT_EQ(size("ceil_div(-5, 2)"), -2);
  EXPECT_EQ(size("big - 1 + 1"), INT64_MAX);
  EXPECT_EQ(size("1000 >> 3"), 125);
  EXPECT_EQ(size("(function() return m end)()"), 1000);
}

TEST(Expression, GivesUpToThreeIntegers) {
  EXPECT_EQ(evaluate_integers({"ceil_div(n, block), m, 3", {"g"}}, names), (Integers{65536, 1000, 3}));
  EXPECT_EQ(evaluate_integers({"4", {"g"}}, names), (Integers{4}));
  expect_refusal("1, 2, 3, 4", "gives 4 values");
  EXPECT_THROW(size("1, 2"), Error);
}

TEST(Expression, AcceptsAFloatThatIsIntegral) {
  EXPECT_EQ(size("n / 4"), 4194304);
  EXPECT_EQ(size("n * 0.5"), 8388608);
  EXPECT_EQ(size("1e3"), 1000);
}

TEST(Expression, RefusesWhatIsNotIntegral) {
  expect_refusal("m / 3", "use // for integer division");
  expect_refusal("n * 0.3", "use // for integer division");
  // A double would round this quotient to an integer.
  expect_refusal("big / 2", "use // for integer division");
  expect_refusal("0.0/0.0", "nan");
  expect_refusal("1e300", "64 bits");
  expect_refusal("9223372036854775808.0", "64 bits");
}

TEST(Expression, RefusesWhatLuaWouldWrapAround) {
  for (const char* text : {"n*n*n", "1<<64", "1<<63", "3<<62", "big + 1", "least - 1", "-least", "least // -1",
                           "round_up(big, 2)", "(1<<40)*(1<<40)", "10^19"}) {
    expect_refusal(text, "64 bits");
  }
  expect_refusal("9223372036854775808", "does not fit in 64 bits");
  expect_refusal("0x10000000000000000", "does not fit in 64 bits");
}

TEST(Expression, RefusesDivisionByZero) {
  for (const char* text : {"n // 0", "n % 0", "n / 0"}) expect_refusal(text, "division by zero");
  expect_refusal("ceil_div(n, 0)", "positive");
  expect_refusal("ceil_div(n, -1)", "positive");
  expect_refusal("1 << -1", "negative");
}

TEST(Expression, NamesWhatItKnowsWhenANameIsUnknown) {
  expect_refusal("k + 1", "unknown name 'k'; choose of big, block, block_x, least, m, n, ceil_div");
  expect_refusal("print(n)", "unknown name 'print'");
  expect_refusal("math.huge", "unknown name 'math'");
}

TEST(Expression, RefusesBrokenSyntax) {
  for (const char* text :
       {"", "   ", "n +", "(n", "n n", "n 24", "24 n", "1 2", "2n", "0x", "1..2", "n = 3", "return n", "n, "}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  expect_refusal("'a'", "no place");
  expect_refusal("{1}", "no place");
  expect_refusal("n[1]", "no place");
  expect_refusal("n -- m", "comment");
  expect_refusal("nil", "nil");
  expect_refusal("ceil_div", "function");
  expect_refusal("n.x", "index");
  expect_refusal("n .. n", "concatenate");
}

TEST(Expression, EndsHostileTextsQuickly) {
  const auto begin = std::chrono::steady_clock::now();
  expect_refusal("(function() while true do end end)()", "takes too long");
  expect_refusal("(function() repeat until false end)()", "takes too long");
  expect_refusal("(function() local function f() return f() end return f() end)()", "takes too long");
  EXPECT_NE(refusal("(function() local function f() return 1 + f() end return f() end)()"), "");
  EXPECT_NE(refusal("(function() local s = 1.5 .. 1.5 while true do s = s .. s end end)()"), "");
  EXPECT_NE(refusal(std::string(4000, '(')), "");
  EXPECT_NE(refusal(std::string(2000, '~') + "1"), "");
  std::string powers = "2";
  while (powers.size() < 4000) powers += "^2";
  EXPECT_NE(refusal(powers), "");
  expect_refusal(std::string(1 << 20, '1'), "longer than");
  EXPECT_NE(refusal(std::string(4000, '9')), "");
  EXPECT_NE(refusal(std::string("n\0m", 3)), "");
  EXPECT_NE(refusal("\x1bLua\x54"), "");
  EXPECT_NE(refusal("n\xff\xfe"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Expression, MessagesHoldNoUnprintableBytes) {
  for (const char c : refusal("n\x01\xff\n")) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(Expression, GivesNumbersForScalars) {
  const auto number = [](const std::string& text) { return evaluate_number({text, {"a"}}, names); };
  EXPECT_EQ(std::get<double>(number("2.5")), 2.5);
  EXPECT_EQ(std::get<double>(number("-2.5e-3")), -2.5e-3);
  EXPECT_EQ(std::get<double>(number("1 / 3")), 1.0 / 3);
  EXPECT_EQ(std::get<std::int64_t>(number("n")), 16777216);
  EXPECT_EQ(std::get<std::int64_t>(number("true")), 1);
  EXPECT_EQ(std::get<std::int64_t>(number("n < 3")), 0);
  EXPECT_EQ(std::get<double>(number("-inf")), -INFINITY);
  EXPECT_TRUE(std::isnan(std::get<double>(number("nan"))));
  EXPECT_THROW(number("1, 2"), Error);
  EXPECT_THROW(number("nil"), Error);
}

TEST(Expression, TellsWhichNamesASizeCanHave) {
  for (const char* name : {"n", "n_2", "_n", "Rows"}) EXPECT_FALSE(why_not_a_size_name(name)) << name;
  for (const char* name : {"", "2n", "a-b", "end", "block", "block_z", "ceil_div", "inf", "_24", "n\xff"}) {
    EXPECT_TRUE(why_not_a_size_name(name)) << name;
  }
}

}  // namespace
}  // namespace regtune
