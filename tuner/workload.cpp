#include "workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr unsigned default_block = 256;
constexpr std::int64_t max_grid_x = 2147483647;
constexpr std::int64_t max_grid_yz = 65535;
constexpr std::int64_t max_shared_bytes = 1 << 30;  // no GPU has a gigabyte per block
constexpr int pointer_bytes = 8;

[[noreturn]] void refuse(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_description, fmt::format("{}: {}", origin.text, what));
}

[[noreturn]] void refuse_launch(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_launch, fmt::format("{}: {}", origin.text, what));
}

std::string block_text(const Dim3& block) {
  if (block.y == 1 && block.z == 1) return fmt::format("{}", block.x);
  if (block.z == 1) return fmt::format("{}x{}", block.x, block.y);
  return fmt::format("{}x{}x{}", block.x, block.y, block.z);
}

// "a block of 256", "a block of 256 and UNROLL = 4"
std::string case_text(const LaunchCase& launch) {
  std::string text = "a block of " + block_text(launch.block);
  for (const auto& [name, value] : launch.tuned) text += fmt::format(" and {} = {}", name, value);
  return text;
}

// "uniform(0, 1)" -> its two numbers; empty when the text is something else.
std::optional<std::pair<double, double>> two_numbers(std::string_view text, std::string_view function) {
  if (!text.starts_with(function)) return std::nullopt;
  std::string rest(text.substr(function.size()));
  std::erase(rest, ' ');
  if (rest.size() < 5 || rest.front() != '(' || rest.back() != ')') return std::nullopt;
  double values[2] = {};
  const char* at = rest.data() + 1;
  const char* const end = rest.data() + rest.size() - 1;
  for (int i = 0; i < 2; ++i) {
    const auto [stop, error] = std::from_chars(at, end, values[i]);
    if (error != std::errc{} || !std::isfinite(values[i])) return std::nullopt;
    if (i == 0 && (stop == end || *stop != ',')) return std::nullopt;
    if (i == 1 && stop != end) return std::nullopt;
    at = stop + 1;
  }
  return std::pair(values[0], values[1]);
}

// What NumPy calls the elements of a buffer. NumPy has no bfloat16: the packages that add one store two bytes.
std::string_view numpy_type(ElementType type) {
  switch (type) {
    case ElementType::i8:
      return "i1";
    case ElementType::u8:
      return "u1";
    case ElementType::i16:
      return "i2";
    case ElementType::u16:
      return "u2";
    case ElementType::i32:
      return "i4";
    case ElementType::u32:
      return "u4";
    case ElementType::i64:
      return "i8";
    case ElementType::u64:
      return "u8";
    case ElementType::f16:
      return "f2";
    case ElementType::bf16:
      return "V2";
    case ElementType::f32:
      return "f4";
    case ElementType::f64:
      return "f8";
    case ElementType::boolean:
      return "b1";
  }
  return "";
}

void check_data_file(const BufferPlan& buffer, const Origin& origin) {
  const std::filesystem::path path = buffer.init.path;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: there is no file {}; the path is relative to the source's folder", origin.text,
                            path.string()));
  }
  if (path.extension() == ".npy") {
    const NpyHeader header = read_npy_header(path);
    if (header.type != numpy_type(buffer.type)) {
      refuse(origin,
             fmt::format("{} holds elements of NumPy's type {}, and the buffer {} of {} ({}); convert it with astype",
                         path.string(), header.type, buffer.name, to_string(buffer.type), numpy_type(buffer.type)));
    }
    if (header.count != buffer.count) {
      refuse(origin, fmt::format("{} holds {} elements, and the buffer {} has {}", path.string(), header.count,
                                 buffer.name, buffer.count));
    }
    return;
  }
  if (path.extension() != ".bin") refuse(origin, fmt::format("{}: a data file ends in .npy or .bin", path.string()));
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  const auto wanted = static_cast<std::uintmax_t>(buffer.count * size_bytes(buffer.type));
  if (error || bytes != wanted) {
    refuse(origin, fmt::format("{} holds {} bytes, and the buffer {} has {} ({} x {})", path.string(), bytes,
                               buffer.name, wanted, buffer.count, to_string(buffer.type)));
  }
}

class Planner {
 public:
  Planner(const LaunchDescription& description, const KernelSignature& signature, std::vector<LaunchCase> launches)
      : description_(description), signature_(signature), launches_(std::move(launches)) {}

  WorkloadPlan plan() {
    plan_.seed = description_.seed.value_or(1);
    plan_sizes();
    plan_shapes();
    plan_.work.bytes = counted(description_.bytes);
    plan_.work.flops = counted(description_.flops);
    match_arguments();
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      if (arguments_[i] == nullptr) refuse_missing(i);
      plan_.parameters.push_back(parameter(signature_.parameters[i], *arguments_[i]));
    }
    return std::move(plan_);
  }

 private:
  void plan_sizes() {
    for (const SizeDescription& size : description_.sizes) {
      const std::int64_t value = evaluate_size(size.value, plan_.sizes);
      if (value < 0) refuse_launch(size.value.origin, fmt::format("the size {} is negative: {}", size.name, value));
      plan_.sizes[size.name] = value;
    }
  }

  std::int64_t counted(const std::optional<Expression>& expression) const {
    if (!expression) return 0;
    const std::int64_t value = evaluate_size(*expression, plan_.sizes);
    if (value < 1)
      refuse(expression->origin,
             fmt::format("{} gives {}; a launch does at least 1", in_quotes(expression->text), value));
    return value;
  }

  void plan_shapes() {
    if (description_.blocks.empty()) {
      plan_.notes.push_back(
          fmt::format("No block is described; {} threads are assumed (set it with block = {} or --block).",
                      default_block, default_block));
    }
    if (!description_.grid) {
      throw Error(
          ErrorKind::bad_description,
          fmt::format("no grid is described for {}; write grid = \"ceil_div({}, block)\" in the launch description, or "
                      "give --grid 'ceil_div({}, block)'",
                      signature_.name, size_example(), size_example()));
    }
    for (const LaunchCase& launch : launches_) {
      const Dim3& block = launch.block;
      if (block.volume() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > 1024) {
        refuse_launch({"block"},
                      fmt::format("{} threads; CUDA allows 1 to 1024 in all, and 64 in z", block_text(block)));
      }
      Sizes names = expression_names(plan_.sizes, launch);
      plan_.shapes.push_back({grid(*description_.grid, launch, names), block, shared_bytes(names)});
      names_.push_back(std::move(names));
    }
  }

  static Dim3 grid(const Expression& expression, const LaunchCase& launch, const Sizes& names) {
    const std::vector<std::int64_t> extents = evaluate_integers(expression, names);
    Dim3 result;
    unsigned* const axes[] = {&result.x, &result.y, &result.z};
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::int64_t most = i == 0 ? max_grid_x : max_grid_yz;
      if (extents[i] < 1 || extents[i] > most) {
        refuse_launch(expression.origin,
                      fmt::format("{} gives {} blocks in {} for {}; CUDA allows 1 to {}", in_quotes(expression.text),
                                  extents[i], "xyz"[i], case_text(launch), most));
      }
      *axes[i] = static_cast<unsigned>(extents[i]);
    }
    return result;
  }

  std::int64_t shared_bytes(const Sizes& names) const {
    if (!description_.dynamic_shared_bytes) return 0;
    const Expression& expression = *description_.dynamic_shared_bytes;
    const std::int64_t bytes = evaluate_size(expression, names);
    if (bytes < 0 || bytes > max_shared_bytes) {
      refuse_launch(expression.origin,
                    fmt::format("{} gives {} bytes of dynamic shared memory", in_quotes(expression.text), bytes));
    }
    return bytes;
  }

  // By name, or by position where the text shows no names.
  std::optional<std::size_t> position_of(const std::string& wanted) const {
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) {
      if (signature_.parameters[i].name == wanted) return i;
    }
    std::size_t position = 0;
    const char* const end = wanted.data() + wanted.size();
    const auto [stop, error] = std::from_chars(wanted.data(), end, position);
    if (error != std::errc{} || stop != end || position >= signature_.parameters.size()) return std::nullopt;
    return position;
  }

  void match_arguments() {
    arguments_.assign(signature_.parameters.size(), nullptr);
    std::vector<std::string> names;
    for (const KernelParameter& parameter : signature_.parameters) names.push_back(parameter.name);
    for (const ArgumentDescription& argument : description_.arguments) {
      const std::optional<std::size_t> position = position_of(argument.parameter);
      if (!position) {
        refuse(argument.origin,
               fmt::format("{} is no parameter of {}{}; its parameters are: {}", in_quotes(argument.parameter),
                           signature_.display, near_miss(argument.parameter, names),
                           names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
      }
      if (const ArgumentDescription* other = arguments_[*position]) {
        refuse(argument.origin,
               fmt::format("the parameter {} has another value at {}; keep one", names[*position], other->origin.text));
      }
      arguments_[*position] = &argument;
    }
  }

  std::string size_example() const { return plan_.sizes.empty() ? "n" : description_.sizes.front().name; }

  // The line that would describe the parameter, as far as its type tells.
  std::string example(const KernelParameter& parameter) const {
    const ParameterType type = parse_parameter_type(parameter.type);
    if (!type.pointer && type.element) return plan_.sizes.contains(parameter.name) ? "\"" + parameter.name + "\"" : "1";
    if (!type.pointer)
      return parameter.size_bytes == pointer_bytes ? "{buffer = \"" + size_example() + "\", type = \"float\"}"
                                                   : "{value = 1, type = \"int\"}";
    const std::string_view init = type.pointee_const ? ", init = \"uniform(0, 1)\"" : "";
    return fmt::format("{{buffer = \"{}\"{}{}}}", size_example(), init, type.element ? "" : ", type = \"float\"");
  }

  [[noreturn]] void refuse_missing(std::size_t position) const {
    const KernelParameter& parameter = signature_.parameters[position];
    const std::string text = example(parameter);
    throw Error(
        ErrorKind::missing_argument,
        fmt::format(
            "no value for parameter {} of {}: {} {}. Write under [args] of the launch description:  {} = {}   or "
            "give:  --arg '{}={}'",
            position, signature_.name, parameter.type.empty() ? "?" : parameter.type, parameter.name, parameter.name,
            text, parameter.name, text));
  }

  ParameterPlan parameter(const KernelParameter& parameter, const ArgumentDescription& argument) {
    ParameterType type = parse_parameter_type(parameter.type);
    ParameterType given;
    if (!argument.type.empty()) {
      given = parse_parameter_type(argument.type);
      if (given.pointer || !given.element) {
        refuse(argument.origin,
               fmt::format("type = {}: not a type that regtune can fill; write \"float\", \"int\", \"unsigned long\", "
                           "\"__half\", \"float4\" ...",
                           in_quotes(argument.type)));
      }
      type.element = given.element;
      type.lanes = given.lanes;
    }
    if (argument.length) return buffer(parameter, argument, type);
    if (type.pointer) return null_pointer(parameter, argument);
    return scalar(parameter, argument, type, !argument.type.empty());
  }

  BufferPlan buffer(const KernelParameter& parameter, const ArgumentDescription& argument, const ParameterType& type) {
    if ((!type.pointer && !parameter.type.empty()) || parameter.size_bytes != pointer_bytes) {
      refuse(argument.origin, fmt::format("{} is no pointer but {}; write {} = {}", parameter.name,
                                          parameter.type.empty() ? "something else" : parameter.type, parameter.name,
                                          example(parameter)));
    }
    if (!type.element) {
      refuse(argument.origin,
             fmt::format(
                 "regtune cannot fill elements of {}; add the C type of an element, which the length then counts: "
                 "{} = {{buffer = {}, type = \"float\"}}",
                 type.base.empty() ? "an unknown type" : type.base, parameter.name, in_quotes(argument.length->text)));
    }
    BufferPlan plan{.name = parameter.name, .type = *type.element, .init = {}};
    plan.count = element_count(*argument.length, type.lanes, size_bytes(plan.type));
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
    plan.init = init(argument, plan.type);
    if (plan.init.kind == BufferInit::Kind::file) check_data_file(plan, argument.origin);
    return plan;
  }

  std::int64_t element_count(const Expression& length, int lanes, int bytes) {
    std::int64_t most = 0;
    for (const Sizes& names : names_) most = std::max(most, length_for(length, names));
    std::int64_t count = 0;
    std::int64_t buffer_bytes = 0;
    if (__builtin_mul_overflow(most, lanes, &count) || __builtin_mul_overflow(count, bytes, &buffer_bytes) ||
        __builtin_add_overflow(total_bytes_, buffer_bytes, &total_bytes_)) {
      throw Error(ErrorKind::buffer_too_large,
                  fmt::format("{}: {} elements: the buffers take more bytes than 64 bits can count; choose "
                              "smaller sizes",
                              length.origin.text, most));
    }
    return count;
  }

  static std::int64_t length_for(const Expression& length, const Sizes& names) {
    const std::int64_t elements = evaluate_size(length, names);
    if (elements < 0)
      refuse_launch(length.origin, fmt::format("{} gives a negative length: {}", in_quotes(length.text), elements));
    return elements;
  }

  BufferInit init(const ArgumentDescription& argument, ElementType type) const {
    const std::string& text = argument.init;
    constexpr std::string_view file = "file:";
    if (text.empty() || text == "zeros") return {};
    if (text == "ones") return {.kind = BufferInit::Kind::ones, .path = {}};
    if (text == "iota") return {.kind = BufferInit::Kind::iota, .path = {}};
    if (text.starts_with(file)) {
      return {.kind = BufferInit::Kind::file, .path = (description_.base_folder / text.substr(file.size())).string()};
    }
    if (const auto range = two_numbers(text, "uniform")) {
      const auto [low, high] = *range;
      if (low > high) refuse(argument.origin, fmt::format("init = {}: the lower end comes first", in_quotes(text)));
      check_range(argument, low, high, type);
      return {BufferInit::Kind::uniform, low, high, {}};
    }
    if (const auto moments = two_numbers(text, "normal")) {
      const auto [mean, deviation] = *moments;
      if (deviation < 0)
        refuse(argument.origin, fmt::format("init = {}: the standard deviation is negative", in_quotes(text)));
      check_range(argument, mean, mean, type);
      return {BufferInit::Kind::normal, mean, deviation, {}};
    }
    refuse(argument.origin,
           fmt::format(
               "init = {} is not understood; write zeros, ones, iota, uniform(0, 1), normal(0, 1) or file:data.npy",
               in_quotes(text)));
  }

  // The upper end of a range of integers may be the first number that no longer fits.
  static void check_range(const ArgumentDescription& argument, double low, double high, ElementType type) {
    if (low >= lowest(type) && high <= highest(type) + (is_floating(type) ? 0 : 1)) return;
    refuse(argument.origin,
           fmt::format("init = {}: {} holds {}", in_quotes(argument.init), to_string(type), range_text(type)));
  }

  ScalarPlan null_pointer(const KernelParameter& parameter, const ArgumentDescription& argument) const {
    if (number(argument) != std::variant<std::int64_t, double>(std::int64_t{0})) {
      refuse(argument.origin, fmt::format("{} is a pointer ({}); write {} = {}, or 0 for a null pointer",
                                          parameter.name, parameter.type, parameter.name, example(parameter)));
    }
    return {parameter.name, std::string(static_cast<std::size_t>(parameter.size_bytes), '\0'), "null"};
  }

  std::variant<std::int64_t, double> number(const ArgumentDescription& argument) const {
    const auto first = evaluate_number(*argument.scalar, names_.front());
    for (const Sizes& names : names_) {
      const auto value = evaluate_number(*argument.scalar, names);
      const bool both_nan = value.index() == 1 && first.index() == 1 && std::isnan(std::get<double>(value)) &&
                            std::isnan(std::get<double>(first));
      if (value != first && !both_nan) {
        refuse(argument.scalar->origin,
               fmt::format("{} depends on the block or on a tuned name, and there are several values; give one, or a "
                           "scalar for all",
                           in_quotes(argument.scalar->text)));
      }
    }
    return first;
  }

  ScalarPlan scalar(const KernelParameter& parameter, const ArgumentDescription& argument, ParameterType type,
                    bool given) const {
    // A name that regtune does not know and four bytes: an enumeration.
    if (!type.element && !parameter.type.empty() && parameter.size_bytes == 4) type.element = ElementType::i32;
    if (!type.element || type.lanes != 1 || size_bytes(*type.element) != parameter.size_bytes) {
      refuse(argument.origin,
             fmt::format("{} takes {} bytes of type {}, which {} does not fill; write {} = {{value = {}, type = "
                         "\"...\"}} with a C type of "
                         "that size (structures are not supported)",
                         parameter.name, parameter.size_bytes, parameter.type.empty() ? "unknown" : parameter.type,
                         given ? argument.type : "one number", parameter.name, in_quotes(argument.scalar->text)));
    }
    const auto value = number(argument);
    const std::optional<std::string> bytes = encode(*type.element, value);
    const std::string text = std::visit([](auto figure) { return fmt::format("{}", figure); }, value);
    if (!bytes) {
      refuse(argument.scalar->origin,
             fmt::format("{} gives {}, and {} {} holds {}{}", in_quotes(argument.scalar->text), text,
                         to_string(*type.element), parameter.name, is_floating(*type.element) ? "" : "the integers ",
                         range_text(*type.element)));
    }
    if (*type.element == ElementType::boolean) return {parameter.name, *bytes, (*bytes)[0] != 0 ? "true" : "false"};
    return {parameter.name, *bytes, text};
  }

  const LaunchDescription& description_;
  const KernelSignature& signature_;
  std::vector<LaunchCase> launches_;
  WorkloadPlan plan_;
  std::vector<Sizes> names_;                           // per shape: what expressions see
  std::vector<const ArgumentDescription*> arguments_;  // per parameter
  std::int64_t total_bytes_ = 0;
};

std::string init_text(const BufferInit& init) {
  switch (init.kind) {
    case BufferInit::Kind::zeros:
      return "zeros";
    case BufferInit::Kind::ones:
      return "ones";
    case BufferInit::Kind::iota:
      return "iota";
    case BufferInit::Kind::uniform:
      return fmt::format("uniform({}, {})", init.a, init.b);
    case BufferInit::Kind::normal:
      return fmt::format("normal({}, {})", init.a, init.b);
    case BufferInit::Kind::file:
      return "file " + init.path;
  }
  return "";
}

std::string value_text(const ParameterPlan& parameter) {
  if (const auto* scalar = std::get_if<ScalarPlan>(&parameter)) return scalar->value;
  const auto& buffer = std::get<BufferPlan>(parameter);
  std::string text = fmt::format("{} x {}, {}", buffer.count, to_string(buffer.type), init_text(buffer.init));
  if (buffer.output) text += ", output";
  if (buffer.absolute_tolerance > 0) text += fmt::format(", atol {}", buffer.absolute_tolerance);
  if (buffer.relative_tolerance > 0) text += fmt::format(", rtol {}", buffer.relative_tolerance);
  if (buffer.ulp_tolerance > 0) text += fmt::format(", ulps {}", buffer.ulp_tolerance);
  return text;
}

}  // namespace

std::vector<Dim3> described_blocks(const LaunchDescription& description) {
  return description.blocks.empty() ? std::vector<Dim3>{{default_block}} : description.blocks;
}

Sizes expression_names(const Sizes& sizes, const LaunchCase& launch) {
  Sizes names = sizes;
  names.insert(launch.tuned.begin(), launch.tuned.end());
  names["block"] = static_cast<std::int64_t>(launch.block.volume());
  names["block_x"] = launch.block.x;
  names["block_y"] = launch.block.y;
  names["block_z"] = launch.block.z;
  return names;
}

WorkloadPlan plan_workload(const LaunchDescription& description, const KernelSignature& signature,
                           std::vector<LaunchCase> launches) {
  if (launches.empty())
    for (const Dim3& block : described_blocks(description)) launches.push_back({block});
  return Planner(description, signature, std::move(launches)).plan();
}

std::vector<std::string> describe_arguments(const WorkloadPlan& plan, const KernelSignature& signature) {
  std::size_t name_width = 0;
  std::size_t type_width = 0;
  for (const KernelParameter& parameter : signature.parameters) {
    name_width = std::max(name_width, parameter.name.size());
    type_width = std::max(type_width, std::max<std::size_t>(parameter.type.size(), 1));
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(plan.parameters.size(), signature.parameters.size()); ++i) {
    const KernelParameter& parameter = signature.parameters[i];
    lines.push_back(fmt::format("{:{}}  {:{}}  {}", parameter.name, name_width,
                                parameter.type.empty() ? "?" : parameter.type, type_width,
                                value_text(plan.parameters[i])));
  }
  return lines;
}

}  // namespace regtune
