#include "toml_description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "description_rules.hpp"
#include "toml_argument.hpp"
#include "toml_reader.hpp"

namespace regtune {
namespace {

const std::vector<std::string> top_keys = {
    "kernel", "sizes",       "block",  "grid",    "dynamic_shared_bytes", "args",    "options", "include", "seed",
    "tune",   "block_macro", "metric", "globals", "cooperative",          "cluster", "weight",  "kernels"};
const std::vector<std::string> metric_keys = {"bytes", "flops"};

// The top of a description; each argument is toml_argument's.
class DescriptionReader {
 public:
  explicit DescriptionReader(const TomlReader& reader) : reader_(reader) {}

  LaunchDescription description(const toml::table& table) const {
    reader_.check_keys(table, "", top_keys);
    LaunchDescription result;
    if (const toml::node* node = table.get("kernel")) result.kernel = reader_.text(*node, "kernel", "\"decayWide\"");
    if (const toml::node* node = table.get("sizes")) result.sizes = sizes(*node);
    if (const toml::node* node = table.get("block")) result.blocks = blocks(*node);
    if (const toml::node* node = table.get("grid")) result.grid = grid(*node);
    if (const toml::node* node = table.get("dynamic_shared_bytes")) {
      result.dynamic_shared_bytes = reader_.expression(*node, "dynamic_shared_bytes");
    }
    if (const toml::node* node = table.get("cooperative")) result.cooperative = reader_.boolean(*node, "cooperative");
    if (const toml::node* node = table.get("cluster"))
      result.cluster = reader_.expressions(*node, "cluster", 3, "cluster = [2, 1, 1]");
    if (const toml::node* node = table.get("args")) {
      for (const auto& [name, value] : TomlReader::in_order(reader_.as_table(*node, "args", "args.n = \"n\""))) {
        result.arguments.push_back(argument_of(reader_, name, *value));
      }
    }
    if (const toml::node* node = table.get("globals")) {
      for (const auto& [name, value] :
           TomlReader::in_order(reader_.as_table(*node, "globals", "globals.scale = {value = 2, type = \"float\"}")))
        result.globals.push_back(global_of(reader_, name, *value));
    }
    if (const toml::node* node = table.get("options"))
      result.options = reader_.texts(*node, "options", "[\"-use_fast_math\"]");
    if (const toml::node* node = table.get("include")) {
      for (const std::string& folder : reader_.texts(*node, "include", "[\"../include\"]"))
        result.include_folders.push_back(folder);
    }
    if (const toml::node* node = table.get("seed")) result.seed = seed(*node);
    if (const toml::node* node = table.get("metric")) {
      const toml::table& metric = reader_.as_table(*node, "metric", "metric = {bytes = \"8 * n\"}");
      reader_.check_keys(metric, "metric.", metric_keys);
      if (const toml::node* bytes = metric.get("bytes")) result.bytes = reader_.expression(*bytes, "metric.bytes");
      if (const toml::node* flops = metric.get("flops")) result.flops = reader_.expression(*flops, "metric.flops");
    }
    if (const toml::node* node = table.get("tune")) result.tune = tune(*node);
    if (const toml::node* node = table.get("block_macro")) {
      result.block_macro_origin = reader_.at(node->source(), "block_macro");
      result.block_macros = node->is_string()
                                ? std::vector{reader_.text(*node, "block_macro", "\"BLOCK\"")}
                                : reader_.texts(*node, "block_macro", "\"BLOCK\", or block_macro = [\"BX\", \"BY\"]");
      check_block_macros(result.block_macros, result.block_macro_origin);
    }
    if (const toml::node* node = table.get("weight")) result.weight = weight(*node);
    if (const toml::node* node = table.get("kernels")) result.kernels = kernels(*node, table);
    return result;
  }

  // Each kernel's own table, whose keys take the place of the file's, each as a whole.
  std::vector<LaunchDescription> kernels(const toml::node& node, const toml::table& of_file) const {
    constexpr std::string_view example = "[kernels.scale] with grid, block, args, ... of its own";
    constexpr std::size_t kMostKernels = 64;  // each copies what is said of all
    const TomlReader::Entries entries = TomlReader::in_order(reader_.as_table(node, "kernels", example));
    if (entries.size() > kMostKernels)
      refuse(reader_.at(node.source(), "kernels"),
             fmt::format("{} kernels; write up to {}", entries.size(), kMostKernels));
    std::vector<LaunchDescription> result;
    for (const auto& [name, value] : entries) {
      const std::string key = "kernels." + name;
      const toml::table& own = reader_.as_table(*value, key, example);
      for (const char* of_file_alone : {"kernel", "kernels", "options", "include"})
        if (const toml::node* given = own.get(of_file_alone))
          refuse(reader_.at(given->source(), key + "." + of_file_alone),
                 "is the file's, and not one kernel's; move it to the top of the description");
      toml::table whole = of_file;
      whole.erase("kernels");
      whole.erase("kernel");
      for (const auto& [own_key, own_value] : own) whole.insert_or_assign(own_key, own_value);
      result.push_back(description(whole));
      result.back().kernel = name;
    }
    return result;
  }

  double weight(const toml::node& node) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value > 0) || !std::isfinite(*value))
      reader_.wrong_type(node, "weight",
                         "a finite number over 0: launches of it for each one of the file's other kernels",
                         "weight = 3");
    return *value;
  }

 private:
  std::vector<SizeDescription> sizes(const toml::node& node) const {
    std::vector<SizeDescription> result;
    for (const auto& [name, value] : TomlReader::in_order(reader_.as_table(node, "sizes", "sizes.n = 1024"))) {
      const std::string key = "sizes." + name;
      check_size_name(name, reader_.at(value->source(), key));
      result.push_back({name, reader_.expression(*value, key)});
    }
    return result;
  }

  Dim3 block(const toml::node& node) const {
    const Origin origin = reader_.at(node.source(), "block");
    if (const auto value = node.value_exact<std::string>()) return parse_block(*value, origin);
    if (const auto value = node.value_exact<std::int64_t>()) return parse_block(fmt::format("{}", *value), origin);
    reader_.wrong_type(node, "block", "threads per block", "block = 256, block = [128, 256] or block = \"32x8\"");
  }

  std::vector<Dim3> blocks(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return {block(node)};
    if (list->empty()) refuse(reader_.at(node.source(), "block"), "an empty list; write at least one block");
    std::vector<Dim3> result;
    for (const toml::node& element : *list) add_block(result, block(element));
    return result;
  }

  Expression grid(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return reader_.expression(node, "grid");
    if (list->empty() || list->size() > 3)
      refuse(reader_.at(node.source(), "grid"),
             "a grid has one to three dimensions; write grid = [\"ceil_div(n, block)\", 1, 1], say");
    Expression result{"", reader_.at(node.source(), "grid")};
    for (const toml::node& element : *list) {
      result.text += fmt::format("{}{}", result.text.empty() ? "" : ", ", reader_.expression(element, "grid").text);
    }
    return result;
  }

  std::vector<TunedName> tune(const toml::node& node) const {
    constexpr std::string_view example = "tune = {UNROLL = [1, 2, 4, 8]}";
    std::vector<TunedName> result;
    for (const auto& [name, value] : TomlReader::in_order(reader_.as_table(node, "tune", example))) {
      const std::string key = "tune." + name;
      TunedName macro{name, {}, reader_.at(value->source(), key)};
      check_macro_name(name, macro.origin);
      const toml::array* list = value->as_array();
      if (list == nullptr) reader_.wrong_type(*value, key, "a list of values", example);
      if (list->empty()) refuse(macro.origin, "an empty list; write at least one value");
      for (const toml::node& element : *list) {
        const auto text = element.value_exact<std::string>();
        const auto number = element.value_exact<std::int64_t>();
        if (!text && !number) reader_.wrong_type(element, key, "integers or strings", example);
        add_macro_value(macro, text ? *text : fmt::format("{}", *number));
      }
      result.push_back(std::move(macro));
    }
    return result;
  }

  static void check_block_macros(const std::vector<std::string>& names, const Origin& origin) {
    if (names.empty() || names.size() > 3)
      refuse(origin, "one to three macros, for the block's x, y and z; write block_macro = \"BLOCK\"");
    for (const std::string& name : names) {
      check_macro_name(name, origin);
      if (std::count(names.begin(), names.end(), name) > 1)
        refuse(origin, fmt::format("{} twice; name each once", in_quotes(name)));
    }
  }

  std::uint64_t seed(const toml::node& node) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) reader_.wrong_type(node, "seed", "an integer of 0 or more", "seed = 1");
    return static_cast<std::uint64_t>(*value);
  }

  const TomlReader& reader_;
};

}  // namespace

LaunchDescription description_from_toml(std::string_view text, const std::string& place, std::size_t lines_before) {
  const TomlReader reader(place, true, lines_before);
  return DescriptionReader(reader).description(reader.parse(text));
}

ArgumentDescription argument_from_toml(const std::string& name, const std::string& value, const std::string& place) {
  const TomlReader reader(place, false, 0);
  const toml::table document = reader.parse("value = " + value);
  if (document.size() != 1) refuse({place}, "more than one value; write one line");
  return argument_of(reader, name, *document.get("value"));
}

}  // namespace regtune
