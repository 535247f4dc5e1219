#include "captured_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "element_type.hpp"
#include "exact_number.hpp"
#include "expression.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::size_t kAddressBytes = 8;
constexpr std::size_t kMostBytesAsText = 64;
constexpr std::size_t kMostFields = 1024;  // of a structure in a description

template <class Word>
Word word_at(std::string_view bytes, std::size_t at) {
  Word word = 0;
  if (at + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

Expression number(std::string text) {
  return {std::move(text), {}};
}

class CaseOfLaunch {
 public:
  CaseOfLaunch(const CapturedLaunch& captured, const KernelSignature& signature)
      : captured_(captured), memory_(captured.memory), signature_(signature) {}

  CapturedCase make(const std::map<std::string, std::string>& variables) {
    describe_shape();
    for (const KernelParameter& parameter : signature_.parameters) add_parameter(parameter);
    for (const auto& [name, bytes] : variables) add_variable(name, bytes);
    if (captured_.host_pointers > 0)
      throw Error(ErrorKind::bad_launch, fmt::format("a parameter of {} points into the host's memory, which no "
                                                     "description can hold; tune it inside the program: regtune run",
                                                     signature_.display));
    for (CaseBuffer& buffer : case_.buffers) measure(buffer);
    for (const CaseBuffer& buffer : case_.buffers) describe(buffer);
    return std::move(case_);
  }

 private:
  void describe_shape() {
    LaunchDescription& description = case_.description;
    const LaunchShape& shape = captured_.shape;
    description.kernel = signature_.name;
    description.blocks = {shape.block};
    const Dim3& grid = shape.grid;
    description.grid = number(grid.y == 1 && grid.z == 1 ? fmt::format("{}", grid.x)
                                                         : fmt::format("{}, {}, {}", grid.x, grid.y, grid.z));
    if (shape.dynamic_shared_bytes > 0)
      description.dynamic_shared_bytes = number(fmt::format("{}", shape.dynamic_shared_bytes));
    description.cooperative = captured_.is_cooperative;
    if (captured_.cluster && captured_.cluster->volume() > 1)
      for (const unsigned axis : {captured_.cluster->x, captured_.cluster->y, captured_.cluster->z})
        description.cluster.push_back(number(fmt::format("{}", axis)));
  }

  void add_parameter(const KernelParameter& parameter) {
    const auto size = static_cast<std::size_t>(parameter.size_bytes);
    const std::string bytes = memory_.parameter_block.substr(static_cast<std::size_t>(parameter.offset_bytes), size);
    if (is_texture_type(parameter.type) || is_tensor_map_type(parameter.type))
      throw Error(ErrorKind::bad_launch, fmt::format("parameter {} of {} is a {}, whose data nobody sees from outside; "
                                                     "tune it inside the program: regtune run",
                                                     parameter.name, signature_.display, parameter.type));
    ArgumentDescription argument;
    // A name that the text does not show is nobody's: the position is.
    const std::size_t position = case_.description.arguments.size();
    argument.parameter = parameter.name == fmt::format("arg{}", position) ? std::to_string(position) : parameter.name;
    const ParameterType type = parse_parameter_type(parameter.type);
    const auto address = word_at<std::uint64_t>(bytes, 0);
    const bool may_be_pointer = type.pointer || (parameter.type.empty() && size == kAddressBytes);
    if (type.pointer && address == 0)
      argument.scalar = number("0");
    else if (may_be_pointer && allocation_of(memory_, address))
      add_buffer(argument, parameter.name, type, address);
    else if (type.pointer)
      throw Error(
          ErrorKind::bad_launch,
          fmt::format(
              "parameter {} of {} points to {:#x}, in none of the program's allocations on the GPU: "
              "memory of the host, or a variable; no description can hold it; tune it inside the program: regtune run",
              parameter.name, signature_.display, address));
    else if (holds_addresses(bytes))
      add_structure(argument, parameter.name, bytes, false);
    else
      add_value(argument, parameter, type, bytes);
    case_.description.arguments.push_back(std::move(argument));
  }

  void add_buffer(ArgumentDescription& argument, const std::string& name, const ParameterType& type,
                  std::uint64_t address) {
    CaseBuffer buffer;
    buffer.name = name;
    buffer.address = address;
    buffer.type = type.element.value_or(ElementType::u8);
    buffer.lanes = type.element ? type.lanes : 1;
    buffer.writable = !type.pointee_const;
    const int element_bytes = size_bytes(buffer.type);
    buffer.may_hold_addresses =
        !type.element || element_bytes == 1 || (element_bytes == 8 && !is_floating(buffer.type));
    buffer.argument = case_.description.arguments.size();
    if (!type.element) argument.type = to_string(ElementType::u8);
    case_.buffers.push_back(std::move(buffer));
  }

  bool holds_addresses(std::string_view bytes) const {
    for (std::size_t at = 0; at + kAddressBytes <= bytes.size(); at += kAddressBytes)
      if (allocation_of(memory_, word_at<std::uint64_t>(bytes, at))) return true;
    return false;
  }

  // Field by field: the addresses as buffers of bytes, and whatever else is not 0 as words of 4 bytes, or one.
  void add_structure(ArgumentDescription& argument, const std::string& name, std::string_view bytes, bool of_variable) {
    const auto add_field = [&](std::size_t offset, ElementType type) -> ArgumentDescription& {
      ArgumentDescription& field = argument.fields.emplace_back();
      field.offset_bytes = static_cast<std::int64_t>(offset);
      field.type = to_string(type);
      return field;
    };
    for (std::size_t at = 0; at < bytes.size();) {
      const auto address = word_at<std::uint64_t>(bytes, at);
      if (at % kAddressBytes == 0 && at + kAddressBytes <= bytes.size() && allocation_of(memory_, address)) {
        ArgumentDescription& field = add_field(at, ElementType::u8);
        field.parameter = std::to_string(at);
        CaseBuffer buffer;
        buffer.name = fmt::format("{}.{}", name, at);
        buffer.address = address;
        buffer.of_variable = of_variable;
        buffer.argument = of_variable ? case_.description.globals.size() : case_.description.arguments.size();
        buffer.field = static_cast<int>(argument.fields.size()) - 1;
        case_.buffers.push_back(std::move(buffer));
        at += kAddressBytes;
      } else if (at + sizeof(std::uint32_t) <= bytes.size()) {
        if (const auto word = word_at<std::uint32_t>(bytes, at); word != 0)
          add_field(at, ElementType::u32).scalar = number(fmt::format("{}", word));
        at += sizeof(std::uint32_t);
      } else {
        if (const auto byte = word_at<std::uint8_t>(bytes, at); byte != 0)
          add_field(at, ElementType::u8).scalar = number(fmt::format("{}", byte));
        ++at;
      }
    }
    if (argument.fields.size() > kMostFields)
      throw Error(ErrorKind::bad_launch, fmt::format("{} of {} holds addresses among {} other values, more than a "
                                                     "description takes; tune it inside the program: regtune run",
                                                     name, signature_.display, argument.fields.size()));
  }

  void add_value(ArgumentDescription& argument, const KernelParameter& parameter, const ParameterType& type,
                 const std::string& bytes) {
    const bool is_number = type.element && !type.pointer && type.lanes == 1 &&
                           bytes.size() == static_cast<std::size_t>(size_bytes(*type.element));
    const std::optional<std::string> exact = is_number ? exact_number(*type.element, bytes) : std::nullopt;
    if (!exact) {
      add_bytes(argument, parameter.name, bytes, false);
      return;
    }
    // The integers are the sizes of the problem: by them the result is found again.
    const bool is_size = !is_floating(*type.element) && *type.element != ElementType::boolean &&
                         !exact->starts_with('-') && !why_not_a_size_name(parameter.name);
    if (is_size && argument.parameter == parameter.name) {
      case_.description.sizes.push_back({parameter.name, number(*exact)});
      argument.scalar = number(parameter.name);
    } else {
      argument.scalar = number(*exact);
    }
  }

  void add_bytes(ArgumentDescription& argument, const std::string& name, const std::string& bytes, bool of_variable) {
    if (bytes.size() > kMostBytesAsText) {
      case_.bytes.push_back({name, bytes, of_variable,
                             of_variable ? case_.description.globals.size() : case_.description.arguments.size()});
      return;
    }
    const bool in_words = bytes.size() % sizeof(std::uint32_t) == 0;
    const std::size_t step = in_words ? sizeof(std::uint32_t) : 1;
    argument.type = to_string(in_words ? ElementType::u32 : ElementType::u8);
    for (std::size_t at = 0; at < bytes.size(); at += step)
      argument.values.push_back(number(in_words ? fmt::format("{}", word_at<std::uint32_t>(bytes, at))
                                                : fmt::format("{}", word_at<std::uint8_t>(bytes, at))));
  }

  void add_variable(const std::string& name, const std::string& bytes) {
    if (bytes.empty()) return;
    ArgumentDescription variable;
    variable.parameter = name;
    if (holds_addresses(bytes))
      add_structure(variable, name, bytes, true);
    else
      add_bytes(variable, name, bytes, true);
    case_.description.globals.push_back(std::move(variable));
  }

  // Where it ends: with its allocation, or where the next buffer begins, unless both are only read.
  void measure(CaseBuffer& buffer) {
    const SnapshotRange& allocation = *allocation_of(memory_, buffer.address);
    std::uint64_t end = allocation.address + static_cast<std::uint64_t>(allocation.bytes);
    for (const CaseBuffer& other : case_.buffers) {
      if (&other == &buffer || !(buffer.writable || other.writable)) continue;
      if (other.address == buffer.address)
        throw Error(ErrorKind::bad_launch,
                    fmt::format("{} and {} of {} overlap: both point to {:#x}, and the buffers of a description lie "
                                "apart; tune it inside the program: regtune run",
                                buffer.name, other.name, signature_.display, buffer.address));
      if (other.address < buffer.address || other.address >= end) continue;
      end = other.address;
      buffer.ends_at = other.name;
    }
    const std::int64_t element = std::int64_t{size_bytes(buffer.type)} * buffer.lanes;
    buffer.bytes = static_cast<std::int64_t>(end - buffer.address) / element * element;
    buffer.file_offset = allocation.file_offset + static_cast<std::int64_t>(buffer.address - allocation.address);
  }

  void describe(const CaseBuffer& buffer) {
    ArgumentDescription& argument = described(case_.description, buffer);
    argument.length = number(fmt::format("{}", buffer.bytes / (std::int64_t{size_bytes(buffer.type)} * buffer.lanes)));
    argument.output = buffer.writable;
    if (!buffer.writable || !is_floating(buffer.type)) return;
    argument.absolute_tolerance = memory_.absolute_tolerance;
    argument.relative_tolerance = memory_.relative_tolerance;
  }

  const CapturedLaunch& captured_;
  const SnapshotPlan& memory_;
  const KernelSignature& signature_;
  CapturedCase case_;
};

}  // namespace

KernelSignature captured_signature(const CapturedLaunch& captured, std::string_view source_text) {
  CubinKernel kernel;
  kernel.name = captured.kernel;
  for (const SnapshotParameter& parameter : captured.memory.parameters)
    kernel.parameters.push_back({static_cast<int>(kernel.parameters.size()), static_cast<int>(parameter.offset),
                                 static_cast<int>(parameter.bytes)});
  return kernel_signature(kernel, source_text);
}

CapturedCase captured_case(const CapturedLaunch& captured, const KernelSignature& signature,
                           const std::map<std::string, std::string>& variables) {
  return CaseOfLaunch(captured, signature).make(variables);
}

ArgumentDescription& described(LaunchDescription& description, const CaseBuffer& buffer) {
  ArgumentDescription& argument =
      (buffer.of_variable ? description.globals : description.arguments).at(buffer.argument);
  return buffer.field < 0 ? argument : argument.fields.at(static_cast<std::size_t>(buffer.field));
}

const SnapshotRange* allocation_of(const SnapshotPlan& memory, std::uint64_t address) {
  // By address, none over another.
  auto next = std::upper_bound(memory.ranges.begin(), memory.ranges.end(), address,
                               [](std::uint64_t wanted, const SnapshotRange& range) { return wanted < range.address; });
  if (next == memory.ranges.begin()) return nullptr;
  const SnapshotRange& range = *--next;
  return address - range.address < static_cast<std::uint64_t>(range.bytes) ? &range : nullptr;
}

}  // namespace regtune
