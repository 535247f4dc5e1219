#include "element_type.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace regtune {
namespace {

struct TypeFacts {
  std::string_view spelling;
  int bytes;
  double lowest;
  double highest;
};

// In the order of ElementType. The largest binary16 is 65504; bfloat16's is float's with 8 significant bits.
constexpr double largest_bf16 = 0x1.FEp127;
constexpr double largest_f32 = std::numeric_limits<float>::max();
constexpr double largest_f64 = std::numeric_limits<double>::max();
constexpr std::array<TypeFacts, 13> facts = {{{"signed char", 1, -128, 127},
                                              {"unsigned char", 1, 0, 255},
                                              {"short", 2, -32768, 32767},
                                              {"unsigned short", 2, 0, 65535},
                                              {"int", 4, -0x1p31, 0x1p31 - 1},
                                              {"unsigned int", 4, 0, 0x1p32 - 1},
                                              {"long", 8, -0x1p63, 0x1p63},
                                              {"unsigned long", 8, 0, 0x1p64},
                                              {"__half", 2, -65504, 65504},
                                              {"__nv_bfloat16", 2, -largest_bf16, largest_bf16},
                                              {"float", 4, -largest_f32, largest_f32},
                                              {"double", 8, -largest_f64, largest_f64},
                                              {"bool", 1, 0, 1}}};

const TypeFacts& facts_of(ElementType type) {
  return facts.at(static_cast<std::size_t>(type));
}

using Named = std::pair<std::string_view, ElementType>;
constexpr Named named_types[] = {{"bool", ElementType::boolean},
                                 {"float", ElementType::f32},
                                 {"double", ElementType::f64},
                                 {"__half", ElementType::f16},
                                 {"half", ElementType::f16},
                                 {"__nv_bfloat16", ElementType::bf16},
                                 {"nv_bfloat16", ElementType::bf16},
                                 {"int8_t", ElementType::i8},
                                 {"uint8_t", ElementType::u8},
                                 {"int16_t", ElementType::i16},
                                 {"uint16_t", ElementType::u16},
                                 {"int32_t", ElementType::i32},
                                 {"uint32_t", ElementType::u32},
                                 {"int64_t", ElementType::i64},
                                 {"uint64_t", ElementType::u64},
                                 {"size_t", ElementType::u64},
                                 {"ptrdiff_t", ElementType::i64},
                                 {"uint", ElementType::u32},
                                 {"ushort", ElementType::u16},
                                 {"uchar", ElementType::u8},
                                 {"ulong", ElementType::u64},
                                 {"longlong", ElementType::i64},
                                 {"ulonglong", ElementType::u64},
                                 {"char", ElementType::i8},
                                 {"short", ElementType::i16},
                                 {"int", ElementType::i32},
                                 {"long", ElementType::i64},
                                 {"__half_raw", ElementType::f16},
                                 {"__nv_bfloat16_raw", ElementType::bf16}};
// Those that CUDA has vector types of: "float4", "uchar2"; its __half2 and __nv_bfloat162 are formed alike.
constexpr std::string_view vector_bases[] = {"char",   "uchar", "short",         "ushort",     "int",   "uint",
                                             "long",   "ulong", "longlong",      "ulonglong",  "float", "double",
                                             "__half", "half",  "__nv_bfloat16", "nv_bfloat16"};

std::optional<ElementType> named_type(std::string_view word) {
  for (const std::string_view prefix : {"::", "cuda::", "std::"}) {
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  }
  const auto* found = std::find_if(std::begin(named_types), std::end(named_types),
                                   [&](const Named& named) { return named.first == word; });
  return found == std::end(named_types) ? std::nullopt : std::optional(found->second);
}

// The arithmetic types of several words, in any order: "unsigned long long", "long unsigned int".
std::optional<ElementType> arithmetic_type(const std::vector<std::string>& words) {
  const auto count = [&](std::string_view word) { return std::count(words.begin(), words.end(), word); };
  const auto known =
      count("unsigned") + count("signed") + count("char") + count("short") + count("int") + count("long");
  if (words.empty() || known != static_cast<std::ptrdiff_t>(words.size())) return std::nullopt;
  const bool is_unsigned = count("unsigned") > 0;
  if (count("char") > 0) return is_unsigned ? ElementType::u8 : ElementType::i8;
  if (count("short") > 0) return is_unsigned ? ElementType::u16 : ElementType::i16;
  if (count("long") > 0) return is_unsigned ? ElementType::u64 : ElementType::i64;
  return is_unsigned ? ElementType::u32 : ElementType::i32;
}

void set_element(const std::vector<std::string>& words, ParameterType& type) {
  type.element = arithmetic_type(words);
  if (type.element || words.size() != 1) return;
  std::string_view word = words.front();
  type.element = named_type(word);
  if (type.element) return;
  // CUDA 13 spells the alignment of some: double4_16a.
  for (const std::string_view suffix : {"_16a", "_32a"}) {
    if (word.ends_with(suffix)) word.remove_suffix(suffix.size());
  }
  if (word.size() < 2 || word.back() < '1' || word.back() > '4') return;
  const std::string_view base = word.substr(0, word.size() - 1);
  if (std::find(std::begin(vector_bases), std::end(vector_bases), base) == std::end(vector_bases)) return;
  type.element = named_type(base);
  type.lanes = word.back() - '0';
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '$';
}

// A word with its template arguments: "Vec<4, float>". Brackets that do not match end with the text.
std::string next_word(std::string_view text, std::size_t& at) {
  const std::size_t begin = at;
  int depth = 0;
  for (; at < text.size() && (depth > 0 || in_word(text[at]) || text[at] == '<'); ++at) {
    if (text[at] == '<') ++depth;
    if (text[at] == '>') --depth;
  }
  return std::string(text.substr(begin, at - begin));
}

// Rounds to a 16-bit format with `mantissa_bits` stored bits and the least normal exponent `least`. Scaling by
// a power of two is exact, so that nearbyint's is the only rounding; a carry runs into the exponent by itself.
std::uint16_t rounded_bits(long double value, int mantissa_bits, int least) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity = static_cast<std::uint16_t>(0x7FFF >> mantissa_bits << mantissa_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | infinity | 1 << (mantissa_bits - 1));
  if (value == 0) return sign;
  if (std::isinf(value)) return sign | infinity;
  const int exponent = std::max(std::ilogb(value), least);
  const long double scaled = std::nearbyint(std::ldexp(std::abs(value), mantissa_bits - exponent));
  const long double bits = std::ldexp(static_cast<long double>(exponent - least), mantissa_bits) + scaled;
  const int magnitude = bits >= infinity ? infinity : static_cast<int>(bits);
  return static_cast<std::uint16_t>(sign | magnitude);
}

template <typename T>
std::string bytes_of(T value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The value as an unsigned pattern of 64 bits, where it is an integer within the type.
std::optional<std::uint64_t> integer_pattern(ElementType type, std::variant<std::int64_t, double> value) {
  if (const auto* real = std::get_if<double>(&value)) {
    if (!(*real == std::floor(*real)) || *real < -0x1p63 || *real >= 0x1p64) return std::nullopt;
    if (*real >= 0x1p63)
      return type == ElementType::u64 ? std::optional(static_cast<std::uint64_t>(*real)) : std::nullopt;
    value = static_cast<std::int64_t>(*real);
  }
  const std::int64_t integer = std::get<std::int64_t>(value);
  const bool wide = size_bytes(type) == 8;
  if (wide && type == ElementType::u64 && integer < 0) return std::nullopt;
  const auto as_double = static_cast<double>(integer);  // exact where the type is narrow and the value fits
  if (!wide && (as_double < lowest(type) || as_double > highest(type))) return std::nullopt;
  return static_cast<std::uint64_t>(integer);
}

}  // namespace

int size_bytes(ElementType type) {
  return facts_of(type).bytes;
}
std::string_view to_string(ElementType type) {
  return facts_of(type).spelling;
}
double lowest(ElementType type) {
  return facts_of(type).lowest;
}
double highest(ElementType type) {
  return facts_of(type).highest;
}

bool is_floating(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f32 || type == ElementType::f64;
}

ParameterType parse_parameter_type(std::string_view text) {
  ParameterType type;
  std::vector<std::string> words;
  int stars = 0;
  bool is_const = false;
  for (std::size_t at = 0; at < text.size();) {
    if (in_word(text[at])) {
      const std::string word = next_word(text, at);
      if (word == "const") {
        is_const = is_const || stars == 0;
      } else if (word != "volatile" && word != "struct" && word != "enum" && word != "class" && word != "typename" &&
                 word != "restrict" && word != "__restrict" && word != "__restrict__") {
        words.push_back(word);
      }
      continue;
    }
    // An array parameter is a pointer.
    if (text[at] == '*' || text[at] == '[') ++stars;
    ++at;
  }
  for (const std::string& word : words) type.base += (type.base.empty() ? "" : " ") + word;
  type.pointer = stars > 0;
  type.pointee_const = type.pointer && is_const;
  for (int star = 1; star < stars; ++star) type.base += '*';
  if (stars <= 1) set_element(words, type);
  return type;
}

std::optional<std::string> encode(ElementType type, std::variant<std::int64_t, double> value) {
  if (is_floating(type)) {
    const bool was_infinite = value.index() == 1 && std::isinf(std::get<double>(value));
    const auto wide = std::visit([](auto number) { return static_cast<long double>(number); }, value);
    if (type == ElementType::f64) return bytes_of(static_cast<double>(wide));
    if (type == ElementType::f32) {
      const auto single = static_cast<float>(wide);
      return std::isinf(single) == was_infinite ? std::optional(bytes_of(single)) : std::nullopt;
    }
    const bool half = type == ElementType::f16;
    const std::uint16_t bits = half ? rounded_bits(wide, 10, -14) : rounded_bits(wide, 7, -126);
    const bool is_infinite = (bits & 0x7FFF) == (half ? 0x7C00 : 0x7F80);
    return is_infinite == was_infinite ? std::optional(bytes_of(bits)) : std::nullopt;
  }
  const std::optional<std::uint64_t> pattern = integer_pattern(type, value);
  if (!pattern) return std::nullopt;
  return bytes_of(*pattern).substr(0, static_cast<std::size_t>(size_bytes(type)));
}

std::string range_text(ElementType type) {
  if (type == ElementType::i64) return "-2^63 to 2^63 - 1";
  if (type == ElementType::u64) return "0 to 2^64 - 1";
  return fmt::format("{} to {}", lowest(type), highest(type));
}

}  // namespace regtune
