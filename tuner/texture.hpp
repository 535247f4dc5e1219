#pragma once
// How a texture object reads its texels, and what they are: the same values in a launch description, in the plan of the
// workload and where the driver makes the texture. Knows nothing of CUDA's own types; what CUDA does not take is
// refused by the plan, which can name the line.
#include <array>
#include <cstdint>
#include <string_view>

#include "element_type.hpp"

namespace regtune {

// In the driver's order, which is that of the words.
enum class TextureAddress { wrap, clamp, mirror, border };
inline constexpr std::array<std::string_view, 4> kTextureAddressWords = {"wrap", "clamp", "mirror", "border"};

enum class TextureFilter { point, linear };
inline constexpr std::array<std::string_view, 2> kTextureFilterWords = {"point", "linear"};

// What a fetch gives of an integer: the integer, or its share of the largest one as a float.
enum class TextureRead { element, normalized_float };
inline constexpr std::array<std::string_view, 2> kTextureReadWords = {"element", "normalized_float"};

// Where the texels lie: in a CUDA array, whose layout is the GPU's own, or in rows of plain memory.
enum class TextureMemory { array, linear };
inline constexpr std::array<std::string_view, 2> kTextureMemoryWords = {"array", "linear"};

struct TextureSampling {
  std::array<TextureAddress, 2> address = {TextureAddress::clamp, TextureAddress::clamp};  // along x and y
  TextureFilter filter = TextureFilter::point;
  TextureRead read = TextureRead::element;
  TextureMemory memory = TextureMemory::array;
  bool normalized_coords = false;  // 0 to 1 along each axis
  friend bool operator==(const TextureSampling&, const TextureSampling&) = default;
};

struct TextureLayout {
  ElementType type = ElementType::f32;
  int lanes = 1;  // of a texel: 1, 2 or 4
  std::int64_t width = 0;
  std::int64_t height = 0;  // 0: one dimension
  TextureSampling sampling;
};

}  // namespace regtune
