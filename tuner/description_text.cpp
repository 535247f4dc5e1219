#include "description_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace regtune {
namespace {

bool is_integer(std::string_view text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         (text.size() == 1 || text.front() != '0');
}

// "2.5", as TOML takes it.
bool is_decimal(std::string_view text) {
  const std::size_t dot = text.find('.');
  return dot != std::string_view::npos && dot < 16 && is_integer(text.substr(0, dot)) && dot + 1 < text.size() &&
         text.size() < 24 && text.find_first_not_of("0123456789", dot + 1) == std::string_view::npos;
}

std::string number_or_text(const std::string& expression) {
  if (is_integer(expression) || is_decimal(expression) || expression == "true" || expression == "false")
    return expression;
  return toml_string(expression);
}

std::string key_text(const std::string& key) {
  constexpr std::string_view bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !key.empty() && key.find_first_not_of(bare) == std::string::npos ? key : toml_string(key);
}

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string block_text(const Dim3& block) {
  if (block.y == 1 && block.z == 1) return std::to_string(block.x);
  return toml_string(block.z == 1 ? fmt::format("{}x{}", block.x, block.y)
                                  : fmt::format("{}x{}x{}", block.x, block.y, block.z));
}

std::string blocks_text(const std::vector<Dim3>& blocks) {
  if (blocks.size() == 1) return block_text(blocks.front());
  std::vector<std::string> texts;
  for (const Dim3& block : blocks) texts.push_back(block_text(block));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string numbers_text(const std::vector<Expression>& expressions) {
  std::vector<std::string> texts;
  for (const Expression& expression : expressions) texts.push_back(number_or_text(expression.text));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// "swizzle = \"128B\"", unless the word is the first, which is what holds without the key.
template <class Enumeration, class Words>
void add_word(std::vector<std::string>& parts, const char* key, Enumeration value, const Words& words) {
  if (value != Enumeration{})
    parts.push_back(fmt::format("{} = {}", key, toml_string(words.at(static_cast<std::size_t>(value)))));
}

void add_texture(std::vector<std::string>& parts, const TextureDescription& texture) {
  const TextureSampling& sampling = texture.sampling;
  const auto word = [](TextureAddress address) {
    return toml_string(kTextureAddressWords.at(static_cast<std::size_t>(address)));
  };
  parts.push_back("texture = " + numbers_text(texture.extents));
  parts.push_back(fmt::format("address = [{}, {}]", word(sampling.address[0]), word(sampling.address[1])));
  add_word(parts, "filter", sampling.filter, kTextureFilterWords);
  add_word(parts, "read", sampling.read, kTextureReadWords);
  add_word(parts, "memory", sampling.memory, kTextureMemoryWords);
  if (sampling.normalized_coords) parts.emplace_back("normalized_coords = true");
}

void add_tensor_map(std::vector<std::string>& parts, const TensorMapDescription& map) {
  parts.push_back("tensor_map = " + numbers_text(map.dims));
  if (!map.of.empty()) parts.push_back("of = " + toml_string(map.of));
  if (map.base_offset) parts.push_back("base_offset = " + number_or_text(map.base_offset->text));
  if (!map.strides.empty()) parts.push_back("strides = " + numbers_text(map.strides));
  parts.push_back("box = " + numbers_text(map.box));
  if (!map.element_strides.empty()) parts.push_back("element_strides = " + numbers_text(map.element_strides));
  add_word(parts, "swizzle", map.mode.swizzle, kTensorSwizzleWords);
  add_word(parts, "interleave", map.mode.interleave, kTensorInterleaveWords);
  add_word(parts, "l2_promotion", map.mode.l2_promotion, kTensorL2PromotionWords);
  add_word(parts, "oob_fill", map.mode.oob_fill, kTensorFillWords);
}

std::string argument_text(const ArgumentDescription& argument, bool is_field);

std::vector<std::string> contents_of(const ArgumentDescription& argument) {
  std::vector<std::string> parts;
  if (argument.scalar) parts.push_back("value = " + number_or_text(argument.scalar->text));
  if (argument.length) parts.push_back("buffer = " + number_or_text(argument.length->text));
  if (!argument.file.empty()) parts.push_back("file = " + toml_string(argument.file));
  if (!argument.fields.empty()) {
    std::vector<std::string> fields;
    for (const ArgumentDescription& field : argument.fields) fields.push_back(argument_text(field, true));
    parts.push_back(fmt::format("struct = [{}]", fmt::join(fields, ", ")));
  }
  if (!argument.values.empty()) parts.push_back("values = " + numbers_text(argument.values));
  if (argument.texture) add_texture(parts, *argument.texture);
  if (argument.tensor_map) add_tensor_map(parts, *argument.tensor_map);
  return parts;
}

std::string argument_text(const ArgumentDescription& argument, bool is_field) {
  if (argument.scalar && argument.type.empty() && !is_field) return number_or_text(argument.scalar->text);
  std::vector<std::string> parts = contents_of(argument);
  if (is_field && argument.offset_bytes)
    parts.insert(parts.begin(), fmt::format("offset = {}", *argument.offset_bytes));
  if (!argument.init.empty()) parts.push_back("init = " + toml_string(argument.init));
  if (!argument.type.empty()) parts.push_back("type = " + toml_string(argument.type));
  if (argument.output) parts.push_back(fmt::format("output = {}", *argument.output));
  if (argument.absolute_tolerance > 0) parts.push_back(fmt::format("atol = {}", argument.absolute_tolerance));
  if (argument.relative_tolerance > 0) parts.push_back(fmt::format("rtol = {}", argument.relative_tolerance));
  if (argument.ulp_tolerance > 0) parts.push_back(fmt::format("ulps = {}", argument.ulp_tolerance));
  return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

class Writer {
 public:
  explicit Writer(const std::map<std::string, std::string>& comments) : comments_(comments) {}

  // `path` names the line for its comment; `key` is what is written.
  void line(const std::string& path, const std::string& key, const std::string& value) {
    text_ += key + " = " + value;
    if (const auto comment = comments_.find(path); comment != comments_.end()) text_ += "  # " + comment->second;
    text_ += '\n';
  }
  void plain(const std::string& text) { text_ += text + '\n'; }
  std::string text() && { return std::move(text_); }

 private:
  const std::map<std::string, std::string>& comments_;
  std::string text_;
};

void write_head(Writer& out, const LaunchDescription& d) {
  const std::string kernel = d.kernel_pattern.empty() ? d.kernel.value_or("") : d.kernel_pattern;
  if (!kernel.empty()) out.line("kernel", "kernel", toml_string(kernel));
  if (!d.blocks.empty()) out.line("block", "block", blocks_text(d.blocks));
  if (d.grid) out.line("grid", "grid", number_or_text(d.grid->text));
  if (d.dynamic_shared_bytes)
    out.line("dynamic_shared_bytes", "dynamic_shared_bytes", number_or_text(d.dynamic_shared_bytes->text));
  if (!d.cluster.empty()) out.line("cluster", "cluster", numbers_text(d.cluster));
  if (d.cooperative) out.line("cooperative", "cooperative", "true");
  if (!d.options.empty()) out.line("options", "options", list_text(d.options));
  if (!d.include_folders.empty()) {
    std::vector<std::string> folders;
    for (const auto& folder : d.include_folders) folders.push_back(folder.string());
    out.line("include", "include", list_text(folders));
  }
  if (d.seed) out.line("seed", "seed", std::to_string(*d.seed));
  if (d.weight != 1) out.line("weight", "weight", fmt::format("{}", d.weight));
  if (!d.block_macros.empty()) out.line("block_macro", "block_macro", list_text(d.block_macros));
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string description_text(const LaunchDescription& d, const std::map<std::string, std::string>& comments,
                             const std::vector<std::string>& missing) {
  Writer out(comments);
  write_head(out, d);
  if (!d.sizes.empty()) out.plain("\n[sizes]");
  for (const SizeDescription& size : d.sizes)
    out.line("sizes." + size.name, key_text(size.name), number_or_text(size.value.text));
  if (!d.arguments.empty() || !missing.empty()) out.plain("\n[args]");
  for (const ArgumentDescription& argument : d.arguments)
    out.line("args." + argument.parameter, key_text(argument.parameter), argument_text(argument, false));
  for (const std::string& line : missing) out.plain("# " + line);
  if (!d.globals.empty()) out.plain("\n[globals]");
  for (const ArgumentDescription& global : d.globals)
    out.line("globals." + global.parameter, key_text(global.parameter), argument_text(global, true));
  if (!d.tune.empty()) out.plain("\n[tune]");
  for (const TunedName& tuned : d.tune) out.line("tune." + tuned.name, key_text(tuned.name), list_text(tuned.values));
  if (d.bytes || d.flops) out.plain("\n[metric]");
  if (d.bytes) out.line("metric.bytes", "bytes", number_or_text(d.bytes->text));
  if (d.flops) out.line("metric.flops", "flops", number_or_text(d.flops->text));
  return std::move(out).text();
}

}  // namespace regtune
