#include "toml_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "description_rules.hpp"
#include "toml_library.hpp"
#include "toml_text.hpp"

namespace regtune {
namespace {

constexpr std::size_t kMaxFields = 1024;

const std::vector<std::string> top_keys = {
    "kernel", "sizes",       "block",  "grid",    "dynamic_shared_bytes", "args",   "options", "include", "seed",
    "tune",   "block_macro", "metric", "globals", "cooperative",          "weight", "kernels"};
const std::vector<std::string> argument_keys = {"buffer", "init",      "type",  "output", "atol",   "rtol",
                                                "ulps",   "tolerance", "value", "struct", "values", "file"};
const std::vector<std::string> field_keys = {"buffer", "init",      "type",  "output", "atol", "rtol",
                                             "ulps",   "tolerance", "value", "offset", "name"};
const std::vector<std::string> metric_keys = {"bytes", "flops"};

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

// Reads the tables of one TOML document. `place` is the file, whose line 1 is `lines_before` lines before the
// document's, or the flag whose text the document is.
class TomlReader {
 public:
  TomlReader(std::string place, bool has_lines, std::size_t lines_before)
      : place_(std::move(place)), has_lines_(has_lines), lines_before_(lines_before) {}

  toml::table parse(std::string_view text) const {
    if (const auto refusal = why_not_toml(text)) refuse(start(refusal->line), refusal->reason);
    try {
      return toml::parse(text, std::string_view(place_));
    } catch (const toml::parse_error& error) {
      refuse(at(error.source(), ""), fmt::format("not valid TOML: {}", printable(error.description())));
    } catch (const TomlAssertion&) {
      refuse(start(line_of_bad_header(text)), "not valid TOML: a table is headed [name]");
    }
  }

  LaunchDescription description(const toml::table& table) const {
    check_keys(table, "", top_keys);
    LaunchDescription result;
    if (const toml::node* node = table.get("kernel")) result.kernel = text(*node, "kernel", "\"decayWide\"");
    if (const toml::node* node = table.get("sizes")) result.sizes = sizes(*node);
    if (const toml::node* node = table.get("block")) result.blocks = blocks(*node);
    if (const toml::node* node = table.get("grid")) result.grid = grid(*node);
    if (const toml::node* node = table.get("dynamic_shared_bytes")) {
      result.dynamic_shared_bytes = expression(*node, "dynamic_shared_bytes");
    }
    if (const toml::node* node = table.get("cooperative")) result.cooperative = boolean(*node, "cooperative");
    if (const toml::node* node = table.get("args")) {
      for (const auto& [name, value] : in_order(as_table(*node, "args", "args.n = \"n\""))) {
        result.arguments.push_back(argument(name, *value));
      }
    }
    if (const toml::node* node = table.get("globals")) {
      for (const auto& [name, value] :
           in_order(as_table(*node, "globals", "globals.scale = {value = 2, type = \"float\"}")))
        result.globals.push_back(global(name, *value));
    }
    if (const toml::node* node = table.get("options")) result.options = texts(*node, "options", "[\"-use_fast_math\"]");
    if (const toml::node* node = table.get("include")) {
      for (const std::string& folder : texts(*node, "include", "[\"../include\"]"))
        result.include_folders.push_back(folder);
    }
    if (const toml::node* node = table.get("seed")) result.seed = seed(*node);
    if (const toml::node* node = table.get("metric")) {
      const toml::table& metric = as_table(*node, "metric", "metric = {bytes = \"8 * n\"}");
      check_keys(metric, "metric.", metric_keys);
      if (const toml::node* bytes = metric.get("bytes")) result.bytes = expression(*bytes, "metric.bytes");
      if (const toml::node* flops = metric.get("flops")) result.flops = expression(*flops, "metric.flops");
    }
    if (const toml::node* node = table.get("tune")) result.tune = tune(*node);
    if (const toml::node* node = table.get("block_macro")) {
      result.block_macro_origin = at(node->source(), "block_macro");
      result.block_macros = node->is_string()
                                ? std::vector{text(*node, "block_macro", "\"BLOCK\"")}
                                : texts(*node, "block_macro", "\"BLOCK\", or block_macro = [\"BX\", \"BY\"]");
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
    const Entries entries = in_order(as_table(node, "kernels", example));
    if (entries.size() > kMostKernels)
      refuse(at(node.source(), "kernels"), fmt::format("{} kernels; write up to {}", entries.size(), kMostKernels));
    std::vector<LaunchDescription> result;
    for (const auto& [name, value] : entries) {
      const std::string key = "kernels." + name;
      const toml::table& own = as_table(*value, key, example);
      for (const char* of_file_alone : {"kernel", "kernels", "options", "include"})
        if (const toml::node* given = own.get(of_file_alone))
          refuse(at(given->source(), key + "." + of_file_alone), "is the file's, and not one kernel's");
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
      wrong_type(node, "weight", "a finite number over 0: launches of it for each one of the file's other kernels",
                 "weight = 3");
    return *value;
  }

  ArgumentDescription argument(const std::string& name, const toml::node& node) const {
    const std::string key = has_lines_ ? "args." + name : std::string();
    ArgumentDescription result;
    result.parameter = name;
    result.origin = at(node.source(), key);
    if (const toml::table* table = node.as_table()) {
      read_argument(*table, key, argument_keys, result);
    } else {
      result.scalar = number(node, key);
    }
    return result;
  }

  ArgumentDescription global(const std::string& name, const toml::node& node) const {
    const std::string key = "globals." + name;
    ArgumentDescription result;
    result.parameter = name;
    result.origin = at(node.source(), key);
    read_argument(as_table(node, key, key + " = {value = 2, type = \"float\"}"), key, argument_keys, result);
    return result;
  }

 private:
  using Entries = std::vector<std::pair<std::string, const toml::node*>>;

  Origin at(const toml::source_region& region, const std::string& key) const {
    std::string origin = printable(place_);
    if (has_lines_ && region.begin.line > 0) origin += fmt::format(":{}", lines_before_ + region.begin.line);
    return {key.empty() ? origin : origin + ": " + printable(key)};
  }

  Origin start(std::size_t line = 1) const {
    return {has_lines_ ? fmt::format("{}:{}", printable(place_), lines_before_ + line) : place_};
  }

  void check_keys(const toml::table& table, const std::string& prefix, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string hint = near_miss(name, known);
      refuse(at(key.source(), prefix + name),
             fmt::format("unknown key {}{}", in_quotes(name),
                         hint.empty() ? fmt::format("; known here: {}", fmt::join(known, ", ")) : hint));
    }
  }

  // toml++ sorts a table by key; the author's order is that of the positions.
  static Entries in_order(const toml::table& table) {
    std::vector<std::pair<const toml::key*, const toml::node*>> found;
    for (auto&& [key, value] : table) found.emplace_back(&key, &value);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      const toml::source_position& left = a.first->source().begin;
      const toml::source_position& right = b.first->source().begin;
      return left.line != right.line ? left.line < right.line : left.column < right.column;
    });
    Entries entries;
    for (const auto& [key, node] : found) entries.emplace_back(std::string(key->str()), node);
    return entries;
  }

  [[noreturn]] void wrong_type(const toml::node& node, const std::string& key, std::string_view wanted,
                               std::string_view example) const {
    refuse(at(node.source(), key),
           fmt::format("expected {}, but this is {}; write for example {}", wanted, type_name(node), example));
  }

  const toml::table& as_table(const toml::node& node, const std::string& key, std::string_view example) const {
    if (const toml::table* table = node.as_table()) return *table;
    wrong_type(node, key, "a table", example);
  }

  std::string text(const toml::node& node, const std::string& key, std::string_view example) const {
    const auto value = node.value_exact<std::string>();
    if (!value) wrong_type(node, key, "a string", fmt::format("{} = {}", key, example));
    if (value->empty() || value->find('\0') != std::string::npos)
      refuse(at(node.source(), key), "empty, or with a NUL byte");
    return *value;
  }

  std::vector<std::string> texts(const toml::node& node, const std::string& key, std::string_view example) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) wrong_type(node, key, "a list of strings", fmt::format("{} = {}", key, example));
    std::vector<std::string> result;
    for (const toml::node& element : *list) result.push_back(text(element, key, example));
    return result;
  }

  // An integer or an expression's text.
  Expression expression(const toml::node& node, const std::string& key) const {
    const Origin origin = at(node.source(), key);
    if (const auto value = node.value_exact<std::string>()) return {*value, origin};
    if (const auto value = node.value_exact<std::int64_t>()) return {fmt::format("{}", *value), origin};
    wrong_type(node, key, "an integer or an expression", fmt::format("{} = \"n // 4\"", key));
  }

  Expression number(const toml::node& node, const std::string& key) const {
    const Origin origin = at(node.source(), key);
    if (const auto value = node.value_exact<double>()) return {fmt::format("{}", *value), origin};
    if (const auto value = node.value_exact<bool>()) return {*value ? "true" : "false", origin};
    if (node.is_string() || node.is_integer()) return expression(node, key);
    wrong_type(node, key, "a number, an expression or a table", fmt::format("{} = {{buffer = \"n\"}}", key));
  }

  std::vector<SizeDescription> sizes(const toml::node& node) const {
    std::vector<SizeDescription> result;
    for (const auto& [name, value] : in_order(as_table(node, "sizes", "sizes.n = 1024"))) {
      const std::string key = "sizes." + name;
      check_size_name(name, at(value->source(), key));
      result.push_back({name, expression(*value, key)});
    }
    return result;
  }

  Dim3 block(const toml::node& node) const {
    const Origin origin = at(node.source(), "block");
    if (const auto value = node.value_exact<std::string>()) return parse_block(*value, origin);
    if (const auto value = node.value_exact<std::int64_t>()) return parse_block(fmt::format("{}", *value), origin);
    wrong_type(node, "block", "threads per block", "block = 256, block = [128, 256] or block = \"32x8\"");
  }

  std::vector<Dim3> blocks(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return {block(node)};
    if (list->empty()) refuse(at(node.source(), "block"), "an empty list; write at least one block");
    std::vector<Dim3> result;
    for (const toml::node& element : *list) add_block(result, block(element));
    return result;
  }

  Expression grid(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr) return expression(node, "grid");
    if (list->empty() || list->size() > 3) refuse(at(node.source(), "grid"), "a grid has one to three dimensions");
    Expression result{"", at(node.source(), "grid")};
    for (const toml::node& element : *list) {
      result.text += fmt::format("{}{}", result.text.empty() ? "" : ", ", expression(element, "grid").text);
    }
    return result;
  }

  std::vector<TunedName> tune(const toml::node& node) const {
    constexpr std::string_view example = "tune = {UNROLL = [1, 2, 4, 8]}";
    std::vector<TunedName> result;
    for (const auto& [name, value] : in_order(as_table(node, "tune", example))) {
      const std::string key = "tune." + name;
      TunedName macro{name, {}, at(value->source(), key)};
      check_macro_name(name, macro.origin);
      const toml::array* list = value->as_array();
      if (list == nullptr) wrong_type(*value, key, "a list of values", example);
      if (list->empty()) refuse(macro.origin, "an empty list; write at least one value");
      for (const toml::node& element : *list) {
        const auto text = element.value_exact<std::string>();
        const auto number = element.value_exact<std::int64_t>();
        if (!text && !number) wrong_type(element, key, "integers or strings", example);
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
      if (std::count(names.begin(), names.end(), name) > 1) refuse(origin, fmt::format("{} twice", in_quotes(name)));
    }
  }

  std::uint64_t seed(const toml::node& node) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) wrong_type(node, "seed", "an integer of 0 or more", "seed = 1");
    return static_cast<std::uint64_t>(*value);
  }

  bool boolean(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<bool>();
    if (!value) wrong_type(node, key, "true or false", key == "cooperative" ? "cooperative = true" : "output = true");
    return *value;
  }

  double tolerance(const toml::node& node, const std::string& key) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= 0) || !std::isfinite(*value))
      wrong_type(node, key, "a finite number of 0 or more", "tolerance = 1e-5");
    return *value;
  }

  std::int64_t count(const toml::node& node, const std::string& key, std::string_view example) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) wrong_type(node, key, "an integer of 0 or more", example);
    return *value;
  }

  void read_argument(const toml::table& table, const std::string& prefix, const std::vector<std::string>& known,
                     ArgumentDescription& result) const {
    check_keys(table, prefix.empty() ? "" : prefix + ".", known);
    std::vector<std::string> contents;
    for (const char* key : {"value", "buffer", "struct", "values", "file"})
      if (table.contains(key)) contents.push_back(key);
    if (contents.size() != 1) {
      refuse(result.origin,
             "exactly one of buffer and value is needed; write {buffer = \"n\"} (n elements) or {value = 2.5}, "
             "{struct = [...]} for a structure, and of a variable also {values = [...]} or {file = \"data.bin\"}");
    }
    if (table.contains("tolerance") && table.contains("atol"))
      refuse(result.origin, "tolerance and atol are the same; write one");
    for (const auto& [name, node] : in_order(table)) {
      const std::string key = prefix.empty() ? name : prefix + "." + name;
      const bool for_all = name == contents.front() || name == "type" || name == "offset" || name == "name";
      if (!table.contains("buffer") && !for_all) {
        refuse(at(node->source(), key),
               fmt::format("{} is for buffers; this argument has a {}", name, contents.front()));
      }
      read_key(name, *node, key, result);
    }
  }

  void read_key(const std::string& name, const toml::node& node, const std::string& key,
                ArgumentDescription& result) const {
    if (name == "value") result.scalar = number(node, key);
    if (name == "buffer") result.length = expression(node, key);
    if (name == "init") result.init = text(node, key, "\"uniform(0, 1)\"");
    if (name == "type") result.type = text(node, key, "\"float\"");
    if (name == "output") result.output = boolean(node, key);
    if (name == "atol" || name == "tolerance") result.absolute_tolerance = tolerance(node, key);
    if (name == "rtol") result.relative_tolerance = tolerance(node, key);
    if (name == "ulps") result.ulp_tolerance = count(node, key, "ulps = 4");
    if (name == "offset") result.offset_bytes = count(node, key, "offset = 8");
    if (name == "name") result.parameter = text(node, key, "\"in\"");
    if (name == "file") result.file = text(node, key, "\"data.bin\"");
    if (name == "struct") result.fields = fields(node, key);
    if (name == "values") result.values = numbers(node, key);
  }

  std::vector<ArgumentDescription> fields(const toml::node& node, const std::string& key) const {
    const std::string example = key + " = [{type = \"float\", value = 1.5}, {type = \"float\", buffer = \"n\"}]";
    const toml::array* list = node.as_array();
    if (list == nullptr) wrong_type(node, key, "a list of fields", example);
    if (list->empty() || list->size() > kMaxFields)
      refuse(at(node.source(), key), fmt::format("{} fields; write 1 to {}", list->size(), kMaxFields));
    std::vector<ArgumentDescription> result;
    for (const toml::node& element : *list) {
      ArgumentDescription field;
      field.parameter = std::to_string(result.size());
      const std::string own = fmt::format("{}[{}]", key, result.size());
      field.origin = at(element.source(), own);
      read_argument(as_table(element, own, example), own, field_keys, field);
      result.push_back(std::move(field));
    }
    return result;
  }

  std::vector<Expression> numbers(const toml::node& node, const std::string& key) const {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) wrong_type(node, key, "a list of numbers", key + " = [0.25, 0.5, 0.25]");
    std::vector<Expression> result;
    for (const toml::node& element : *list) result.push_back(number(element, key));
    return result;
  }

  std::string place_;
  bool has_lines_;
  std::size_t lines_before_;
};

}  // namespace

LaunchDescription description_from_toml(std::string_view text, const std::string& place, std::size_t lines_before) {
  const TomlReader reader(place, true, lines_before);
  return reader.description(reader.parse(text));
}

ArgumentDescription argument_from_toml(const std::string& name, const std::string& value, const std::string& place) {
  const TomlReader reader(place, false, 0);
  const toml::table document = reader.parse("value = " + value);
  if (document.size() != 1) refuse({place}, "more than one value");
  return reader.argument(name, *document.get("value"));
}

}  // namespace regtune
