#pragma once
// The C types that regtune can fill: those of buffer elements and of scalar parameters, how a type's spelling
// is understood, and how a number becomes the bytes of one. Refuses structures, which only their author knows.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace regtune {

enum class ElementType { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, boolean };
int size_bytes(ElementType type);
std::string_view to_string(ElementType type);  // C's spelling: "float", "unsigned int", "__half"
bool is_floating(ElementType type);

// What a C type means: "const float4*" is a pointer to const, four f32 per element.
struct ParameterType {
  std::optional<ElementType> element;  // empty: not a type that regtune can fill
  int lanes = 1;
  bool pointer = false;
  bool pointee_const = false;
  std::string base;  // without const, restrict and *: "unsigned long", "Vec<4>"; of float**: "float*"
};
// Any text; "float const* __restrict__" and "const float *" are the same.
ParameterType parse_parameter_type(std::string_view text);

// `value` as the little-endian bytes of a `type`; empty when it is out of the type's range, or no integer
// where one is needed. Floating-point types round once, to nearest even.
std::optional<std::string> encode(ElementType type, std::variant<std::int64_t, double> value);

// For messages: "0 to 255", "-65504 to 65504".
std::string range_text(ElementType type);

// The smallest and the largest finite value, as near as a double holds them.
double lowest(ElementType type);
double highest(ElementType type);

}  // namespace regtune
