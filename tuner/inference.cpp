#include "inference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "element_type.hpp"
#include "parameter_role.hpp"

namespace regtune {
namespace {

constexpr unsigned kDefaultBlock = 256;
constexpr int kElementsLog2 = 24;       // 64 MiB of floats: more than any L2 cache of today holds
constexpr int kMatrixProductLog2 = 10;  // of each of m, n and k: 1024 x 1024 x 1024 takes a millisecond, not a minute
constexpr int kSmallestSizeLog2 = 6;    // a smaller one tells nothing of a GPU
constexpr int kCopiesOnGpu = 3;         // of an output: itself, its initial data, the reference's result

// The factors of a product, or the one term of a sum: "width * height".
std::string product_of(const std::vector<std::string>& factors) {
  return fmt::format("{}", fmt::join(factors, " * "));
}

std::string toml_text(std::string_view expression) {
  return fmt::format("\"{}\"", expression);
}

// "ceil_div(n, block), m" -> its extents; commas within parentheses part nothing.
std::vector<std::string> extents_of(std::string_view grid) {
  std::vector<std::string> extents(1);
  int depth = 0;
  for (const char c : grid) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0)
      extents.emplace_back();
    else if (c != ' ' || !extents.back().empty())
      extents.back() += c;
  }
  return extents;
}

// In parentheses where an operator stands outside of any.
std::string as_factor(const std::string& expression) {
  int depth = 0;
  for (const char c : expression) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && std::string_view("+-*/%<>|&~^").find(c) != std::string_view::npos) return "(" + expression + ")";
  }
  return expression;
}

class Inference {
 public:
  Inference(LaunchDescription description, const KernelSignature& signature, const InferenceFacts& facts)
      : description_(std::move(description)), signature_(signature), facts_(facts) {
    for (const KernelParameter& parameter : signature_.parameters) {
      const ParameterType type = parse_parameter_type(parameter.type);
      const bool integer = !type.pointer && type.element && type.lanes == 1 && !is_floating(*type.element) &&
                           *type.element != ElementType::boolean && parameter.size_bytes >= 4;
      roles_.push_back(integer ? parameter_role(parameter.name) : ParameterRole::other);
      types_.push_back(type);
    }
    settle_matrix_product();
  }

  InferredLaunch infer() {
    if (is_complete()) return {std::move(description_), {}};
    name_sizes();
    guess_block();
    guess_grid();
    guess_shared_bytes();
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i)
      if (!is_described(i)) guess_argument(i);
    return {std::move(description_), std::move(guesses_)};
  }

 private:
  bool is_described(std::size_t position) const {
    const std::string& name = signature_.parameters[position].name;
    return std::any_of(description_.arguments.begin(), description_.arguments.end(), [&](const auto& argument) {
      return argument.parameter == name || argument.parameter == std::to_string(position);
    });
  }

  bool is_complete() const {
    bool complete = description_.grid && !description_.blocks.empty();
    for (std::size_t i = 0; i < signature_.parameters.size(); ++i) complete = complete && is_described(i);
    return complete;
  }

  std::optional<std::size_t> first_with(ParameterRole role) const {
    const auto found = std::find(roles_.begin(), roles_.end(), role);
    if (found == roles_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - roles_.begin());
  }

  // m, n and k together are a matrix product's; alone, m and k are no sizes, and n is a length.
  void settle_matrix_product() {
    const auto m = first_with(ParameterRole::letter_m);
    const auto n = first_with(ParameterRole::letter_n);
    const auto k = first_with(ParameterRole::letter_k);
    matrix_product_ = m && n && k;
    for (ParameterRole& role : roles_) {
      if (role == ParameterRole::letter_m) role = m && n ? ParameterRole::height : ParameterRole::other;
      if (role == ParameterRole::letter_n) role = m && n ? ParameterRole::width : ParameterRole::length;
      if (role == ParameterRole::letter_k) role = matrix_product_ ? ParameterRole::inner : ParameterRole::other;
    }
  }

  bool has_size(const std::string& name) const {
    return std::any_of(description_.sizes.begin(), description_.sizes.end(),
                       [&](const SizeDescription& size) { return size.name == name; });
  }

  // What a parameter of a size's role takes: a size of its own name, or the first of those that are described.
  std::string size_for(ParameterRole role) {
    const auto position = first_with(role);
    if (!position) return "";
    const std::string& name = signature_.parameters[*position].name;
    if (has_size(name)) return name;
    if (!sizes_are_guessed_) return description_.sizes.front().name;
    return why_not_a_size_name(name) ? "n" : name;
  }

  void name_sizes() {
    sizes_are_guessed_ = description_.sizes.empty();
    width_ = size_for(ParameterRole::width);
    height_ = size_for(ParameterRole::height);
    depth_ = size_for(ParameterRole::depth);
    inner_ = size_for(ParameterRole::inner);
    length_ = size_for(ParameterRole::length);
    std::vector<std::string> factors;
    for (const std::string& name : {width_, height_, depth_})
      if (!name.empty()) factors.push_back(name);
    // One extent beside a length: rows of so many columns. Two or more already tell how many elements there are.
    if (factors.size() < 2 && !length_.empty()) factors.push_back(length_);
    if (factors.empty()) {
      length_ = sizes_are_guessed_ ? "n" : description_.sizes.front().name;
      factors.push_back(length_);
      square_ = facts_.body.grid_has_y;
    } else if (factors.size() == 1) {
      if (length_.empty()) length_ = factors.front();
      square_ = facts_.body.grid_has_y;
    }
    if (square_) factors.push_back(factors.front());
    elements_ = matrix_product_
                    ? fmt::format("max({} * {}, {} * {}, {} * {})", height_, inner_, inner_, width_, height_, width_)
                    : product_of(factors);
    grid_elements_ = matrix_product_ ? product_of({height_, width_}) : elements_;
    if (sizes_are_guessed_) guess_sizes(factors);
  }

  void guess_sizes(const std::vector<std::string>& factors) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const std::string& name : factors) add(name);
    add(inner_);
    const int dimensions = static_cast<int>(factors.size());
    int log2 = matrix_product_ ? kMatrixProductLog2 : kElementsLog2 / std::max(1, dimensions);
    const std::string reason = facts_.memory_bytes > 0 && lower_to_memory(log2, matrix_product_ ? 2 : dimensions)
                                   ? "no size is described; as large as half of the GPU's memory holds"
                                   : "no size is described";
    for (const std::string& name : names) {
      const std::string value = std::to_string(std::int64_t{1} << log2);
      description_.sizes.push_back({name, {value, {"guessed sizes." + name}}});
      guesses_.push_back({"sizes." + name, value, reason});
    }
  }

  // True when the size had to be made smaller.
  bool lower_to_memory(int& log2, int dimensions) const {
    double bytes_per_element = 0;
    for (const ParameterType& type : types_)
      if (type.pointer && type.element)
        bytes_per_element += (type.pointee_const ? 1 : kCopiesOnGpu) * type.lanes * size_bytes(*type.element);
    const auto needed = [&] {
      double elements = 1;
      for (int i = 0; i < dimensions; ++i) elements *= static_cast<double>(std::int64_t{1} << log2);
      return elements * bytes_per_element;
    };
    bool lowered = false;
    for (; needed() > static_cast<double>(facts_.memory_bytes) / 2 && log2 > kSmallestSizeLog2; --log2) lowered = true;
    return lowered;
  }

  // As near to a square as a warp's 32 threads in a row, or a power of two, allow.
  Dim3 shaped(unsigned threads) const {
    if (!facts_.body.block_has_y) return {threads, 1, 1};
    if (facts_.body.block_has_z && threads % 64 == 0) return {8, 8, threads / 64};
    for (const unsigned side : {32u, 16u, 8u, 4u})
      if (side * side == threads) return {side, side, 1};
    return threads % 32 == 0 && threads > 32 ? Dim3{32, threads / 32, 1} : Dim3{threads, 1, 1};
  }

  void guess_block() {
    if (!description_.blocks.empty()) return;
    const bool bound = facts_.launch_bound > 0 && facts_.launch_bound <= 1024;
    const Dim3 block = shaped(bound ? static_cast<unsigned>(facts_.launch_bound) : kDefaultBlock);
    description_.blocks.push_back(block);
    std::string reason = bound ? fmt::format("the kernel's launch bound is {} threads", facts_.launch_bound)
                               : "no block is described, and the kernel has no launch bound";
    if (block.y > 1) reason += "; its code uses more than the x axis";
    std::string value = std::to_string(block.x);
    if (block.y > 1)
      value = toml_text(fmt::format("{}x{}{}", block.x, block.y, block.z > 1 ? fmt::format("x{}", block.z) : ""));
    guesses_.push_back({"block", std::move(value), std::move(reason)});
  }

  // Blocks of a cluster along the axis, where the code declares them or the description says so in figures.
  int clustered(char axis) const {
    const auto at = static_cast<std::size_t>(axis - 'x');
    if (signature_.blocks_per_cluster[at] > 0) return signature_.blocks_per_cluster[at];
    if (at >= description_.cluster.size()) return 1;
    int blocks = 1;
    const std::string& text = description_.cluster[at].text;
    std::from_chars(text.data(), text.data() + text.size(), blocks);
    return std::max(blocks, 1);
  }

  // One thread for each element, along the axes that the code uses.
  void guess_grid() {
    if (description_.grid) {
      std::vector<std::string> factors;
      for (const std::string& extent : extents_of(description_.grid->text)) factors.push_back(as_factor(extent));
      threads_ = product_of(factors) + " * block";
      return;
    }
    const bool in_x_alone = !facts_.body.grid_has_y && !facts_.body.grid_has_z;
    std::string grid;
    if (in_x_alone && clustered('x') > 1) {
      grid = fmt::format("round_up(ceil_div({}, block), {})", grid_elements_, clustered('x'));
      threads_ = fmt::format("round_up({}, {} * block)", grid_elements_, clustered('x'));
    } else if (in_x_alone) {
      grid = fmt::format("ceil_div({}, block)", grid_elements_);
      threads_ = fmt::format("round_up({}, block)", grid_elements_);
    } else {
      const std::string x = !width_.empty() ? width_ : length_;
      const std::string y = !height_.empty() ? height_ : square_ || length_.empty() ? x : length_;
      const auto along = [this](const std::string& extent, char axis) {
        return clustered(axis) > 1 ? fmt::format("round_up(ceil_div({}, block_{}), {})", extent, axis, clustered(axis))
                                   : fmt::format("ceil_div({}, block_{})", extent, axis);
      };
      const auto rounded = [this](const std::string& extent, char axis) {
        return clustered(axis) > 1 ? fmt::format("round_up({}, {} * block_{})", extent, clustered(axis), axis)
                                   : fmt::format("round_up({}, block_{})", extent, axis);
      };
      grid = along(x, 'x') + ", " + along(y, 'y');
      threads_ = rounded(x, 'x') + " * " + rounded(y, 'y');
      if (facts_.body.grid_has_z) {
        const std::string z = depth_.empty() ? "1" : depth_;
        grid += ", " + along(z, 'z');
        threads_ += " * " + rounded(z, 'z');
      }
      if (y == x && square_) elements_ = product_of({x, x});
    }
    description_.grid = Expression{grid, {"guessed grid"}};
    guesses_.push_back({"grid", toml_text(grid),
                        in_x_alone ? "one thread for each element"
                                   : "one thread for each element, along the axes that "
                                     "the kernel's code uses"});
  }

  void guess_shared_bytes() {
    if (description_.dynamic_shared_bytes || facts_.body.shared_element_bytes == 0) return;
    const std::string bytes = fmt::format("{} * block", facts_.body.shared_element_bytes);
    description_.dynamic_shared_bytes = Expression{bytes, {"guessed dynamic_shared_bytes"}};
    guesses_.push_back({"dynamic_shared_bytes", toml_text(bytes),
                        "the kernel has an extern __shared__ array: one element for each thread"});
  }

  void add_argument(ArgumentDescription argument, std::string value, std::string reason) {
    const std::string key = "args." + argument.parameter;
    argument.origin = {"guessed " + key};
    if (argument.scalar) argument.scalar->origin = argument.origin;
    if (argument.length) argument.length->origin = argument.origin;
    description_.arguments.push_back(std::move(argument));
    guesses_.push_back({key, std::move(value), std::move(reason)});
  }

  void guess_argument(std::size_t position) {
    const KernelParameter& parameter = signature_.parameters[position];
    const ParameterType& type = types_[position];
    if (is_texture_type(parameter.type)) {
      guess_texture(parameter);
    } else if (!type.element) {
      // A name that regtune does not know and four bytes: an enumeration.
      if (type.pointer || parameter.type.empty() || parameter.size_bytes != 4) return;
      ArgumentDescription argument;
      argument.parameter = parameter.name;
      argument.scalar = Expression{"0", {}};
      add_argument(std::move(argument), "0", "four bytes of a type that regtune does not know: an enumeration");
    } else if (type.pointer) {
      guess_buffer(parameter, type);
    } else if (type.lanes == 1) {
      guess_scalar(parameter, type, roles_[position]);
    }
  }

  // The texels are of the type that a fetch gives; what is stored as bytes and read as floats has the same values.
  void guess_texture(const KernelParameter& parameter) {
    const std::vector<TextureFetch>& fetches = facts_.body.fetches;
    auto fetch = std::find_if(fetches.begin(), fetches.end(),
                              [&](const TextureFetch& candidate) { return candidate.texture == parameter.name; });
    if (fetch == fetches.end()) fetch = fetches.begin();
    const bool found = fetch != fetches.end();
    ArgumentDescription argument;
    argument.parameter = parameter.name;
    argument.type = found ? fetch->type : "float";
    const ParameterType texel = parse_parameter_type(argument.type);
    if (texel.pointer || !texel.element || size_bytes(*texel.element) > 4 || texel.lanes == 3) argument.type = "float";
    argument.init = texel.element && is_floating(*texel.element) ? "uniform(0, 1)" : "uniform(0, 100)";
    argument.texture.emplace();
    for (const std::string& extent : texture_extents(found ? fetch->function : "tex2D"))
      argument.texture->extents.push_back({extent, {"guessed args." + parameter.name}});
    std::string extents;
    for (const Expression& extent : argument.texture->extents)
      extents += (extents.empty() ? "" : ", ") + toml_text(extent.text);
    std::string value = fmt::format("{{ texture = [{}], type = {}, init = {}", extents, toml_text(argument.type),
                                    toml_text(argument.init));
    if (found && fetch->function == "tex1Dfetch") {
      argument.texture->sampling.memory = TextureMemory::linear;
      value += ", memory = \"linear\"";
    }
    add_argument(std::move(argument), value + " }",
                 found ? fmt::format("a texture object, which {}<{}> reads", fetch->function, fetch->type)
                       : "a texture object, and no fetch from it is in the text");
  }

  std::vector<std::string> texture_extents(const std::string& function) const {
    constexpr int widest = 131072;
    if (function == "tex1Dfetch") return {elements_};
    if (function.starts_with("tex1D")) return {fmt::format("min({}, {})", elements_, widest)};
    if (!width_.empty() && !height_.empty()) return {width_, height_};
    if (square_) return {length_, length_};
    return {fmt::format("min({}, 4096)", elements_), fmt::format("ceil_div({}, 4096)", elements_)};
  }

  // At least the size, and at least an element for each thread of the launch: a kernel that trusts its grid reads as
  // far.
  std::string buffer_length() const {
    if (threads_ == fmt::format("round_up({}, block)", elements_)) return threads_;
    return fmt::format("max({}, {})", elements_, threads_);
  }

  void guess_buffer(const KernelParameter& parameter, const ParameterType& type) {
    ArgumentDescription argument;
    argument.parameter = parameter.name;
    argument.length = Expression{buffer_length(), {}};
    std::string reason = type.pointee_const ? "pointer to const: an input" : "pointer to non-const: in and out";
    const bool is_index = is_index_name(parameter.name) && !is_floating(*type.element);
    if (*type.element == ElementType::boolean) {
      argument.init = "ones";
    } else if (is_floating(*type.element)) {
      argument.init = "uniform(0, 1)";
    } else if (type.pointee_const && is_index && size_bytes(*type.element) >= 4) {
      argument.init = fmt::format("mod({})", grid_elements_);
      reason += " named like an index";
    } else if (type.pointee_const) {
      argument.init = "uniform(0, 100)";
    }
    std::string value = "{ buffer = " + toml_text(argument.length->text);
    if (!argument.init.empty()) value += ", init = " + toml_text(argument.init);
    add_argument(std::move(argument), value + " }", std::move(reason));
  }

  void guess_scalar(const KernelParameter& parameter, const ParameterType& type, ParameterRole role) {
    ArgumentDescription argument;
    argument.parameter = parameter.name;
    const auto set = [&](const std::string& text, const std::string& toml, std::string reason) {
      argument.scalar = Expression{text, {}};
      add_argument(std::move(argument), toml, std::move(reason));
    };
    if (has_size(parameter.name) && !sizes_are_guessed_)
      return set(parameter.name, toml_text(parameter.name), "the size of that name");
    if (*type.element == ElementType::boolean) return set("true", "true", "a flag, switched on");
    if (is_floating(*type.element)) return set("1.0", "1.0", "a floating-point number");
    const std::string size = size_of(role);
    if (!size.empty()) return set(size, toml_text(size), "an integer named like a size");
    set("1", "1", "an integer whose name does not tell what it is");
  }

  std::string size_of(ParameterRole role) const {
    switch (role) {
      case ParameterRole::width:
        return width_;
      case ParameterRole::height:
        return height_;
      case ParameterRole::depth:
        return depth_;
      case ParameterRole::inner:
        return inner_;
      case ParameterRole::stride:
        return !width_.empty() ? width_ : length_;
      case ParameterRole::length:
        return width_.empty() || height_.empty() ? length_ : elements_;
      default:
        return "";
    }
  }

  LaunchDescription description_;
  const KernelSignature& signature_;
  const InferenceFacts& facts_;
  std::vector<ParameterRole> roles_;  // per parameter
  std::vector<ParameterType> types_;
  std::vector<Guess> guesses_;
  bool matrix_product_ = false;
  bool sizes_are_guessed_ = false;
  bool square_ = false;  // one size, and a grid of two axes
  // Expressions; empty where no parameter has the role.
  std::string width_, height_, depth_, inner_, length_;
  std::string elements_;       // of the largest buffer
  std::string grid_elements_;  // one thread each
  std::string threads_;        // of the launch
};

}  // namespace

InferenceFacts inference_facts(std::string_view source_text, const KernelSignature& signature, int launch_bound,
                               std::int64_t memory_bytes) {
  return {kernel_body(source_text, unqualified_name(signature)), launch_bound, memory_bytes};
}

InferredLaunch infer_launch(LaunchDescription description, const KernelSignature& signature,
                            const InferenceFacts& facts) {
  return Inference(std::move(description), signature, facts).infer();
}

}  // namespace regtune
