#pragma once
// The nodes of a TOML document as the values of a launch description: texts, expressions, numbers, words of a list.
// What has the wrong type, an unknown key or an unknown word is refused with its place, its key and an example. Text is
// checked (toml_text) before toml++ sees it.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expression.hpp"
#include "toml_library.hpp"

namespace regtune {

// Each function throws Error(bad_description). `key` is how the node is called in messages: "args.in.init".
class TomlReader {
 public:
  using Entries = std::vector<std::pair<std::string, const toml::node*>>;

  // `place` is the file, whose line 1 is `lines_before` lines before the document's, or, without lines, the flag whose
  // text the document is.
  TomlReader(std::string place, bool has_lines, std::size_t lines_before)
      : place_(std::move(place)), has_lines_(has_lines), lines_before_(lines_before) {}

  toml::table parse(std::string_view text) const;
  bool has_lines() const { return has_lines_; }
  Origin at(const toml::source_region& region, const std::string& key) const;

  void check_keys(const toml::table& table, const std::string& prefix, const std::vector<std::string>& known) const;
  // In the author's order.
  static Entries in_order(const toml::table& table);
  [[noreturn]] void wrong_type(const toml::node& node, const std::string& key, std::string_view wanted,
                               std::string_view example) const;

  const toml::table& as_table(const toml::node& node, const std::string& key, std::string_view example) const;
  std::string text(const toml::node& node, const std::string& key, std::string_view example) const;
  std::vector<std::string> texts(const toml::node& node, const std::string& key, std::string_view example) const;
  // An integer or an expression's text.
  Expression expression(const toml::node& node, const std::string& key) const;
  // Of these, one alone or a list of 1 to `most`. `example`: "box = [64, 64]".
  std::vector<Expression> expressions(const toml::node& node, const std::string& key, std::size_t most,
                                      std::string_view example) const;
  // A float and a boolean as well.
  Expression number(const toml::node& node, const std::string& key) const;
  bool boolean(const toml::node& node, const std::string& key) const;
  double tolerance(const toml::node& node, const std::string& key) const;
  std::int64_t count(const toml::node& node, const std::string& key, std::string_view example) const;
  // Which of `words` the node says.
  std::size_t word(const toml::node& node, const std::string& key, std::span<const std::string_view> words) const;

 private:
  Origin start(std::size_t line = 1) const;

  std::string place_;
  bool has_lines_;
  std::size_t lines_before_;
};

}  // namespace regtune
