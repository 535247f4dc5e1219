// Compares cubins that the test builds byte by byte: each rule alone, without a compiler. identity_test.cpp
// compares those of the real one.
#include "code_equality.hpp"

#include <gtest/gtest.h>

#include <random>

#include "cubin_builder.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

std::string instruction(std::uint64_t low, std::uint64_t high = 0x000fe20000000f00) {
  return packed(low) + packed(high);
}

// FFMA R2, R3, c[bank][offset], R4: an ALU operation.
std::string multiply(std::uint64_t bank, std::uint64_t offset) {
  return instruction(0x0000000003027623 | (offset / 4 << 40) | (bank << 54));
}
// LDC R5, c[bank][register + offset]; 255 is no register.
std::string load(std::uint64_t bank, std::uint64_t offset, std::uint64_t index = 255) {
  return instruction(0x0000000000057b82 | (index << 24) | (offset << 38) | (bank << 54));
}
// LDCU UR5, c[bank][offset], of sm_100 and later.
std::string uniform_load(std::uint64_t bank, std::uint64_t offset) {
  return instruction(0x00000000ff0577ac | (offset << 37) | (bank << 54));
}
// MOV R7, immediate
std::string move(std::uint64_t immediate) {
  return instruction(0x0000000000077802 | (immediate << 32));
}
// BAR.SYNC number
std::string barrier(std::uint64_t number) {
  return instruction(0x0000000000007b1d | (number << 54));
}

const std::string other_work = instruction(0x0000000407067210);

// Two __constant__ variables in bank 3, and the addresses of two others in bank 4.
struct Layout {
  std::uint64_t table = 0, weights = 64;  // in bank 3
  std::uint64_t counters = 0, total = 8;  // in bank 4
  std::string table_values = std::string(16, 't');
  std::string total_value = "abcd";
};

const Layout moved{.table = 128,
                   .weights = 16,
                   .counters = 24,
                   .total = 40,
                   .table_values = std::string(16, 't'),
                   .total_value = "abcd"};

struct Resources {
  std::uint32_t registers = 40, frame = 16;
  std::uint64_t shared = 0;
};

std::string cubin(const std::string& code, const Layout& layout = {}, const Resources& resources = {},
                  const std::string& own_constants = "", std::uint32_t sm = 90) {
  CubinBuilder builder(sm);
  const auto kernel = builder.function("k", builder.code("k", code), true);
  builder.section(".nv.info.k", "");
  builder.section(".nv.info",
                  sized(0x2f, words(kernel, resources.registers)) + sized(0x11, words(kernel, resources.frame)));
  if (resources.shared != 0) builder.section(".nv.shared.k", "", 8, 0, 0, resources.shared);
  if (!own_constants.empty()) builder.section(".nv.constant2.k", own_constants);
  std::string bank_3(256, '\0');
  bank_3.replace(layout.table, 16, layout.table_values);
  bank_3.replace(layout.weights, 16, std::string(16, 'w'));
  const auto constants = builder.section(".nv.constant3", bank_3);
  builder.variable("table", constants, layout.table, 16);
  builder.variable("weights", constants, layout.weights, 16);
  const auto global = builder.section(".nv.global.init", "1234" + layout.total_value);
  const auto counters = builder.variable("counters", global, 0, 4);
  const auto total = builder.variable("total", global, 4, 4);
  const auto addresses = builder.section(".nv.constant4", std::string(64, '\0'));
  builder.relocation(addresses, layout.counters, counters);
  builder.relocation(addresses, layout.total, total);
  return builder.bytes();
}

void expect_same(const std::string& a, const std::string& b) {
  EXPECT_EQ(difference(a, b, "k"), std::nullopt);
  EXPECT_EQ(difference(b, a, "k"), std::nullopt);
}

void expect_different(const std::string& a, const std::string& b, const std::string& why) {
  for (const auto& found : {difference(a, b, "k"), difference(b, a, "k")}) {
    ASSERT_TRUE(found.has_value()) << "expected: " << why;
    EXPECT_NE(found->find(why), std::string::npos) << *found;
  }
}

TEST(CodeEquality, FindsAFileEqualToItself) {
  const std::string file = cubin(multiply(3, 4) + load(4, 8) + move(7) + barrier(3));
  expect_same(file, file);
}

TEST(CodeEquality, FindsAnyOtherBitDifferent) {
  const std::string code = multiply(3, 4) + load(4, 8) + move(7) + barrier(3) + other_work;
  for (std::size_t bit = 0; bit < code.size() * 8; ++bit) {
    std::string changed = code;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(difference(cubin(code), cubin(changed), "k").has_value()) << "bit " << bit;
  }
}

TEST(CodeEquality, FollowsAVariableToWhereTheOtherFileHasIt) {
  expect_same(cubin(multiply(3, 4) + multiply(3, 72)), cubin(multiply(3, 132) + multiply(3, 24), moved));
  expect_same(cubin(load(3, 68)), cubin(load(3, 20), moved));
  expect_same(cubin(uniform_load(3, 68)), cubin(uniform_load(3, 20), moved));
  expect_same(cubin(load(3, 0, 9)), cubin(load(3, 128, 9), moved));  // table[R9]
}

TEST(CodeEquality, TellsApartVariablesAndTheirElements) {
  expect_different(cubin(multiply(3, 4)), cubin(multiply(3, 8)), ".text.k at 0x0");
  expect_different(cubin(other_work + multiply(3, 4)), cubin(other_work + multiply(3, 20), moved), ".text.k at 0x10");
  expect_different(cubin(load(3, 64)), cubin(load(3, 128), moved), ".text.k at 0x0");
}

TEST(CodeEquality, EqualBitsThatNameAnotherVariableAreDifferent) {
  Layout swapped;
  std::swap(swapped.table, swapped.weights);
  expect_different(cubin(multiply(3, 4)), cubin(multiply(3, 4), swapped), ".text.k at 0x0");
  std::swap(swapped.table, swapped.weights);
  std::swap(swapped.counters, swapped.total);
  expect_different(cubin(load(4, 0)), cubin(load(4, 0), swapped), ".text.k at 0x0");
}

TEST(CodeEquality, FollowsAddresses) {
  expect_same(cubin(load(4, 8)), cubin(load(4, 40), moved));
  expect_same(cubin(load(4, 12)), cubin(load(4, 44), moved));  // the upper half
  expect_different(cubin(load(4, 8)), cubin(load(4, 44), moved), ".text.k at 0x0");
  expect_different(cubin(load(4, 8)), cubin(load(4, 24), moved), ".text.k at 0x0");
}

TEST(CodeEquality, FollowsAnOffsetThroughARegister) {
  expect_same(cubin(move(8) + other_work + load(4, 0, 7)), cubin(move(40) + other_work + load(4, 0, 7), moved));
  expect_different(cubin(move(8) + load(4, 0, 7)), cubin(move(24) + load(4, 0, 7), moved), ".text.k at 0x0");
  expect_different(cubin(move(8) + load(4, 0, 7)), cubin(move(8) + load(4, 0, 7), moved), ".text.k at 0x10");
  // A move whose register is written again says nothing; one before a store of whatever stands there does.
  const std::string computed = instruction(0x0000000000077210), store = instruction(0x0000000001077387);
  expect_different(cubin(move(8) + computed + load(4, 0, 7)), cubin(move(40) + computed + load(4, 0, 7), moved),
                   ".text.k at 0x0");
  expect_same(cubin(move(8) + store + load(4, 0, 7)), cubin(move(40) + store + load(4, 0, 7), moved));
  // The register of another number, and a number that nothing is loaded with.
  expect_different(cubin(move(8) + load(4, 0, 6)), cubin(move(40) + load(4, 0, 6), moved), ".text.k at 0x0");
  expect_different(cubin(move(8)), cubin(move(40), moved), ".text.k at 0x0");
}

TEST(CodeEquality, APlaceOutsideAllVariablesNeedsTheSameBank) {
  expect_same(cubin(load(3, 32, 9)), cubin(load(3, 32, 9)));
  expect_different(cubin(load(3, 32, 9)), cubin(load(3, 200, 9)), ".text.k at 0x0");
  expect_different(cubin(load(3, 200, 9)), cubin(load(3, 200, 9), moved), ".text.k at 0x0");
}

TEST(CodeEquality, ComparesInitialValuesOfWhatIsUsed) {
  Layout other;
  other.table_values = std::string(16, 'u');
  expect_different(cubin(multiply(3, 4)), cubin(multiply(3, 4), other), ".text.k at 0x0");
  expect_same(cubin(multiply(3, 72)), cubin(multiply(3, 72), other));
  other.total_value = "efgh";
  expect_different(cubin(load(4, 8)), cubin(load(4, 8), other), ".text.k at 0x0");
}

TEST(CodeEquality, ABarriersNumberIsNoConstant) {
  expect_different(cubin(barrier(3)), cubin(barrier(4)), ".text.k at 0x0");
  Layout swapped;
  std::swap(swapped.table, swapped.weights);
  expect_same(cubin(barrier(3)), cubin(barrier(3), swapped));
}

TEST(CodeEquality, ComparesResourcesAndOwnConstants) {
  expect_different(cubin(other_work), cubin(other_work, {}, {.registers = 41}), "40");
  expect_different(cubin(other_work), cubin(other_work, {}, {.frame = 24}), "stack frame");
  expect_different(cubin(other_work), cubin(other_work, {}, {.shared = 2048}), "shared memory");
  expect_different(cubin(other_work), cubin(other_work, {}, {}, "own!"), ".nv.constant2.k");
  expect_different(cubin(other_work, {}, {}, "mine"), cubin(other_work, {}, {}, "own!"), ".nv.constant2.k");
  expect_different(cubin(other_work), cubin(other_work, {}, {}, "", 80), "sm_80");
  expect_different(cubin(other_work), cubin(other_work + other_work), "bytes of code");
}

std::string calling(const std::string& callee, const std::string& callee_code, std::uint64_t at = 0) {
  CubinBuilder builder;
  const auto text = builder.code("k", other_work + other_work);
  const auto kernel = builder.function("k", text, true);
  builder.section(".nv.info", sized(0x2f, words(kernel, 40)));
  builder.relocation(text, at, builder.function(callee, builder.code(callee, callee_code), false));
  return builder.bytes();
}

TEST(CodeEquality, ComparesCalledFunctionsAndRelocations) {
  expect_same(calling("f", other_work), calling("f", other_work));
  expect_different(calling("f", other_work), calling("f", barrier(1)), ".text.f at 0x0");
  expect_different(calling("f", other_work), calling("f", other_work, 16), "relocated");
  expect_different(calling("f", other_work), calling("g", other_work), "relocated");
  expect_different(calling("f", other_work), cubin(other_work + other_work, {}, {.frame = 0}), "calls");
  expect_same(calling("$__internal_3_$__cuda_sm20_div", other_work),
              calling("$__internal_3_$__cuda_sm20_div", other_work));
}

TEST(CodeEquality, SaysThatAKernelIsNotThere) {
  const auto found = difference(cubin(other_work), cubin(other_work), "absent");
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->find("absent: the kernel is not in the first"), std::string::npos) << *found;
}

TEST(CodeEquality, RefusesWhatIsNoCubin) {
  EXPECT_THROW(difference("", cubin(other_work), "k"), Error);
  EXPECT_THROW(difference(cubin(other_work), "not a cubin", "k"), Error);
}

TEST(CodeEquality, SurvivesDamagedFiles) {
  const std::string good = cubin(multiply(3, 4) + move(8) + load(4, 0, 7) + barrier(3), {}, {}, "own!");
  std::mt19937 random(1);
  int answered = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int change = 0; change < 3; ++change) bad[random() % bad.size()] = static_cast<char>(random());
    try {
      difference(good, bad, "k");
      ++answered;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(answered, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace regtune
