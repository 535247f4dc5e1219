#pragma once
// A tensor map (CUtensorMap) as values: the view of a buffer by which the tensor memory accelerator of sm_90 and later
// copies tiles. Holds the rules that the driver has for one, so that a description that breaks one is told which; the
// driver itself says no more than INVALID_VALUE. Encodes nothing: driver_objects.cpp does.
// Source of the rules: CUDA Driver API, cuTensorMapEncodeTiled.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "element_type.hpp"

namespace regtune {

inline constexpr int kTensorMapBytes = 128;

// Each in the driver's order, which is that of its words.
enum class TensorSwizzle { none, b32, b64, b128, b128_atom_32b, b128_atom_32b_flip_8b, b128_atom_64b };
inline constexpr std::array<std::string_view, 7> kTensorSwizzleWords = {
    "none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"};

enum class TensorInterleave { none, b16, b32 };
inline constexpr std::array<std::string_view, 3> kTensorInterleaveWords = {"none", "16B", "32B"};

enum class TensorL2Promotion { none, b64, b128, b256 };
inline constexpr std::array<std::string_view, 4> kTensorL2PromotionWords = {"none", "64B", "128B", "256B"};

// What stands for an element outside of the tensor.
enum class TensorFill { zeros, nan };
inline constexpr std::array<std::string_view, 2> kTensorFillWords = {"zeros", "nan"};

struct TensorMapMode {
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorInterleave interleave = TensorInterleave::none;
  TensorL2Promotion l2_promotion = TensorL2Promotion::none;
  TensorFill oob_fill = TensorFill::zeros;
};

struct TensorMapLayout {
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> dims;             // elements, the innermost first
  std::vector<std::int64_t> strides;          // bytes, of every dimension but the innermost
  std::vector<std::int64_t> box;              // elements that one copy takes
  std::vector<std::int64_t> element_strides;  // 1: every element
  TensorMapMode mode;
};

// As the elements lie behind each other, without gaps. Nothing where 64 bits do not count the bytes.
std::optional<std::vector<std::int64_t>> dense_strides(const std::vector<std::int64_t>& dims, ElementType type);

// From the first element's first byte to behind the last one. Nothing where 64 bits do not count them. Requires: no
// rule of dims and strides is broken.
std::optional<std::int64_t> reach_bytes(const TensorMapLayout& layout);

struct BrokenRule {
  std::string key;   // "box"
  std::string what;  // "box[0] is 24 x float = 96 bytes: a multiple of 16 is needed"
};
// The first rule that the layout breaks; `base_offset`: bytes from a start that is aligned to 256.
std::optional<BrokenRule> broken_rule(const TensorMapLayout& layout, std::int64_t base_offset);

}  // namespace regtune
