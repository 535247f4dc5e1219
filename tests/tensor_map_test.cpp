#include "tensor_map.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace regtune {
namespace {

// 64 x 32 floats, in tiles of 16 x 8.
TensorMapLayout layout(const std::function<void(TensorMapLayout&)>& change = [](TensorMapLayout&) {}) {
  TensorMapLayout result{ElementType::f32, {64, 32}, {256}, {16, 8}, {1, 1}, {}};
  change(result);
  return result;
}

std::string broken(const TensorMapLayout& layout, std::int64_t base_offset = 0) {
  const auto rule = broken_rule(layout, base_offset);
  return rule ? rule->key + ": " + rule->what : "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TensorMap, TakesWhatTheDriverTakes) {
  EXPECT_EQ(broken(layout()), "");
  EXPECT_EQ(broken(layout(), 16), "");
  EXPECT_EQ(broken(layout([](auto& l) { l.box = {256, 256}; })), "");
  EXPECT_EQ(broken(layout([](auto& l) { l.mode.swizzle = TensorSwizzle::b64; })), "") << "16 floats are 64 bytes";
  EXPECT_EQ(broken({ElementType::u8, {1 << 20}, {}, {16}, {1}, {}}), "");
  EXPECT_EQ(broken({ElementType::bf16, {8, 8, 8, 8, 8}, {16, 128, 1024, 8192}, {8, 1, 1, 1, 1}, {1, 1, 1, 1, 8}, {}}),
            "");
}

TEST(TensorMap, NamesTheBrokenRule) {
  const auto with = [](const std::function<void(TensorMapLayout&)>& change) { return broken(layout(change)); };
  EXPECT_TRUE(holds(with([](auto& l) { l.dims = {2, 2, 2, 2, 2, 2}; }), "tensor_map: 6 dimensions"));
  EXPECT_TRUE(holds(with([](auto& l) { l.dims.clear(); }), "tensor_map: 0 dimensions"));
  EXPECT_TRUE(holds(with([](auto& l) { l.box = {16}; }), "box: 1 numbers for 2 dimensions"));
  EXPECT_TRUE(holds(with([](auto& l) { l.strides = {}; }), "strides: 0 numbers for 2 dimensions"));
  EXPECT_TRUE(holds(with([](auto& l) { l.element_strides = {1}; }), "element_strides: 1 numbers"));
  EXPECT_TRUE(holds(with([](auto& l) { l.dims[1] = 0; }), "tensor_map: dimension 1 has 0 elements"));
  EXPECT_TRUE(holds(with([](auto& l) { l.dims[0] = (std::int64_t{1} << 32) + 1; }), "2^32"));
  EXPECT_TRUE(holds(with([](auto& l) { l.strides[0] = 260; }),
                    "strides: dimension 1 has a stride of 260 bytes, and a multiple of 16"));
  EXPECT_TRUE(holds(with([](auto& l) { l.strides[0] = std::int64_t{1} << 40; }), "2^40"));
  EXPECT_TRUE(holds(with([](auto& l) { l.strides[0] = -16; }), "strides: dimension 1 has a stride of -16"));
  EXPECT_TRUE(holds(with([](auto& l) { l.box[1] = 257; }), "box: box[1] is 257 elements; choose 1 to 256"));
  EXPECT_TRUE(holds(with([](auto& l) { l.box[0] = 0; }), "box: box[0] is 0"));
  EXPECT_TRUE(
      holds(with([](auto& l) { l.box[0] = 6; }), "box: box[0] is 6 x float = 24 bytes; choose a multiple of 16"));
  EXPECT_TRUE(holds(with([](auto& l) { l.mode.swizzle = TensorSwizzle::b32; }),
                    "box: box[0] is 16 x float = 64 bytes, with a swizzle of 32B; choose at most 32"));
  EXPECT_TRUE(holds(with([](auto& l) {
                      l.box[0] = 64;
                      l.mode.swizzle = TensorSwizzle::b128_atom_32b;
                    }),
                    "with a swizzle of 128B_atom_32B; choose at most 128"));
  EXPECT_TRUE(holds(with([](auto& l) { l.element_strides[1] = 9; }),
                    "element_strides: element_strides[1] is 9; choose 1 to 8"));
  EXPECT_TRUE(holds(with([](auto& l) {
                      l.type = ElementType::i32;
                      l.mode.oob_fill = TensorFill::nan;
                    }),
                    "oob_fill: there is no NaN of int"));
  EXPECT_TRUE(holds(broken(layout(), 8), "base_offset: the tensor begins 8 bytes into"));
  EXPECT_TRUE(holds(broken(layout(), -16), "base_offset"));
}

TEST(TensorMap, AnInterleavedLayoutHasRulesOfItsOwn) {
  TensorMapLayout interleaved{ElementType::f16, {64, 32, 16}, {128, 4096}, {16, 8, 2}, {1, 1, 1}, {}};
  interleaved.mode.interleave = TensorInterleave::b32;
  EXPECT_TRUE(holds(broken(interleaved), "swizzle: an interleave of 32B takes a swizzle of 32B"));
  interleaved.mode.swizzle = TensorSwizzle::b32;
  EXPECT_EQ(broken(interleaved), "");
  EXPECT_TRUE(holds(broken(interleaved, 16), "choose a multiple of 32 bytes"));
  interleaved.strides[0] = 144;
  EXPECT_TRUE(holds(broken(interleaved), "a multiple of 32 is needed"));
  EXPECT_TRUE(holds(broken(layout([](auto& l) { l.mode.interleave = TensorInterleave::b16; })), "write 3 or more"));
}

TEST(TensorMap, CountsBytesWithoutWrappingAround) {
  EXPECT_EQ(dense_strides({64, 32, 2}, ElementType::f32), (std::vector<std::int64_t>{256, 8192}));
  EXPECT_EQ(dense_strides({7}, ElementType::f32), std::vector<std::int64_t>{});
  const std::int64_t most = std::int64_t{1} << 32;
  EXPECT_FALSE(dense_strides({most, most, most}, ElementType::f32));
  EXPECT_EQ(reach_bytes(layout()), 31 * 256 + 64 * 4);
  EXPECT_FALSE(reach_bytes(layout([&](auto& l) {
    l.dims = {most, most};
    l.strides = {most << 6};
  })));
}

}  // namespace
}  // namespace regtune
