#include "gnu_extensions.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "source_scan.hpp"

namespace regtune {
namespace {

using Insertions = std::vector<std::pair<std::size_t, std::string>>;  // offset, what stands there then

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : text_(text), tokens_(tokenize(text)) {
    std::erase_if(tokens_, [](const Token& token) { return token.kind == TokenKind::comment; });
  }

  // `base`: where the text begins in the whole one.
  void read(std::size_t base, Insertions& insertions) const {
    std::vector<std::size_t> open;  // braces
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::directive) read_directive(tokens_[i], base, insertions);
      if (is(i, '{')) open.push_back(i);
      if (!is(i, '}') || open.empty()) continue;
      const std::size_t first = open.back();
      open.pop_back();
      if (first > 0 && is(first - 1, '(') && is(i + 1, ')') && is(i - 1, ';')) rewrite(first, i, base, insertions);
    }
  }

 private:
  bool is(std::size_t i, char c) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::punctuation && text_[tokens_[i].offset] == c;
  }

  void read_directive(const Token& token, std::size_t base, Insertions& insertions) const {
    const std::string_view directive = text_.substr(token.offset, token.length);
    const std::size_t word = directive.find("define");
    if (word == std::string_view::npos || directive.find("({") == std::string_view::npos) return;
    const std::size_t body = word + 6;
    ExpressionReader(directive.substr(body)).read(base + token.offset + body, insertions);
  }

  // The braces at `first` and `last`, the last statement in which is the value.
  void rewrite(std::size_t first, std::size_t last, std::size_t base, Insertions& insertions) const {
    static const std::set<std::string> leave = {"return", "goto", "break", "continue"};
    static const std::set<std::string> no_value = {"if", "for", "while", "do", "switch"};
    for (std::size_t i = first; i < last; ++i)
      if (tokens_[i].kind == TokenKind::identifier && leave.count(spelling(text_, tokens_[i])) > 0) return;
    std::size_t value = last - 1;  // the semicolon
    for (int depth = 0; value > first + 1; --value) {
      if (is(value - 1, ')') || is(value - 1, ']') || is(value - 1, '}')) ++depth;
      if (depth == 0 && (is(value - 1, ';') || is(value - 1, '{'))) break;
      if (is(value - 1, '(') || is(value - 1, '[') || is(value - 1, '{')) --depth;
    }
    insertions.emplace_back(base + tokens_[first].offset, "[&]");
    if (no_value.count(spelling(text_, tokens_[value])) == 0)
      insertions.emplace_back(base + tokens_[value].offset, "return ");
    insertions.emplace_back(base + tokens_[last].offset + 1, "()");
  }

  std::string_view text_;
  std::vector<Token> tokens_;
};

}  // namespace

std::optional<std::string> with_lambdas_for_statement_expressions(std::string_view text) {
  if (text.find("({") == std::string_view::npos) return {};
  Insertions insertions;
  ExpressionReader(text).read(0, insertions);
  if (insertions.empty()) return {};
  std::sort(insertions.begin(), insertions.end());
  std::string result;
  std::size_t at = 0;
  for (const auto& [offset, added] : insertions) {
    result += text.substr(at, offset - at);
    result += added;
    at = offset;
  }
  result += text.substr(at);
  return result;
}

bool has_designated_initialisers(std::string_view text) {
  std::array<Token, 3> before{};
  std::size_t count = 0;
  for (const Token& token : tokenize(text)) {
    if (token.kind == TokenKind::comment) continue;
    const auto said = [&](std::size_t i, char c) {
      return before[i].kind == TokenKind::punctuation && text[before[i].offset] == c;
    };
    const bool assigns = token.kind == TokenKind::punctuation && text[token.offset] == '=';
    if (count >= 3 && assigns && before[2].kind == TokenKind::identifier && said(1, '.') &&
        (said(0, '{') || said(0, ',')))
      return true;
    before = {before[1], before[2], token};
    ++count;
  }
  return false;
}

}  // namespace regtune
