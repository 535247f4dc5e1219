#include "captured_text.hpp"

#include <cstring>
#include <sstream>

#include "regtune/error.hpp"
#include "toml_reader.hpp"

namespace regtune {
namespace {

constexpr const char* kTable = "captured";

// The integer of that key; nothing for a value of another kind.
std::optional<std::int64_t> integer_of(const toml::table& table, std::string_view key) {
  return table[key].value<std::int64_t>();
}

std::optional<IntegerPlace> place_of(const toml::node& node) {
  const toml::table* const table = node.as_table();
  if (!table) return {};
  IntegerPlace place;
  place.name = (*table)["name"].value_or(std::string());
  place.offset_bytes = integer_of(*table, "offset").value_or(-1);
  place.size_bytes = integer_of(*table, "bytes").value_or(0);
  const bool is_integer =
      place.size_bytes == 1 || place.size_bytes == 2 || place.size_bytes == 4 || place.size_bytes == 8;
  if (place.offset_bytes < 0 || !is_integer) return {};
  return place;
}

}  // namespace

std::string captured_text(const CapturedFacts& facts) {
  toml::array integers;
  for (const IntegerPlace& place : facts.integers) {
    toml::table one{{"name", place.name}, {"offset", place.offset_bytes}, {"bytes", place.size_bytes}};
    one.is_inline(true);
    integers.push_back(std::move(one));
  }
  toml::table captured{{"program", facts.program},
                       {"launch", facts.launch},
                       {"image", facts.image},
                       {"outputs_compared", facts.outputs_compared},
                       {"integers", std::move(integers)}};
  std::ostringstream text;
  text << toml::table{{kTable, std::move(captured)}} << "\n";
  return text.str();
}

std::optional<CapturedFacts> captured_facts(std::string_view description) {
  // Of the many stored descriptions few are of this kind.
  if (description.find(kTable) == std::string_view::npos) return {};
  try {
    const toml::table document = TomlReader("a stored launch", false, 0).parse(description);
    const toml::table* const captured = document[kTable].as_table();
    if (!captured) return {};
    CapturedFacts facts;
    facts.program = (*captured)["program"].value_or(std::string());
    facts.launch = integer_of(*captured, "launch").value_or(1);
    facts.image = (*captured)["image"].value_or(std::string());
    facts.outputs_compared = (*captured)["outputs_compared"].value_or(false);
    const toml::array* const integers = (*captured)["integers"].as_array();
    if (!integers) return {};
    for (const toml::node& node : *integers) {
      const std::optional<IntegerPlace> place = place_of(node);
      if (!place) return {};
      facts.integers.push_back(*place);
    }
    return facts;
  } catch (const Error&) {
    return {};
  }
}

std::int64_t integer_at(std::string_view block, const IntegerPlace& place) {
  const auto offset = static_cast<std::size_t>(place.offset_bytes);
  const auto bytes = static_cast<std::size_t>(place.size_bytes);
  if (place.offset_bytes < 0 || bytes == 0 || bytes > 8 || offset > block.size() || bytes > block.size() - offset)
    return 0;
  std::uint64_t word = 0;
  std::memcpy(&word, block.data() + offset, bytes);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  return static_cast<std::int64_t>((word ^ sign) - sign);
}

}  // namespace regtune
