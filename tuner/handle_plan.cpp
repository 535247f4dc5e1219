// Textures and tensor maps of a launch: their extents as numbers, and the rules that CUDA has for them, each told by
// its name and with the line that breaks it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>

#include "argument_plan.hpp"
#include "description_rules.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr int kHandleBytes = 8;
// CUDA Programming Guide, "Technical Specifications per Compute Capability", 7.5 and later.
constexpr std::int64_t kWidestTexture = 131072;
constexpr std::int64_t kWidestLinearTexture = std::int64_t{1} << 28;
constexpr std::int64_t kHighestTexture = 65536;
constexpr std::int64_t kHighestPitchedTexture = 65000;

[[noreturn]] void refuse_no_handle(const KernelParameter& parameter, const ArgumentDescription& argument,
                                   std::string_view what) {
  refuse(argument.origin,
         fmt::format("{} is no {} but {}, of {} bytes; describe what the kernel takes", parameter.name, what,
                     parameter.type.empty() ? "something else" : parameter.type, parameter.size_bytes));
}

bool fits_texture(ElementType type) {
  return type != ElementType::f64 && type != ElementType::bf16 && size_bytes(type) <= 4;
}

void check_texel(const ArgumentDescription& argument, const ParameterType& type) {
  if (type.pointer || !type.element)
    refuse(argument.origin, fmt::format("a texture needs the C type of a texel, and {} is none that regtune can fill; "
                                        "write type = \"float\", \"uchar4\", \"ushort2\" ...",
                                        argument.type.empty() ? "none is written" : in_quotes(argument.type)));
  if (!fits_texture(*type.element))
    refuse(argument.origin, fmt::format("there is no texture of {}: choose integers of 8 to 32 bits, __half or "
                                        "float",
                                        to_string(*type.element)));
  if (type.lanes == 3)
    refuse(argument.origin, "a texel has 1, 2 or 4 components, and not 3; write the type of four, as float4");
}

void check_extents(const ArgumentDescription& argument, const TextureLayout& layout) {
  const bool linear = layout.sampling.memory == TextureMemory::linear;
  const bool flat = layout.height > 0;
  const std::int64_t widest = linear && !flat ? kWidestLinearTexture : kWidestTexture;
  const std::int64_t highest = linear ? kHighestPitchedTexture : kHighestTexture;
  if (layout.width < 1 || layout.width > widest)
    refuse(argument.texture->extents.front().origin,
           fmt::format("a texture of {} texels along x; choose 1 to {}{}", layout.width, widest,
                       !linear && !flat ? ", and 2^28 with memory = \"linear\"" : ""));
  if (flat && layout.height > highest)
    refuse(argument.texture->extents.back().origin,
           fmt::format("a texture of {} texels along y; choose 1 to {}", layout.height, highest));
}

void check_sampling(const ArgumentDescription& argument, const TextureLayout& layout) {
  const TextureSampling& sampling = layout.sampling;
  const bool normalized = sampling.read == TextureRead::normalized_float;
  if (normalized && (is_floating(layout.type) || size_bytes(layout.type) > 2))
    refuse(argument.origin,
           fmt::format("read = \"normalized_float\" is for integers of 8 and 16 bits, and these texels "
                       "are {}; drop it",
                       to_string(layout.type)));
  if (sampling.filter == TextureFilter::linear && !normalized && !is_floating(layout.type))
    refuse(argument.origin,
           fmt::format("filter = \"linear\" needs texels that are read as floats, and these are {}; {}",
                       to_string(layout.type),
                       size_bytes(layout.type) <= 2 ? "add read = \"normalized_float\"" : "drop it"));
  const bool line_of_memory = sampling.memory == TextureMemory::linear && layout.height == 0;
  if (line_of_memory && (sampling.filter == TextureFilter::linear || sampling.normalized_coords))
    refuse(argument.origin,
           "one row of linear memory is fetched by index (tex1Dfetch), without a filter and without "
           "normalized_coords; drop memory = \"linear\" for a CUDA array");
}

}  // namespace

std::vector<std::int64_t> ArgumentPlanner::integers(const std::vector<Expression>& expressions) const {
  std::vector<std::int64_t> result;
  for (const Expression& expression : expressions) {
    const auto value = number(expression);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      result.push_back(*integer);
      continue;
    }
    result.push_back(evaluate_size(expression, names_.front()));  // takes 4.0, and says what is wrong with 4.5
  }
  return result;
}

TexturePlan ArgumentPlanner::texture(const KernelParameter& parameter, const ArgumentDescription& argument) {
  const ParameterType passed = parse_parameter_type(parameter.type);
  const bool integer = passed.element == ElementType::u64 && !passed.pointer && passed.lanes == 1;
  const bool handle = is_texture_type(parameter.type) || integer || parameter.type.empty();
  if (!handle || parameter.size_bytes != kHandleBytes) refuse_no_handle(parameter, argument, "texture object");
  ParameterType type = parse_parameter_type(argument.type);
  check_texel(argument, type);
  const std::vector<std::int64_t> extents = integers(argument.texture->extents);
  TextureLayout layout{*type.element, type.lanes, extents.front(), 0, argument.texture->sampling};
  if (extents.size() > 1) {
    layout.height = extents.back();
    if (layout.height < 1)
      refuse(argument.texture->extents.back().origin,
             fmt::format("a texture of {} rows; write 1 or more, or leave the height out", layout.height));
  }
  check_extents(argument, layout);
  check_sampling(argument, layout);
  type.pointee_const = true;  // nothing writes through a texture
  const std::int64_t rows = layout.height > 0 ? layout.height : 1;
  return {buffer(parameter.name, argument, type, layout.width * rows), layout};
}

TensorMapLayout ArgumentPlanner::tensor_layout(const ArgumentDescription& argument, ElementType type) const {
  const TensorMapDescription& described = *argument.tensor_map;
  TensorMapLayout layout{type,
                         integers(described.dims),
                         integers(described.strides),
                         integers(described.box),
                         integers(described.element_strides),
                         described.mode};
  if (described.strides.empty()) {
    const auto dense = dense_strides(layout.dims, type);
    if (!dense)
      refuse(described.dims.front().origin, "the tensor takes more bytes than 64 bits can count; choose smaller sizes");
    layout.strides = *dense;
  }
  if (described.element_strides.empty()) layout.element_strides.assign(layout.dims.size(), 1);
  return layout;
}

TensorMapPlan ArgumentPlanner::tensor_map(const KernelParameter& parameter, const ArgumentDescription& argument,
                                          const BufferPlan* viewed) {
  const ParameterType passed = parse_parameter_type(parameter.type);
  if (passed.pointer || passed.element || parameter.size_bytes != kTensorMapBytes)
    refuse_no_handle(parameter, argument, "tensor map by value");
  const TensorMapDescription& described = *argument.tensor_map;
  ParameterType type = parse_parameter_type(argument.type);
  if (argument.type.empty() && viewed != nullptr) type.element = viewed->type;
  if (type.pointer || !type.element || type.lanes != 1)
    refuse(argument.origin,
           "a tensor map needs the C type of one element; write type = \"float\", \"__half\", "
           "\"__nv_bfloat16\", \"unsigned char\" ...");
  TensorMapPlan plan{parameter.name, {}, described.of, 0, tensor_layout(argument, *type.element)};
  if (described.base_offset) plan.base_offset_bytes = integers({*described.base_offset}).front();
  if (const auto broken = broken_rule(plan.layout, plan.base_offset_bytes)) {
    const auto where = [&](std::string_view key, const std::vector<Expression>& expressions) {
      return broken->key == key && !expressions.empty() ? &expressions.front().origin : nullptr;
    };
    const Origin* origin = &argument.origin;
    for (const Origin* found :
         {where("tensor_map", described.dims), where("box", described.box), where("strides", described.strides),
          where("element_strides", described.element_strides)})
      if (found != nullptr) origin = found;
    if (broken->key == "base_offset" && described.base_offset) origin = &described.base_offset->origin;
    refuse(*origin, origin == &argument.origin ? fmt::format("{} ({})", broken->what, broken->key) : broken->what);
  }
  const std::optional<std::int64_t> reach = reach_bytes(plan.layout);
  std::int64_t end = 0;
  if (!reach || __builtin_add_overflow(*reach, plan.base_offset_bytes, &end))
    refuse(argument.origin, "the tensor takes more bytes than 64 bits can count; choose smaller sizes");
  if (viewed != nullptr) {
    const std::int64_t bytes = viewed->count * size_bytes(viewed->type);
    if (end > bytes)
      refuse(
          argument.origin,
          fmt::format("the tensor reaches to byte {} of {}, which has {}; make the buffer longer or the tensor smaller",
                      end, viewed->name, bytes));
    return plan;
  }
  const int element_bytes = size_bytes(*type.element);
  plan.data = buffer(parameter.name, argument, type, (end - 1) / element_bytes + 1);
  return plan;
}

}  // namespace regtune
