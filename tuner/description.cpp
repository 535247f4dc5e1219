#include "description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>

namespace {
// toml++ 3.3 asserts what it should refuse: "[~args]" aborts it, and with NDEBUG the assertion is an assumption
// and the rest undefined. Here a failed one is thrown, in every build.
struct TomlAssertion {};
[[noreturn]] void toml_assertion_failed() {
  throw TomlAssertion{};
}
}  // namespace
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : toml_assertion_failed())
// A description nests two or three deep; the default of 256 lets hostile text reach deep recursion.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "regtune/error.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

constexpr std::size_t max_description_bytes = 64 * 1024;
constexpr std::size_t max_combinations = 64;  // of the macros' values; each gets the whole register space
constexpr int max_dots_in_a_row = 32;         // toml++ recurses over the parts of a dotted key

const std::vector<std::string> top_keys = {"kernel",  "sizes",   "block", "grid", "dynamic_shared_bytes", "args",
                                           "options", "include", "seed",  "tune", "block_macro",          "metric"};
const std::vector<std::string> argument_keys = {"buffer", "init", "type",      "output", "atol",
                                                "rtol",   "ulps", "tolerance", "value"};
const std::vector<std::string> metric_keys = {"bytes", "flops"};

[[noreturn]] void refuse(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_description, fmt::format("{}: {}", origin.text, what));
}

[[noreturn]] void refuse_launch(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::bad_launch, fmt::format("{}: {}", origin.text, what));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

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

// A number of a block's text; the caller has seen that it consists of digits.
unsigned block_extent(std::string_view digits, const Origin& origin) {
  unsigned value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size()) {
    refuse_launch(origin, fmt::format("a block of {} threads; CUDA allows at most 1024", in_quotes(digits)));
  }
  return value;
}

void check_block(const Dim3& block, const Origin& origin) {
  if (block.volume() == 0) refuse_launch(origin, "a block of 0 threads; write at least 1, usually a multiple of 32");
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.volume() > 1024) {
    refuse_launch(origin,
                  fmt::format("a block of {} x {} x {} threads; CUDA allows at most 1024 x 1024 x 64, and 1024 in all",
                              block.x, block.y, block.z));
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

// "256", "32x8" or "8x8x4".
Dim3 parse_block(std::string_view text, const Origin& origin) {
  const std::vector<std::string_view> parts = split(text, 'x');
  Dim3 block;
  unsigned* const extents[] = {&block.x, &block.y, &block.z};
  if (parts.size() > std::size(extents))
    refuse(origin, fmt::format("{}: a block has at most three dimensions", in_quotes(text)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].starts_with('-'))
      refuse_launch(origin, fmt::format("{}: a block cannot be negative", in_quotes(text)));
    if (parts[i].empty() || parts[i].find_first_not_of("0123456789") != std::string_view::npos) {
      refuse(origin, fmt::format("{} is not a block; write 256, \"32x8\" or \"8x8x4\"", in_quotes(text)));
    }
    *extents[i] = block_extent(parts[i], origin);
  }
  check_block(block, origin);
  return block;
}

void add_block(std::vector<Dim3>& blocks, const Dim3& block) {
  if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
}

void check_size_name(std::string_view name, const Origin& origin) {
  if (const auto reason = why_not_a_size_name(name)) {
    refuse(origin, fmt::format("{} cannot name a size: it {}", in_quotes(name), *reason));
  }
}

void check_macro_name(std::string_view name, const Origin& origin) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool valid =
      !name.empty() && is_letter(name.front()) && name != "defined" &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!valid) refuse(origin, fmt::format("{} cannot name a macro; write letters, digits and _", in_quotes(name)));
}

void add_macro_value(TunedName& macro, const std::string& value) {
  // The value becomes the rest of a #define line, and must neither leave it nor swallow the next.
  const std::string_view line_enders("\n\r\0", 3);
  if (value.find_first_of(line_enders) != std::string::npos || value.ends_with('\\') ||
      value.find("/*") != std::string::npos || value.find("//") != std::string::npos)
    refuse(macro.origin, fmt::format("{} cannot be a macro's value: one line, without comments", in_quotes(value)));
  if (std::find(macro.values.begin(), macro.values.end(), value) == macro.values.end()) macro.values.push_back(value);
}

// Reads the tables of one TOML document. `place` is the file, whose line 1 is `lines_before` lines before the
// document's, or the flag whose text the document is.
class TomlReader {
 public:
  TomlReader(std::string place, bool has_lines, std::size_t lines_before)
      : place_(std::move(place)), has_lines_(has_lines), lines_before_(lines_before) {}

  toml::table parse(std::string_view text) const {
    check_text(text);
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
    if (const toml::node* node = table.get("args")) {
      for (const auto& [name, value] : in_order(as_table(*node, "args", "args.n = \"n\""))) {
        result.arguments.push_back(argument(name, *value));
      }
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
    return result;
  }

  ArgumentDescription argument(const std::string& name, const toml::node& node) const {
    const std::string key = has_lines_ ? "args." + name : std::string();
    ArgumentDescription result;
    result.parameter = name;
    result.origin = at(node.source(), key);
    if (const toml::table* table = node.as_table()) {
      read_argument(*table, key, result);
    } else {
      result.scalar = number(node, key);
    }
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

  // The first line that begins with [ and no name; 1 when there is none.
  static std::size_t line_of_bad_header(std::string_view text) {
    std::size_t line = 0;
    for (std::string_view header : split(text, '\n')) {
      ++line;
      if (!header.starts_with('[')) continue;
      header = trimmed(header.substr(header.starts_with("[[") ? 2 : 1));
      const char c = header.empty() ? ']' : header.front();
      const bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!name && c != '_' && c != '-' && c != '"' && c != '\'') return line;
    }
    return 1;
  }

  // toml++ 3.3 is refused what it cannot take: deep dotted keys, over whose parts it recurses, and characters
  // outside ASCII where it would look for white space (its test for that is undefined for most of them).
  void check_text(std::string_view text) const {
    if (text.size() > max_description_bytes) {
      refuse(start(),
             fmt::format("the description is {} bytes long; at most {} are read", text.size(), max_description_bytes));
    }
    int dots = 0;
    for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
      const char c = text[at];
      if (c == '.') ++dots;
      if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
      if (dots > max_dots_in_a_row) refuse(start(line_at(text, at)), "a key of more than 32 parts");
      if (static_cast<unsigned char>(c) >= 0x80) {
        refuse(start(line_at(text, at)), "not valid TOML: a character outside ASCII belongs into quotes or a comment");
      }
      if (c == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else {
        at = c == '"' || c == '\'' ? string_end(text, at) : at + 1;
      }
    }
  }

  // Past the string that begins at `at`; one of a single line ends with its line at the latest.
  std::size_t string_end(std::string_view text, std::size_t at) const {
    const char quote = text[at];
    const bool multi_line = text.substr(at, 3) == std::string(3, quote);
    const std::string closing(multi_line ? 3 : 1, quote);
    for (at += closing.size(); at < text.size(); ++at) {
      if (text.substr(at, closing.size()) == closing) return at + closing.size();
      if (!multi_line && text[at] == '\n') return at;
      if (quote != '"' || text[at] != '\\') continue;
      const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
      if (next != std::string_view::npos && static_cast<unsigned char>(text[next]) >= 0x80) {
        refuse(start(line_at(text, at)), "not valid TOML: a backslash before a character outside ASCII");
      }
      ++at;
    }
    return text.size();
  }

  static std::size_t line_at(std::string_view text, std::size_t at) {
    return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
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
    if (!value) wrong_type(node, key, "true or false", "output = true");
    return *value;
  }

  double tolerance(const toml::node& node, const std::string& key) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !(*value >= 0) || !std::isfinite(*value))
      wrong_type(node, key, "a finite number of 0 or more", "tolerance = 1e-5");
    return *value;
  }

  std::int64_t ulps(const toml::node& node, const std::string& key) const {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 0) wrong_type(node, key, "an integer of 0 or more", "ulps = 4");
    return *value;
  }

  void read_argument(const toml::table& table, const std::string& prefix, ArgumentDescription& result) const {
    check_keys(table, prefix.empty() ? "" : prefix + ".", argument_keys);
    if (table.contains("value") == table.contains("buffer")) {
      refuse(result.origin,
             "exactly one of buffer and value is needed; write {buffer = \"n\"} (n elements) or {value = 2.5}");
    }
    if (table.contains("tolerance") && table.contains("atol"))
      refuse(result.origin, "tolerance and atol are the same; write one");
    for (const auto& [name, node] : in_order(table)) {
      const std::string key = prefix.empty() ? name : prefix + "." + name;
      if (table.contains("value") && name != "value" && name != "type") {
        refuse(at(node->source(), key), fmt::format("{} is for buffers; this argument has a value", name));
      }
      if (name == "value") result.scalar = number(*node, key);
      if (name == "buffer") result.length = expression(*node, key);
      if (name == "init") result.init = text(*node, key, "\"uniform(0, 1)\"");
      if (name == "type") result.type = text(*node, key, "\"float\"");
      if (name == "output") result.output = boolean(*node, key);
      if (name == "atol" || name == "tolerance") result.absolute_tolerance = tolerance(*node, key);
      if (name == "rtol") result.relative_tolerance = tolerance(*node, key);
      if (name == "ulps") result.ulp_tolerance = ulps(*node, key);
    }
  }

  std::string place_;
  bool has_lines_;
  std::size_t lines_before_;
};

// A comment that holds a description: where its TOML begins and ends, and in which line it begins.
struct DescriptionComment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t line = 1;
  bool closed = false;
};

// "/*regtune" and then a blank; or, since it is easily typed, "/* regtune" alone on its line.
std::optional<DescriptionComment> description_comment(std::string_view text, const Token& token) {
  constexpr std::string_view word = "regtune";
  const std::string_view comment = text.substr(token.offset, token.length);
  if (token.kind != TokenKind::comment || !comment.starts_with("/*")) return std::nullopt;
  const bool closed = comment.size() >= 4 && comment.ends_with("*/");
  const std::string_view inside = comment.substr(2, comment.size() - (closed ? 4 : 2));
  const std::size_t at = inside.find_first_not_of(" \t");
  if (at == std::string_view::npos || !inside.substr(at).starts_with(word)) return std::nullopt;
  const std::string_view toml = inside.substr(at + word.size());
  const std::size_t next = toml.find_first_not_of(" \t");
  const bool alone = next == std::string_view::npos || toml[next] == '\n' || toml[next] == '\r';
  if (!alone && (at != 0 || next == 0)) return std::nullopt;
  const std::size_t begin = token.offset + 2 + at + word.size();
  return DescriptionComment{begin, begin + toml.size(), static_cast<std::size_t>(token.line), closed};
}

std::string side_file_text(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorKind::bad_description,
                fmt::format("{}: not a regular file; a description is a TOML file", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(max_description_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    throw Error(ErrorKind::file_not_found, fmt::format("{}: cannot be read; check its permissions", path.string()));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::pair<std::string, std::string> name_and_value(const std::string& flag, const std::string& text,
                                                   std::string_view example) {
  const std::size_t equals = text.find('=');
  const std::string name(trimmed(std::string_view(text).substr(0, equals)));
  if (equals == std::string::npos || name.empty())
    refuse({flag}, fmt::format("{} has no name and value; write {} {}", in_quotes(text), flag, example));
  return {name, std::string(trimmed(std::string_view(text).substr(equals + 1)))};
}

ArgumentDescription argument_flag(const std::string& flag) {
  const auto [name, value] = name_and_value("--arg", flag, "a=2.5 or --arg 'in={buffer=\"n\"}'");
  const std::string place = "--arg " + printable(name);
  ArgumentDescription result;
  if (!value.starts_with('{')) {
    result.parameter = name;
    result.origin = {place};
    result.scalar = Expression{value, {place}};
    return result;
  }
  const TomlReader reader(place, false, 0);
  const toml::table document = reader.parse("value = " + value);
  if (document.size() != 1) refuse({place}, "more than one value");
  result = reader.argument(name, *document.get("value"));
  // What is typed in a shell is relative to the shell's folder, not to the source's.
  constexpr std::string_view file = "file:";
  if (result.init.starts_with(file)) {
    result.init = std::string(file) + std::filesystem::absolute(result.init.substr(file.size())).string();
  }
  return result;
}

TunedName tune_flag(const std::string& flag) {
  const auto [name, values] = name_and_value("--tune", flag, "UNROLL=1,2,4,8");
  TunedName macro{name, {}, {"--tune " + printable(name)}};
  check_macro_name(name, macro.origin);
  for (const std::string_view value : split(values, ',')) {
    if (value.empty()) refuse(macro.origin, "a value is missing; write --tune UNROLL=1,2,4,8");
    add_macro_value(macro, std::string(value));
  }
  return macro;
}

void check_tune(const LaunchDescription& description) {
  std::size_t combinations = 1;
  std::string product;
  for (const TunedName& macro : description.tune) {
    const auto names_it = [&](const SizeDescription& size) { return size.name == macro.name; };
    if (std::any_of(description.sizes.begin(), description.sizes.end(), names_it))
      refuse(macro.origin,
             fmt::format("{} is a size too, and an expression that names it would be ambiguous; rename one",
                         in_quotes(macro.name)));
    product += fmt::format("{}{}", product.empty() ? "" : " x ", macro.values.size());
    combinations *= macro.values.size();
    if (combinations > max_combinations)
      refuse(macro.origin, fmt::format("{} combinations of values are more than {}, and each gets the whole register "
                                       "space; leave out values",
                                       product, max_combinations));
    if (std::count(description.block_macros.begin(), description.block_macros.end(), macro.name) > 0)
      refuse(macro.origin, fmt::format("{} is the block_macro too; its values are the blocks", in_quotes(macro.name)));
  }
}

void check_blocks_have_macros(const LaunchDescription& description) {
  const std::size_t named = description.block_macros.size();
  if (named == 0 || description.blocks.empty()) return;
  // The author's block, the first, is compiled as the source stands.
  for (auto block = std::next(description.blocks.begin()); block != description.blocks.end(); ++block) {
    if ((named < 2 && block->y > 1) || (named < 3 && block->z > 1))
      refuse(description.block_macro_origin,
             fmt::format("a block of {} x {} x {} needs a macro for each dimension; write block_macro = [\"BX\", "
                         "\"BY\"]",
                         block->x, block->y, block->z));
  }
}

void set_size(std::vector<SizeDescription>& sizes, std::size_t& added, SizeDescription size) {
  const auto same = std::find_if(sizes.begin(), sizes.end(), [&](const auto& old) { return old.name == size.name; });
  if (same != sizes.end()) {
    *same = std::move(size);
    return;
  }
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(added++), std::move(size));
}

}  // namespace

LaunchDescription read_description(const std::filesystem::path& source_path, std::string_view source_text) {
  std::vector<DescriptionComment> found;
  for (const Token& token : tokenize(source_text)) {
    if (const auto comment = description_comment(source_text, token)) found.push_back(*comment);
  }
  std::filesystem::path side_path = source_path;
  side_path.replace_extension("regtune.toml");
  std::error_code ignored;
  const bool has_side_file = std::filesystem::exists(side_path, ignored);
  LaunchDescription result;
  if (!found.empty()) {
    const DescriptionComment& comment = found.front();
    const Origin origin{fmt::format("{}:{}", source_path.string(), comment.line)};
    if (found.size() > 1) {
      refuse(origin, fmt::format("a second description begins in line {}; keep one", found[1].line));
    }
    if (has_side_file) {
      refuse(origin, fmt::format("there is also {}; keep one of the two descriptions", side_path.string()));
    }
    if (!comment.closed) refuse(origin, "the description has no end; close it with */");
    const TomlReader reader(source_path.string(), true, comment.line - 1);
    result = reader.description(reader.parse(source_text.substr(comment.begin, comment.end - comment.begin)));
  } else if (has_side_file) {
    const TomlReader reader(side_path.string(), true, 0);
    result = reader.description(reader.parse(side_file_text(side_path)));
  }
  result.base_folder = source_path.parent_path();
  return result;
}

LaunchDescription with_flags(LaunchDescription description, const DescriptionFlags& flags) {
  if (flags.kernel) description.kernel = flags.kernel;
  std::size_t added = 0;
  for (const std::string& flag : flags.sizes) {
    const auto [name, value] = name_and_value("--set", flag, "n=1024");
    const Origin origin{"--set " + printable(name)};
    check_size_name(name, origin);
    set_size(description.sizes, added, {name, {value, origin}});
  }
  if (flags.block) {
    description.blocks.clear();
    for (const std::string_view part : split(*flags.block, ',')) {
      add_block(description.blocks, parse_block(part, {"--block"}));
    }
  }
  if (flags.grid) description.grid = Expression{*flags.grid, {"--grid"}};
  if (flags.dynamic_shared_bytes)
    description.dynamic_shared_bytes = Expression{*flags.dynamic_shared_bytes, {"--shared"}};
  for (const std::string& flag : flags.arguments) {
    ArgumentDescription argument = argument_flag(flag);
    std::erase_if(description.arguments, [&](const auto& old) { return old.parameter == argument.parameter; });
    description.arguments.push_back(std::move(argument));
  }
  description.options.insert(description.options.end(), flags.options.begin(), flags.options.end());
  description.nvcc_options.insert(description.nvcc_options.end(), flags.nvcc_options.begin(), flags.nvcc_options.end());
  for (const std::string& define : flags.defines) description.options.push_back("-D" + define);
  for (const std::string& file : flags.pre_included_files)
    description.options.push_back("--pre-include=" + std::filesystem::absolute(file).string());
  for (const std::string& folder : flags.include_folders) {
    description.include_folders.push_back(std::filesystem::absolute(folder));
  }
  if (flags.seed) description.seed = flags.seed;
  for (const std::string& flag : flags.tune) {
    TunedName macro = tune_flag(flag);
    std::erase_if(description.tune, [&](const auto& old) { return old.name == macro.name; });
    description.tune.push_back(std::move(macro));
  }
  for (const std::string& flag : flags.metrics) {
    const auto [name, value] = name_and_value("--metric", flag, "'bytes=8*n'");
    const Origin origin{"--metric " + printable(name)};
    if (name != "bytes" && name != "flops")
      refuse(origin, fmt::format("{} is neither bytes nor flops; write --metric 'bytes=8*n' or --metric 'flops=2*n'",
                                 in_quotes(name)));
    (name == "bytes" ? description.bytes : description.flops) = Expression{value, origin};
  }
  check_tune(description);
  check_blocks_have_macros(description);
  return description;
}

std::string near_miss(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > 64) return "";
  std::string best;
  std::size_t best_distance = 3;
  for (const std::string& candidate : known) {
    // Short names differ by two edits from nearly everything, so a letter must stay in place.
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean \"{}\"?", best);
}

}  // namespace regtune
