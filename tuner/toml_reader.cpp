#include "toml_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "description_rules.hpp"
#include "toml_text.hpp"

namespace regtune {
namespace {

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

}  // namespace

toml::table TomlReader::parse(std::string_view text) const {
  if (const auto refusal = why_not_toml(text)) refuse(start(refusal->line), refusal->reason);
  try {
    return toml::parse(text, std::string_view(place_));
  } catch (const toml::parse_error& error) {
    refuse(at(error.source(), ""), fmt::format("not valid TOML: {}; write it as in name = \"text\" or name = 1",
                                               printable(error.description())));
  } catch (const TomlAssertion&) {
    refuse(start(line_of_bad_header(text)), "not valid TOML: write [name] at the head of a table");
  }
}

Origin TomlReader::at(const toml::source_region& region, const std::string& key) const {
  std::string origin = printable(place_);
  if (has_lines_ && region.begin.line > 0) origin += fmt::format(":{}", lines_before_ + region.begin.line);
  return {key.empty() ? origin : origin + ": " + printable(key)};
}

Origin TomlReader::start(std::size_t line) const {
  return {has_lines_ ? fmt::format("{}:{}", printable(place_), lines_before_ + line) : place_};
}

void TomlReader::check_keys(const toml::table& table, const std::string& prefix,
                            const std::vector<std::string>& known) const {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string hint = near_miss(name, known);
    const Origin origin = at(key.source(), prefix + name);
    if (!hint.empty()) refuse(origin, fmt::format("unknown key {}{}", in_quotes(name), hint));
    refuse(origin, fmt::format("unknown key {}; write one of: {}", in_quotes(name), fmt::join(known, ", ")));
  }
}

// toml++ sorts a table by key; the author's order is that of the positions.
TomlReader::Entries TomlReader::in_order(const toml::table& table) {
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

void TomlReader::wrong_type(const toml::node& node, const std::string& key, std::string_view wanted,
                            std::string_view example) const {
  refuse(at(node.source(), key),
         fmt::format("expected {}, but this is {}; write for example {}", wanted, type_name(node), example));
}

const toml::table& TomlReader::as_table(const toml::node& node, const std::string& key,
                                        std::string_view example) const {
  if (const toml::table* table = node.as_table()) return *table;
  wrong_type(node, key, "a table", example);
}

std::string TomlReader::text(const toml::node& node, const std::string& key, std::string_view example) const {
  const auto value = node.value_exact<std::string>();
  if (!value) wrong_type(node, key, "a string", fmt::format("{} = {}", key, example));
  if (value->empty() || value->find('\0') != std::string::npos)
    refuse(at(node.source(), key), "empty, or with a NUL byte; write a text, or leave the key out");
  return *value;
}

std::vector<std::string> TomlReader::texts(const toml::node& node, const std::string& key,
                                           std::string_view example) const {
  const toml::array* list = node.as_array();
  if (list == nullptr) wrong_type(node, key, "a list of strings", fmt::format("{} = {}", key, example));
  std::vector<std::string> result;
  for (const toml::node& element : *list) result.push_back(text(element, key, example));
  return result;
}

// An integer or an expression's text.
Expression TomlReader::expression(const toml::node& node, const std::string& key) const {
  const Origin origin = at(node.source(), key);
  if (const auto value = node.value_exact<std::string>()) return {*value, origin};
  if (const auto value = node.value_exact<std::int64_t>()) return {fmt::format("{}", *value), origin};
  wrong_type(node, key, "an integer or an expression", fmt::format("{} = \"n // 4\"", key));
}

Expression TomlReader::number(const toml::node& node, const std::string& key) const {
  const Origin origin = at(node.source(), key);
  if (const auto value = node.value_exact<double>()) return {fmt::format("{}", *value), origin};
  if (const auto value = node.value_exact<bool>()) return {*value ? "true" : "false", origin};
  if (node.is_string() || node.is_integer()) return expression(node, key);
  wrong_type(node, key, "a number, an expression or a table", fmt::format("{} = {{buffer = \"n\"}}", key));
}

bool TomlReader::boolean(const toml::node& node, const std::string& key) const {
  const auto value = node.value_exact<bool>();
  if (!value) wrong_type(node, key, "true or false", key == "cooperative" ? "cooperative = true" : "output = true");
  return *value;
}

double TomlReader::tolerance(const toml::node& node, const std::string& key) const {
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value || !(*value >= 0) || !std::isfinite(*value))
    TomlReader::wrong_type(node, key, "a finite number of 0 or more", "tolerance = 1e-5");
  return *value;
}

std::int64_t TomlReader::count(const toml::node& node, const std::string& key, std::string_view example) const {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 0) wrong_type(node, key, "an integer of 0 or more", example);
  return *value;
}

std::vector<Expression> TomlReader::expressions(const toml::node& node, const std::string& key, std::size_t most,
                                                std::string_view example) const {
  const toml::array* list = node.as_array();
  if (list == nullptr && !node.is_string() && !node.is_integer())
    wrong_type(node, key, "integers or expressions", example);
  if (list == nullptr) return {expression(node, key)};
  if (list->empty() || list->size() > most)
    refuse(at(node.source(), key),
           fmt::format("{} numbers; write 1 to {}, for example {}", list->size(), most, example));
  std::vector<Expression> result;
  for (const toml::node& element : *list) result.push_back(expression(element, key));
  return result;
}

std::size_t TomlReader::word(const toml::node& node, const std::string& key,
                             std::span<const std::string_view> words) const {
  const std::string said = text(node, key, fmt::format("\"{}\"", words.back()));
  const auto found = std::find(words.begin(), words.end(), said);
  if (found == words.end())
    refuse(at(node.source(), key),
           fmt::format("{} is not known; write one of: {}", in_quotes(said), fmt::join(words, ", ")));
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace regtune
