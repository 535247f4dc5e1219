#include "argument_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "description_rules.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr int pointer_bytes = 8;
constexpr std::int64_t kMostFileBytes = 256 << 20;  // of a variable or a structure

[[noreturn]] void refuse_type(const ArgumentDescription& argument) {
  refuse(argument.origin, fmt::format("type = {}: not a type that regtune can fill; write \"float\", \"int\", "
                                      "\"unsigned long\", \"__half\", \"float4\" ...",
                                      in_quotes(argument.type)));
}

std::int64_t length_for(const Expression& length, const Sizes& names) {
  const std::int64_t elements = evaluate_size(length, names);
  if (elements < 0)
    refuse_launch(length.origin, fmt::format("{} gives a negative length: {}; write one of 0 or more",
                                             in_quotes(length.text), elements));
  return elements;
}

std::string_view word_of(auto value, const auto& words) {
  return words.at(static_cast<std::size_t>(value));
}

std::string texture_text(const TexturePlan& texture) {
  const TextureLayout& layout = texture.layout;
  const TextureSampling& sampling = layout.sampling;
  std::string text = std::to_string(layout.width);
  if (layout.height > 0) text += fmt::format(" x {}", layout.height);
  text += fmt::format(" texels of {}", to_string(layout.type));
  if (layout.lanes > 1) text += fmt::format(" x {}", layout.lanes);
  text += fmt::format(", {}, {}", init_text(texture.texels.init), word_of(sampling.address[0], kTextureAddressWords));
  if (sampling.address[1] != sampling.address[0])
    text += fmt::format(" and {}", word_of(sampling.address[1], kTextureAddressWords));
  text += fmt::format(", {}", word_of(sampling.filter, kTextureFilterWords));
  if (sampling.read != TextureRead::element) text += fmt::format(", {}", word_of(sampling.read, kTextureReadWords));
  if (sampling.normalized_coords) text += ", normalized_coords";
  if (sampling.memory != TextureMemory::array)
    text += fmt::format(", {} memory", word_of(sampling.memory, kTextureMemoryWords));
  return text;
}

std::string tensor_map_text(const TensorMapPlan& map) {
  const TensorMapLayout& layout = map.layout;
  std::string text = fmt::format("tensor map of {} x {}, strides {} bytes, box {}", fmt::join(layout.dims, " x "),
                                 to_string(layout.type), fmt::join(layout.strides, ", "), fmt::join(layout.box, " x "));
  if (std::any_of(layout.element_strides.begin(), layout.element_strides.end(), [](auto s) { return s != 1; }))
    text += fmt::format(", element strides {}", fmt::join(layout.element_strides, ", "));
  const TensorMapMode& mode = layout.mode;
  if (mode.swizzle != TensorSwizzle::none)
    text += fmt::format(", swizzle {}", word_of(mode.swizzle, kTensorSwizzleWords));
  if (mode.interleave != TensorInterleave::none)
    text += fmt::format(", interleave {}", word_of(mode.interleave, kTensorInterleaveWords));
  if (mode.l2_promotion != TensorL2Promotion::none)
    text += fmt::format(", L2 promotion {}", word_of(mode.l2_promotion, kTensorL2PromotionWords));
  if (mode.oob_fill != TensorFill::zeros) text += ", NaN outside";
  text += map.data ? ": " + value_text(ParameterPlan(*map.data)) : ": of " + map.of;
  if (map.base_offset_bytes > 0) text += fmt::format(" from byte {}", map.base_offset_bytes);
  return text;
}

}  // namespace

std::string example_argument(const KernelParameter& parameter, const std::string& size) {
  const ParameterType type = parse_parameter_type(parameter.type);
  if (!type.pointer && type.element) return "1";
  if (is_texture_type(parameter.type)) return fmt::format("{{texture = [\"{0}\", \"{0}\"], type = \"float\"}}", size);
  if (is_tensor_map_type(parameter.type))
    return fmt::format("{{tensor_map = [\"{0}\", \"{0}\"], box = [64, 64], type = \"float\"}}", size);
  // An unknown type of eight bytes is more often a pointer that the text hides than anything else.
  if (!type.pointer && parameter.size_bytes == pointer_bytes && parameter.type.empty())
    return fmt::format("{{buffer = \"{}\", type = \"float\"}}", size);
  if (!type.pointer)
    return parameter.size_bytes == 4 ? "{value = 1, type = \"int\"}"
                                     : fmt::format(
                                           "{{struct = [{{offset = 0, value = 1, type = \"int\"}}, {{offset = 8, "
                                           "buffer = \"{}\", type = \"float\"}}]}}",
                                           size);
  const std::string_view init = type.pointee_const ? ", init = \"uniform(0, 1)\"" : "";
  return fmt::format("{{buffer = \"{}\"{}{}}}", size, init, type.element ? "" : ", type = \"float\"");
}

std::string value_text(const ParameterPlan& parameter) {
  if (const auto* scalar = std::get_if<ScalarPlan>(&parameter)) return scalar->value;
  if (const auto* structure = std::get_if<StructPlan>(&parameter)) return structure->value;
  if (const auto* texture = std::get_if<TexturePlan>(&parameter)) return texture_text(*texture);
  if (const auto* map = std::get_if<TensorMapPlan>(&parameter)) return tensor_map_text(*map);
  const auto& buffer = std::get<BufferPlan>(parameter);
  std::string text = fmt::format("{} x {}, {}", buffer.count, to_string(buffer.type), init_text(buffer.init));
  if (buffer.output) text += ", output";
  if (buffer.absolute_tolerance > 0) text += fmt::format(", atol {}", buffer.absolute_tolerance);
  if (buffer.relative_tolerance > 0) text += fmt::format(", rtol {}", buffer.relative_tolerance);
  if (buffer.ulp_tolerance > 0) text += fmt::format(", ulps {}", buffer.ulp_tolerance);
  return text;
}

ParameterPlan ArgumentPlanner::parameter(const KernelParameter& parameter, const ArgumentDescription& argument) {
  if (!argument.fields.empty() || !argument.values.empty() || !argument.file.empty()) {
    StructPlan plan = structure(parameter.name, argument);
    const auto size = static_cast<std::size_t>(parameter.size_bytes);
    const bool fits = plan.fills_all ? plan.bytes.size() == size : plan.bytes.size() <= size;
    if (!fits)
      refuse(argument.origin,
             fmt::format("{} takes {} bytes of type {}, and these are {}; write every field, with its C type",
                         parameter.name, size, parameter.type.empty() ? "unknown" : parameter.type, plan.bytes.size()));
    plan.bytes.resize(size, '\0');
    return plan;
  }
  if (argument.texture) return texture(parameter, argument);
  if (argument.tensor_map) return tensor_map(parameter, argument, nullptr);
  ParameterType type = parse_parameter_type(parameter.type);
  if (!argument.type.empty()) {
    const ParameterType given = parse_parameter_type(argument.type);
    if (given.pointer || !given.element) refuse_type(argument);
    type.element = given.element;
    type.lanes = given.lanes;
  }
  if (argument.length) return parameter_buffer(parameter, argument, type);
  if (type.pointer) return null_pointer(parameter, argument);
  return scalar(parameter, argument, type, !argument.type.empty());
}

BufferPlan ArgumentPlanner::parameter_buffer(const KernelParameter& parameter, const ArgumentDescription& argument,
                                             const ParameterType& type) {
  if ((!type.pointer && !parameter.type.empty()) || parameter.size_bytes != pointer_bytes) {
    refuse(argument.origin, fmt::format("{} is no pointer but {}; write {} = {}", parameter.name,
                                        parameter.type.empty() ? "something else" : parameter.type, parameter.name,
                                        example_argument(parameter, size_example_)));
  }
  if (!type.element) {
    refuse(argument.origin,
           fmt::format(
               "regtune cannot fill elements of {}; add the C type of an element, which the length then counts: "
               "{} = {{buffer = {}, type = \"float\"}}",
               type.base.empty() ? "an unknown type" : type.base, parameter.name, in_quotes(argument.length->text)));
  }
  return buffer(parameter.name, argument, type, longest(*argument.length));
}

BufferPlan ArgumentPlanner::buffer(const std::string& name, const ArgumentDescription& argument,
                                   const ParameterType& type, std::int64_t elements) {
  BufferPlan plan{.name = name, .type = *type.element, .init = {}};
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, type.lanes, &plan.count) ||
      __builtin_mul_overflow(plan.count, size_bytes(plan.type), &bytes) ||
      __builtin_add_overflow(total_bytes_, bytes, &total_bytes_)) {
    throw Error(ErrorKind::buffer_too_large,
                fmt::format("{}: {} elements: the buffers take more bytes than 64 bits can count; choose smaller sizes",
                            argument.length ? argument.length->origin.text : argument.origin.text, elements));
  }
  plan.writable = !type.pointee_const;
  plan.output = argument.output.value_or(plan.writable);
  plan.absolute_tolerance = argument.absolute_tolerance;
  plan.relative_tolerance = argument.relative_tolerance;
  plan.ulp_tolerance = argument.ulp_tolerance;
  if (!plan.output && (plan.absolute_tolerance > 0 || plan.relative_tolerance > 0 || plan.ulp_tolerance > 0)) {
    refuse(argument.origin, "a tolerance on a buffer that is no output; drop it, or add output = true");
  }
  if (plan.ulp_tolerance > 0 && !is_floating(plan.type)) {
    refuse(argument.origin, fmt::format("ulps counts floating-point numbers, and the elements are {}; write atol",
                                        to_string(plan.type)));
  }
  plan.init = parse_buffer_init(argument.init, plan.type, names_.front(), base_folder_, argument.origin);
  if (plan.init.kind == BufferInit::Kind::file)
    check_data_file(plan.init.path, plan.name, plan.type, plan.count, argument.origin);
  return plan;
}

// A pointer whose type no signature tells: "const float" or "float", and a * behind it if that reads better.
BufferPlan ArgumentPlanner::buffer_behind(const std::string& name, const ArgumentDescription& argument) {
  ParameterType type =
      parse_parameter_type(argument.type.find('*') == std::string::npos ? argument.type + "*" : argument.type);
  if (argument.type.empty() || !type.pointer || !type.element) refuse_type(argument);
  return buffer(name, argument, type, longest(*argument.length));
}

std::int64_t ArgumentPlanner::longest(const Expression& length) const {
  std::int64_t most = 0;
  for (const Sizes& names : names_) most = std::max(most, length_for(length, names));
  return most;
}

ScalarPlan ArgumentPlanner::null_pointer(const KernelParameter& parameter, const ArgumentDescription& argument) const {
  if (number(*argument.scalar) != std::variant<std::int64_t, double>(std::int64_t{0})) {
    refuse(argument.origin, fmt::format("{} is a pointer ({}); write {} = {}, or 0 for a null pointer", parameter.name,
                                        parameter.type, parameter.name, example_argument(parameter, size_example_)));
  }
  return {parameter.name, std::string(static_cast<std::size_t>(parameter.size_bytes), '\0'), "null"};
}

std::variant<std::int64_t, double> ArgumentPlanner::number(const Expression& expression) const {
  const auto first = evaluate_number(expression, names_.front());
  for (const Sizes& names : names_) {
    const auto value = evaluate_number(expression, names);
    const bool both_nan = value.index() == 1 && first.index() == 1 && std::isnan(std::get<double>(value)) &&
                          std::isnan(std::get<double>(first));
    if (value != first && !both_nan) {
      refuse(expression.origin,
             fmt::format("{} depends on the block or on a tuned name, and there are several values; give one, or a "
                         "scalar for all",
                         in_quotes(expression.text)));
    }
  }
  return first;
}

// The value's bytes; `text` gets how people write it.
std::string ArgumentPlanner::encoded(const Expression& expression, ElementType type, const std::string& name,
                                     std::string* text) const {
  const auto value = number(expression);
  const std::optional<std::string> bytes = encode(type, value);
  const std::string figures = std::visit([](auto figure) { return fmt::format("{}", figure); }, value);
  if (!bytes) {
    refuse(expression.origin,
           fmt::format("{} gives {}, and {} {} holds {}{}; write a value within", in_quotes(expression.text), figures,
                       to_string(type), name, is_floating(type) ? "" : "the integers ", range_text(type)));
  }
  if (text != nullptr) *text = type == ElementType::boolean ? ((*bytes)[0] != 0 ? "true" : "false") : figures;
  return *bytes;
}

ScalarPlan ArgumentPlanner::scalar(const KernelParameter& parameter, const ArgumentDescription& argument,
                                   ParameterType type, bool given) const {
  // A name that regtune does not know and four bytes: an enumeration.
  if (!type.element && !parameter.type.empty() && parameter.size_bytes == 4) type.element = ElementType::i32;
  if (!type.element || type.lanes != 1 || size_bytes(*type.element) != parameter.size_bytes) {
    refuse(argument.origin,
           fmt::format("{} takes {} bytes of type {}, which {} does not fill; write {} = {{value = {}, type = "
                       "\"...\"}} with a C type of that size, or {{struct = [{{type = \"float\", value = 1}}, ...]}}, "
                       "field by field",
                       parameter.name, parameter.size_bytes, parameter.type.empty() ? "unknown" : parameter.type,
                       given ? argument.type : "one number", parameter.name, in_quotes(argument.scalar->text)));
  }
  ScalarPlan plan{parameter.name, "", ""};
  plan.bytes = encoded(*argument.scalar, *type.element, parameter.name, &plan.value);
  return plan;
}

StructPlan ArgumentPlanner::variable(const ArgumentDescription& variable) {
  if (!variable.fields.empty() || !variable.values.empty() || !variable.file.empty())
    return structure(variable.parameter, variable);
  ArgumentDescription only = variable;  // a variable of one number or one pointer is a structure of one field
  only.fields = {variable};
  StructPlan plan = structure(variable.parameter, only);
  plan.fills_all = true;
  return plan;
}

std::string ArgumentPlanner::array_bytes(const ArgumentDescription& argument) const {
  const ParameterType type = parse_parameter_type(argument.type);
  if (type.pointer || !type.element || type.lanes != 1) refuse_type(argument);
  std::string bytes;
  for (const Expression& value : argument.values) bytes += encoded(value, *type.element, argument.parameter);
  return bytes;
}

std::string ArgumentPlanner::file_bytes(const ArgumentDescription& argument) const {
  const std::filesystem::path path = base_folder_ / argument.file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw Error(ErrorKind::file_not_found, fmt::format("{}: there is no file {}; write its path relative to the "
                                                       "source's folder",
                                                       argument.origin.text, path.string()));
  const std::int64_t size = DataFile(path).bytes().value_or(0);
  if (size > kMostFileBytes)
    refuse(argument.origin, fmt::format("{} holds {} bytes; a variable or structure takes at most {}; make it a buffer",
                                        path.string(), size, kMostFileBytes));
  return read_buffer_file(path, kMostFileBytes);
}

// Field after field, each where C would put it unless an offset is written.
StructPlan ArgumentPlanner::structure(const std::string& name, const ArgumentDescription& argument) {
  StructPlan plan{name, "", {}, "", true};
  if (!argument.values.empty()) {
    plan.bytes = array_bytes(argument);
    plan.value = fmt::format("{} x {}", argument.values.size(), argument.type);
    return plan;
  }
  if (!argument.file.empty()) {
    plan.bytes = file_bytes(argument);
    plan.value = fmt::format("{} bytes of {}", plan.bytes.size(), argument.file);
    return plan;
  }
  plan.fills_all = false;
  std::vector<std::string> texts;
  for (const ArgumentDescription& field : argument.fields) {
    std::string bytes(static_cast<std::size_t>(pointer_bytes), '\0');
    std::string text;
    std::int64_t alignment = pointer_bytes;
    std::optional<BufferPlan> pointed;
    if (field.length) {
      pointed = buffer_behind(field.parameter == name ? name : name + "." + field.parameter, field);
      text = value_text(*pointed);
    } else {
      const ParameterType type = parse_parameter_type(field.type);
      if (type.pointer || !type.element || type.lanes != 1) refuse_type(field);
      bytes = encoded(*field.scalar, *type.element, name, &text);
      alignment = size_bytes(*type.element);
    }
    const auto end = static_cast<std::int64_t>(plan.bytes.size());
    const std::int64_t offset = field.offset_bytes.value_or((end + alignment - 1) / alignment * alignment);
    if (offset < end)
      refuse(field.origin, fmt::format("offset {} lies within the field before, which ends at {}; write the fields in "
                                       "their order",
                                       offset, end));
    if (offset > kMostFileBytes || offset % alignment != 0)
      refuse(field.origin, fmt::format("offset {}: a field of {} bytes begins at a multiple of them, and at {} at the "
                                       "most; leave it out, and C's own place is taken",
                                       offset, alignment, kMostFileBytes));
    plan.bytes.resize(static_cast<std::size_t>(offset), '\0');
    plan.bytes += bytes;
    if (pointed) plan.pointers.push_back({offset, std::move(*pointed)});
    texts.push_back(fmt::format("{}: {}", offset, text));
  }
  plan.value = fmt::format("{{{}}}", fmt::join(texts, "; "));
  return plan;
}

}  // namespace regtune
