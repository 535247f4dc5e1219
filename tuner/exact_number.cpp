#include "exact_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "expression.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

template <class T>
T value_of(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

// With a point or an exponent, so that it is no integer: "-0.0" keeps its sign.
std::string with_point(std::string text) {
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// `mantissa_bits` stored bits of 16; bfloat16 is float's upper half.
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const double mantissa = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x1F) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

std::vector<std::string> candidates(ElementType type, std::string_view bytes) {
  switch (type) {
    case ElementType::f32: {
      const auto value = value_of<float>(bytes);
      return {with_point(fmt::format("{}", value)), with_point(fmt::format("{}", static_cast<double>(value)))};
    }
    case ElementType::f64:
      return {with_point(fmt::format("{}", value_of<double>(bytes)))};
    case ElementType::f16:
      return {with_point(fmt::format("{}", half_value(value_of<std::uint16_t>(bytes))))};
    case ElementType::bf16: {
      const std::uint32_t bits = std::uint32_t{value_of<std::uint16_t>(bytes)} << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return {with_point(fmt::format("{}", static_cast<double>(value)))};
    }
    case ElementType::i8:
      return {fmt::format("{}", static_cast<int>(value_of<std::int8_t>(bytes)))};
    case ElementType::i16:
      return {fmt::format("{}", value_of<std::int16_t>(bytes))};
    case ElementType::i32:
      return {fmt::format("{}", value_of<std::int32_t>(bytes))};
    case ElementType::i64:
      return {fmt::format("{}", value_of<std::int64_t>(bytes))};
    case ElementType::u8:
    case ElementType::u16:
    case ElementType::u32:
    case ElementType::u64:
    case ElementType::boolean:
      return {fmt::format("{}", value_of<std::uint64_t>(bytes))};
  }
  return {};
}

bool gives(const std::string& text, ElementType type, std::string_view bytes) {
  try {
    return encode(type, evaluate_number({text, {}}, Sizes{})) == bytes;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::optional<std::string> exact_number(ElementType type, std::string_view bytes) {
  for (std::string& text : candidates(type, bytes))
    if (gives(text, type, bytes)) return std::move(text);
  return {};
}

}  // namespace regtune
