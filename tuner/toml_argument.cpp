#include "toml_argument.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "description_rules.hpp"

namespace regtune {
namespace {

using Keys = std::vector<std::string>;

constexpr std::size_t kMaxFields = 1024;
constexpr std::size_t kMostListed = 16;  // how many dimensions there may be is the tensor map's own rule

const Keys buffer_keys = {"init", "output", "atol", "rtol", "ulps", "tolerance"};
const Keys texture_keys = {"init", "address", "filter", "read", "memory", "normalized_coords"};
const Keys tensor_map_keys = {"of",      "strides",    "box",          "element_strides", "base_offset",
                              "swizzle", "interleave", "l2_promotion", "oob_fill"};
const Keys contents_keys = {"value", "buffer", "struct", "values", "file", "texture", "tensor_map"};
const Keys field_contents_keys = {"value", "buffer"};

Keys joined(std::initializer_list<Keys> lists) {
  Keys all;
  for (const Keys& keys : lists)
    for (const std::string& key : keys)
      if (std::find(all.begin(), all.end(), key) == all.end()) all.push_back(key);
  return all;
}

bool is_in(const Keys& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// What goes with the key that says what the argument is, beside its type.
Keys companions_of(const std::string& contents, bool views) {
  if (contents == "buffer") return buffer_keys;
  if (contents == "texture") return texture_keys;
  // The contents of another buffer are that buffer's to say.
  if (contents == "tensor_map") return views ? tensor_map_keys : joined({tensor_map_keys, buffer_keys});
  return {};
}

[[noreturn]] void refuse_it_alone(const Origin& origin, const std::string& key, const std::string& contents,
                                  bool views) {
  if (views && is_in(buffer_keys, key))
    refuse(origin, fmt::format("{} is not of the view; move it to the buffer that the tensor map views", key));
  std::string owner = "buffers";
  if (!is_in(buffer_keys, key)) owner = is_in(texture_keys, key) ? "textures" : "tensor maps";
  refuse(origin, fmt::format("{} is for {}, and this argument has a {}; drop one of the two", key, owner, contents));
}

class ArgumentReader {
 public:
  explicit ArgumentReader(const TomlReader& reader) : reader_(reader) {}

  void read(const toml::table& table, const std::string& prefix, const Keys& contents_known,
            ArgumentDescription& result) const {
    const bool is_field = &contents_known == &field_contents_keys;
    Keys known = joined({contents_known, {"type"}, buffer_keys});
    if (is_field) known = joined({known, {"offset", "name"}});
    if (is_in(contents_known, "texture")) known = joined({known, texture_keys, tensor_map_keys});
    reader_.check_keys(table, prefix.empty() ? "" : prefix + ".", known);
    const std::string contents = contents_of(table, contents_known, result);
    if (table.contains("tolerance") && table.contains("atol"))
      refuse(result.origin, "tolerance and atol are the same; write one");
    const bool views = table.contains("of");
    const Keys companions = joined({companions_of(contents, views), {contents, "type", "offset", "name"}});
    if (contents == "texture") result.texture.emplace();
    if (contents == "tensor_map") result.tensor_map.emplace();
    for (const auto& [name, node] : TomlReader::in_order(table)) {
      const std::string key = prefix.empty() ? name : prefix + "." + name;
      if (!is_in(companions, name)) refuse_it_alone(reader_.at(node->source(), key), name, contents, views);
      if (result.texture && is_in(joined({texture_keys, {"texture"}}), name) && name != "init")
        read_texture_key(name, *node, key, *result.texture);
      else if (result.tensor_map && is_in(joined({tensor_map_keys, {"tensor_map"}}), name))
        read_tensor_map_key(name, *node, key, *result.tensor_map);
      else
        read_key(name, *node, key, result);
    }
    if (result.tensor_map && result.tensor_map->box.empty())
      refuse(result.origin, "a tensor map has a box, the tile that one copy takes; write box = [64, 64]");
  }

 private:
  static std::string contents_of(const toml::table& table, const Keys& known, const ArgumentDescription& result) {
    Keys found;
    for (const std::string& key : known)
      if (table.contains(key)) found.push_back(key);
    if (found.size() == 1) return found.front();
    refuse(result.origin,
           "exactly one of buffer and value is needed; write {buffer = \"n\"} (n elements) or {value = 2.5}, "
           "{struct = [...]} for a structure, {texture = [\"width\", \"height\"]} or {tensor_map = [\"k\", \"m\"], box "
           "= [64, 64]}, and of a variable also {values = [...]} or {file = \"data.bin\"}");
  }

  void read_key(const std::string& name, const toml::node& node, const std::string& key,
                ArgumentDescription& result) const {
    if (name == "value") result.scalar = reader_.number(node, key);
    if (name == "buffer") result.length = reader_.expression(node, key);
    if (name == "init") result.init = reader_.text(node, key, "\"uniform(0, 1)\"");
    if (name == "type") result.type = reader_.text(node, key, "\"float\"");
    if (name == "output") result.output = reader_.boolean(node, key);
    if (name == "atol" || name == "tolerance") result.absolute_tolerance = reader_.tolerance(node, key);
    if (name == "rtol") result.relative_tolerance = reader_.tolerance(node, key);
    if (name == "ulps") result.ulp_tolerance = reader_.count(node, key, "ulps = 4");
    if (name == "offset") result.offset_bytes = reader_.count(node, key, "offset = 8");
    if (name == "name") result.parameter = reader_.text(node, key, "\"in\"");
    if (name == "file") result.file = reader_.text(node, key, "\"data.bin\"");
    if (name == "struct") result.fields = fields(node, key);
    if (name == "values") result.values = numbers(node, key);
  }

  void read_texture_key(const std::string& name, const toml::node& node, const std::string& key,
                        TextureDescription& texture) const {
    if (name == "texture") texture.extents = reader_.expressions(node, key, 2, key + " = [\"width\", \"height\"]");
    if (name == "address") read_address(node, key, texture.sampling);
    if (name == "filter") texture.sampling.filter = word<TextureFilter>(node, key, kTextureFilterWords);
    if (name == "read") texture.sampling.read = word<TextureRead>(node, key, kTextureReadWords);
    if (name == "memory") texture.sampling.memory = word<TextureMemory>(node, key, kTextureMemoryWords);
    if (name == "normalized_coords") texture.sampling.normalized_coords = reader_.boolean(node, key);
  }

  // One word for all axes, or one for each.
  void read_address(const toml::node& node, const std::string& key, TextureSampling& sampling) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      sampling.address.fill(word<TextureAddress>(node, key, kTextureAddressWords));
      return;
    }
    if (list->empty() || list->size() > sampling.address.size())
      refuse(reader_.at(node.source(), key), fmt::format("{} words; write one, or one for each axis", list->size()));
    sampling.address.fill(word<TextureAddress>(*list->get(list->size() - 1), key, kTextureAddressWords));
    sampling.address[0] = word<TextureAddress>(*list->get(0), key, kTextureAddressWords);
  }

  void read_tensor_map_key(const std::string& name, const toml::node& node, const std::string& key,
                           TensorMapDescription& map) const {
    const auto list = [&] { return reader_.expressions(node, key, kMostListed, key + " = [64, 64]"); };
    if (name == "tensor_map") map.dims = list();
    if (name == "box") map.box = list();
    if (name == "strides") map.strides = list();
    if (name == "element_strides") map.element_strides = list();
    if (name == "of") map.of = reader_.text(node, key, "\"in\"");
    if (name == "base_offset") map.base_offset = reader_.expression(node, key);
    if (name == "swizzle") map.mode.swizzle = word<TensorSwizzle>(node, key, kTensorSwizzleWords);
    if (name == "interleave") map.mode.interleave = word<TensorInterleave>(node, key, kTensorInterleaveWords);
    if (name == "l2_promotion") map.mode.l2_promotion = word<TensorL2Promotion>(node, key, kTensorL2PromotionWords);
    if (name == "oob_fill") map.mode.oob_fill = word<TensorFill>(node, key, kTensorFillWords);
  }

  template <class Enumeration>
  Enumeration word(const toml::node& node, const std::string& key, std::span<const std::string_view> words) const {
    return static_cast<Enumeration>(reader_.word(node, key, words));
  }

  std::vector<ArgumentDescription> fields(const toml::node& node, const std::string& key) const {
    const std::string example = key + " = [{type = \"float\", value = 1.5}, {type = \"float\", buffer = \"n\"}]";
    const toml::array* list = node.as_array();
    if (list == nullptr) reader_.wrong_type(node, key, "a list of fields", example);
    if (list->empty() || list->size() > kMaxFields)
      refuse(reader_.at(node.source(), key), fmt::format("{} fields; write 1 to {}", list->size(), kMaxFields));
    std::vector<ArgumentDescription> result;
    for (const toml::node& element : *list) {
      ArgumentDescription field;
      field.parameter = std::to_string(result.size());
      const std::string own = fmt::format("{}[{}]", key, result.size());
      field.origin = reader_.at(element.source(), own);
      read(reader_.as_table(element, own, example), own, field_contents_keys, field);
      result.push_back(std::move(field));
    }
    return result;
  }

  std::vector<Expression> numbers(const toml::node& node, const std::string& key) const {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty())
      reader_.wrong_type(node, key, "a list of numbers", key + " = [0.25, 0.5, 0.25]");
    std::vector<Expression> result;
    for (const toml::node& element : *list) result.push_back(reader_.number(element, key));
    return result;
  }

  const TomlReader& reader_;
};

}  // namespace

ArgumentDescription argument_of(const TomlReader& reader, const std::string& name, const toml::node& node) {
  const std::string key = reader.has_lines() ? "args." + name : std::string();
  ArgumentDescription result;
  result.parameter = name;
  result.origin = reader.at(node.source(), key);
  if (const toml::table* table = node.as_table())
    ArgumentReader(reader).read(*table, key, contents_keys, result);
  else
    result.scalar = reader.number(node, key);
  return result;
}

ArgumentDescription global_of(const TomlReader& reader, const std::string& name, const toml::node& node) {
  const std::string key = "globals." + name;
  ArgumentDescription result;
  result.parameter = name;
  result.origin = reader.at(node.source(), key);
  static const Keys variable_contents = {"value", "buffer", "struct", "values", "file"};
  ArgumentReader(reader).read(reader.as_table(node, key, key + " = {value = 2, type = \"float\"}"), key,
                              variable_contents, result);
  return result;
}

}  // namespace regtune
