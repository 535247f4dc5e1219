#include "tensor_map.hpp"

#include <fmt/format.h>

namespace regtune {
namespace {

constexpr std::size_t kMostDimensions = 5;
constexpr std::int64_t kMostElements = std::int64_t{1} << 32;  // along one dimension
constexpr std::int64_t kStridesEnd = std::int64_t{1} << 40;
constexpr std::int64_t kLargestBox = 256;
constexpr std::int64_t kLargestElementStride = 8;

// Bytes within which a swizzle moves chunks.
std::int64_t span_of(TensorSwizzle swizzle) {
  switch (swizzle) {
    case TensorSwizzle::none:
      return 0;
    case TensorSwizzle::b32:
      return 32;
    case TensorSwizzle::b64:
      return 64;
    default:
      return 128;
  }
}

class Rules {
 public:
  Rules(const TensorMapLayout& layout, std::int64_t base_offset) : layout_(layout), base_offset_(base_offset) {}

  std::optional<BrokenRule> first_broken() const {
    using Rule = std::optional<BrokenRule> (Rules::*)() const;
    for (const Rule rule : {&Rules::of_rank, &Rules::of_dims, &Rules::of_base, &Rules::of_strides, &Rules::of_box,
                            &Rules::of_swizzle, &Rules::of_element_strides, &Rules::of_fill})
      if (auto broken = (this->*rule)()) return broken;
    return {};
  }

 private:
  std::int64_t alignment() const { return layout_.mode.interleave == TensorInterleave::b32 ? 32 : 16; }
  bool interleaved() const { return layout_.mode.interleave != TensorInterleave::none; }

  std::optional<BrokenRule> of_rank() const {
    const std::size_t rank = layout_.dims.size();
    if (rank == 0 || rank > kMostDimensions)
      return BrokenRule{"tensor_map", fmt::format("{} dimensions; write 1 to {}", rank, kMostDimensions)};
    if (interleaved() && rank < 3)
      return BrokenRule{"interleave", fmt::format("{} dimensions; write 3 or more, or drop interleave", rank)};
    if (layout_.box.size() != rank)
      return BrokenRule{"box",
                        fmt::format("{} numbers for {} dimensions; write one for each", layout_.box.size(), rank)};
    if (layout_.strides.size() + 1 != rank)
      return BrokenRule{"strides", fmt::format("{} numbers for {} dimensions; write one for each but the innermost",
                                               layout_.strides.size(), rank)};
    if (layout_.element_strides.size() != rank)
      return BrokenRule{"element_strides", fmt::format("{} numbers for {} dimensions; write one for each",
                                                       layout_.element_strides.size(), rank)};
    return {};
  }

  std::optional<BrokenRule> of_dims() const {
    for (std::size_t i = 0; i < layout_.dims.size(); ++i)
      if (layout_.dims[i] < 1 || layout_.dims[i] > kMostElements)
        return BrokenRule{"tensor_map",
                          fmt::format("dimension {} has {} elements; choose 1 to 2^32", i, layout_.dims[i])};
    return {};
  }

  std::optional<BrokenRule> of_base() const {
    if (base_offset_ >= 0 && base_offset_ % alignment() == 0) return {};
    return BrokenRule{"base_offset",
                      fmt::format("the tensor begins {} bytes into its buffer; choose a multiple of {} bytes{}",
                                  base_offset_, alignment(), interleaved_text())};
  }

  std::optional<BrokenRule> of_strides() const {
    for (std::size_t i = 0; i < layout_.strides.size(); ++i) {
      const std::int64_t stride = layout_.strides[i];
      if (stride < 1 || stride >= kStridesEnd)
        return BrokenRule{"strides",
                          fmt::format("dimension {} has a stride of {} bytes; choose 16 to 2^40 - 16", i + 1, stride)};
      if (stride % alignment() != 0)
        return BrokenRule{
            "strides",
            fmt::format("dimension {} has a stride of {} bytes, and a multiple of {} is needed{}; pad its rows", i + 1,
                        stride, alignment(), interleaved_text())};
    }
    return {};
  }

  std::optional<BrokenRule> of_box() const {
    for (std::size_t i = 0; i < layout_.box.size(); ++i)
      if (layout_.box[i] < 1 || layout_.box[i] > kLargestBox)
        return BrokenRule{"box", fmt::format("box[{}] is {} elements; choose 1 to {}", i, layout_.box[i], kLargestBox)};
    if (!interleaved() && inner_bytes() % 16 != 0)
      return BrokenRule{"box", fmt::format("box[0] is {} x {} = {} bytes; choose a multiple of 16 bytes",
                                           layout_.box[0], to_string(layout_.type), inner_bytes())};
    return {};
  }

  std::optional<BrokenRule> of_swizzle() const {
    if (layout_.mode.interleave == TensorInterleave::b32 && layout_.mode.swizzle != TensorSwizzle::b32)
      return BrokenRule{"swizzle", "an interleave of 32B takes a swizzle of 32B and no other; write swizzle = \"32B\""};
    const std::int64_t span = span_of(layout_.mode.swizzle);
    if (span == 0 || interleaved() || inner_bytes() <= span) return {};
    return BrokenRule{"box", fmt::format("box[0] is {} x {} = {} bytes, with a swizzle of {}; choose at most {}",
                                         layout_.box[0], to_string(layout_.type), inner_bytes(),
                                         kTensorSwizzleWords.at(static_cast<std::size_t>(layout_.mode.swizzle)), span)};
  }

  std::optional<BrokenRule> of_element_strides() const {
    for (std::size_t i = 0; i < layout_.element_strides.size(); ++i)
      if (layout_.element_strides[i] < 1 || layout_.element_strides[i] > kLargestElementStride)
        return BrokenRule{"element_strides", fmt::format("element_strides[{}] is {}; choose 1 to {}", i,
                                                         layout_.element_strides[i], kLargestElementStride)};
    return {};
  }

  std::optional<BrokenRule> of_fill() const {
    if (layout_.mode.oob_fill == TensorFill::zeros || is_floating(layout_.type)) return {};
    return BrokenRule{"oob_fill",
                      fmt::format("there is no NaN of {}; write oob_fill = \"zeros\"", to_string(layout_.type))};
  }

  std::int64_t inner_bytes() const { return layout_.box[0] * size_bytes(layout_.type); }
  std::string_view interleaved_text() const {
    return layout_.mode.interleave == TensorInterleave::b32 ? " with an interleave of 32B" : "";
  }

  const TensorMapLayout& layout_;
  std::int64_t base_offset_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> dense_strides(const std::vector<std::int64_t>& dims, ElementType type) {
  std::vector<std::int64_t> strides;
  std::int64_t bytes = size_bytes(type);
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    if (__builtin_mul_overflow(bytes, dims[i], &bytes)) return {};
    strides.push_back(bytes);
  }
  return strides;
}

std::optional<std::int64_t> reach_bytes(const TensorMapLayout& layout) {
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(layout.dims.at(0), size_bytes(layout.type), &reach)) return {};
  for (std::size_t i = 0; i < layout.strides.size(); ++i) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(layout.dims.at(i + 1) - 1, layout.strides[i], &bytes) ||
        __builtin_add_overflow(reach, bytes, &reach))
      return {};
  }
  return reach;
}

std::optional<BrokenRule> broken_rule(const TensorMapLayout& layout, std::int64_t base_offset) {
  return Rules(layout, base_offset).first_broken();
}

}  // namespace regtune
