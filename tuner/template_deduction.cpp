#include "template_deduction.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "source_scan.hpp"

namespace regtune {
namespace {

// A text's tokens, with what they say.
struct Words {
  explicit Words(std::string_view written) : text(written), tokens(tokenize(written)) {
    std::erase_if(tokens, [](const Token& token) {
      return token.kind == TokenKind::comment || token.kind == TokenKind::directive;
    });
    for (const Token& token : tokens)
      said.push_back(token.kind == TokenKind::identifier ? spelling(written, token) : std::string());
  }
  std::size_t size() const { return tokens.size(); }
  bool is(std::size_t i, char c) const {
    return i < tokens.size() && tokens[i].kind == TokenKind::punctuation && text[tokens[i].offset] == c;
  }
  bool is_word(std::size_t i) const { return i < tokens.size() && tokens[i].kind == TokenKind::identifier; }
  std::string joined(std::size_t first, std::size_t last) const { return join_tokens(text, tokens, first, last); }

  // Past the bracket that opens at i; i + 1 where nothing closes it.
  std::size_t past_bracket(std::size_t i, char open, char close) const {
    int depth = 0;
    for (std::size_t at = i; at < size(); ++at) {
      if (is(at, open)) ++depth;
      if (is(at, close) && --depth == 0) return at + 1;
      if (open == '<' && (is(at, ';') || is(at, '{'))) break;
    }
    return i + 1;
  }

  std::string_view text;
  std::vector<Token> tokens;
  std::vector<std::string> said;
};

bool is_qualifier_of_types(const std::string& word) {
  static const std::set<std::string> words = {"const",  "volatile",     "static",       "constexpr",  "register",
                                              "extern", "__restrict__", "__restrict",   "restrict",   "typename",
                                              "struct", "inline",       "__constant__", "__device__", "mutable"};
  return words.count(word) > 0;
}

bool begins_no_declaration(const std::string& word) {
  static const std::set<std::string> words = {"return", "delete",    "new",    "throw",  "goto",  "case",  "else",
                                              "using",  "if",        "while",  "for",    "auto",  "using", "do",
                                              "switch", "namespace", "sizeof", "public", "friend"};
  return words.count(word) > 0;
}

// The type that tokens [first, name) give the name at `name`: "float *a, b" gives a "float *" and b "float".
std::optional<std::string> type_before(const Words& words, std::size_t first, std::size_t name) {
  std::size_t at = first;
  std::string base;
  bool ended = false;  // a word that can be no part of the type any more
  while (at < name && !ended) {
    if (words.is_word(at)) {
      if (begins_no_declaration(words.said[at])) return {};
      const bool declares = words.is(at + 1, '=') || words.is(at + 1, ',') || words.is(at + 1, '[');
      if (declares) break;
      if (!is_qualifier_of_types(words.said[at]))
        base += (base.empty() || base.back() == ':' ? "" : " ") + words.said[at];
      ++at;
    } else if (words.is(at, ':')) {
      base += ":";
      ++at;
    } else if (words.is(at, '<') && !base.empty()) {
      const std::size_t past = words.past_bracket(at, '<', '>');
      if (!words.is(past - 1, '>')) return {};
      base += words.joined(at, past);
      at = past;
    } else {
      ended = true;
    }
  }
  if (base.empty() || base.back() == ':') return {};
  // Between the type and the name: other names with their values, stars.
  const bool follows_comma = at < name && !(words.is(at, '*') || words.is(at, '&'));
  if (follows_comma && !words.is_word(at)) return {};
  std::size_t stars = 0;
  std::size_t back = name;
  while (back > at &&
         (words.is(back - 1, '*') || words.is(back - 1, '&') || is_qualifier_of_types(words.said[back - 1])))
    stars += words.is(--back, '*') ? 1 : 0;
  const bool first_of_all = back == at;
  if (!first_of_all && !words.is(back - 1, ',')) return {};
  if (words.is(name + 1, '[')) ++stars;
  return base + (stars > 0 ? " " + std::string(stars, '*') : "");
}

// Walks to `offset` and keeps, for every open brace, what `declaration` made of the statements in it.
template <class Declaration>
std::optional<std::string> innermost(std::string_view text, std::size_t offset, const std::string& name,
                                     Declaration declaration) {
  const Words words(text.substr(0, std::min(offset, text.size())));
  std::vector<std::optional<std::string>> scopes(1);
  std::optional<std::string> parameter;  // declared between parentheses: belongs to the brace behind them
  std::size_t first = 0;                 // of the statement
  std::vector<bool> lists;               // of the open parentheses: do they declare?
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words.is(i, '(')) {
      const bool is_for = i > 0 && words.said[i - 1] == "for";
      // A function's parameters: the words in front are a type and a name.
      const bool is_list =
          lists.empty() && i >= first + 2 && words.is_word(i - 1) && !begins_no_declaration(words.said[first]);
      lists.push_back(is_for || is_list);
      if (lists.back()) first = i + 1;
    } else if (words.is(i, ')')) {
      if (!lists.empty()) lists.pop_back();
    } else if (words.is(i, ',') && lists.size() == 1 && lists.back()) {
      first = i + 1;
    } else if (words.is(i, '{')) {
      scopes.push_back(std::exchange(parameter, std::nullopt));
      lists.clear();
      first = i + 1;
    } else if (words.is(i, '}')) {
      if (scopes.size() > 1) scopes.pop_back();
      lists.clear();
      first = i + 1;
    } else if (words.is(i, ';')) {
      if (lists.empty()) parameter.reset();
      first = i + 1;
    } else if (words.said[i] == name && (lists.empty() || lists.back())) {
      if (std::optional<std::string> found = declaration(words, first, i)) {
        if (lists.empty())
          scopes.back() = std::move(found);
        else
          parameter = std::move(found);
      }
    }
  }
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (*scope) return *scope;
  return {};
}

std::optional<std::string> number_type(const std::string& written) {
  const bool is_hex = written.starts_with("0x") || written.starts_with("0X");
  const bool is_real = !is_hex && written.find_first_of(".eE") != std::string::npos;
  const auto ends_with = [&](char low, char high) { return written.back() == low || written.back() == high; };
  if (is_real) return ends_with('f', 'F') ? "float" : "double";
  if (ends_with('l', 'L')) return written.find_first_of("uU") == std::string::npos ? "long" : "unsigned long";
  return ends_with('u', 'U') ? "unsigned int" : "int";
}

bool names_type(const Words& words, std::size_t first, std::size_t last) {
  if (first >= last || !words.is_word(first)) return false;
  for (std::size_t i = first; i < last; ++i)
    if (!words.is_word(i) && !words.is(i, '*') && !words.is(i, ':') && !words.is(i, '<') && !words.is(i, '>') &&
        !words.is(i, ','))
      return false;
  return true;
}

std::string without_qualifiers(const std::string& type) {
  const Words words(type);
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i)
    if (!words.is_word(i) || !is_qualifier_of_types(words.said[i])) {
      const std::string next = spelling(type, words.tokens[i]);
      const bool apart = !result.empty() && words.is_word(i) && i > 0 && (words.is_word(i - 1));
      result += (apart ? " " : "") + next;
    }
  return result;
}

}  // namespace

std::optional<std::string> constant_at(std::string_view text, std::size_t offset, const std::string& name) {
  return innermost(
      text, offset, name, [&](const Words& words, std::size_t first, std::size_t i) -> std::optional<std::string> {
        if (words.said[first] == "typedef" && words.is(i + 1, ';')) return words.joined(first + 1, i);
        bool is_constant = false;
        for (std::size_t at = first; at < i; ++at)
          is_constant =
              is_constant || words.said[at] == "const" || words.said[at] == "constexpr" || words.said[at] == "using";
        if (!is_constant || !words.is(i + 1, '=')) return {};
        std::size_t last = i + 2;
        int depth = 0;
        for (; last < words.size() && !words.is(last, ';'); ++last) {
          if (words.is(last, '(') || words.is(last, '<') || words.is(last, '[')) ++depth;
          if (words.is(last, ')') || words.is(last, '>') || words.is(last, ']')) --depth;
          if (words.is(last, ',') && depth <= 0) break;
        }
        return words.joined(i + 2, last);
      });
}

std::optional<std::string> variable_type_at(std::string_view text, std::size_t offset, const std::string& name) {
  return innermost(
      text, offset, name, [](const Words& words, std::size_t first, std::size_t i) -> std::optional<std::string> {
        static const std::string_view behind = "=;,[({):";
        const bool declares = i + 1 >= words.size() ||
                              std::any_of(behind.begin(), behind.end(), [&](char c) { return words.is(i + 1, c); });
        return declares ? type_before(words, first, i) : std::nullopt;
      });
}

std::optional<std::string> expression_type_at(std::string_view text, std::size_t offset, std::string_view expression) {
  const Words words(expression);
  if (words.size() == 0) return {};
  if (words.is(0, '(')) {
    const std::size_t past = words.past_bracket(0, '(', ')');
    if (past < words.size() && names_type(words, 1, past - 1) && !words.is(past, '+') && !words.is(past, '-'))
      return words.joined(1, past - 1);
    if (past == words.size() && past > 2) return expression_type_at(text, offset, words.joined(1, past - 1));
    return {};
  }
  if (words.said[0].ends_with("_cast") && words.is(1, '<')) return words.joined(2, words.past_bracket(1, '<', '>') - 1);
  if (words.size() == 1 && words.tokens[0].kind == TokenKind::number) return number_type(std::string(expression));
  const std::size_t at = words.is(0, '&') ? 1 : 0;
  if (!words.is_word(at)) return {};
  std::optional<std::string> type = variable_type_at(text, offset, words.said[at]);
  if (!type) return {};
  std::size_t i = at + 1;
  const bool address = at == 1;
  std::ptrdiff_t stars = address ? 1 : 0;
  for (; words.is(i, '['); i = words.past_bracket(i, '[', ']')) --stars;
  if (i < words.size() && !words.is(i, '+') && !words.is(i, '-') && !words.is(i, '*') && !words.is(i, '/')) return {};
  if (words.is(i, '-') && words.is(i + 1, '>')) return {};
  for (; stars < 0; ++stars) {
    if (type->empty() || type->back() != '*') return {};
    type->pop_back();
  }
  return *type + std::string(static_cast<std::size_t>(stars), '*');
}

std::optional<std::string> deduced_argument(const std::string& name, const std::string& parameter,
                                            const std::string& type) {
  const Words asked(parameter);
  std::size_t stars = 0;
  bool is_named = false;  // T itself has been seen
  bool has_own_name = false;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked.is(i, '=')) break;
    if (asked.is(i, '*') || asked.is(i, '[')) ++stars;
    if (asked.is(i, '<') || asked.is(i, ':') || asked.is(i, '(')) return {};
    if (!asked.is_word(i) || is_qualifier_of_types(asked.said[i])) continue;
    if (asked.said[i] == name && !is_named)
      is_named = true;
    else if (!is_named || has_own_name)
      return {};
    else
      has_own_name = true;
  }
  if (!is_named) return {};
  std::string given = without_qualifiers(type);
  for (; stars > 0; --stars) {
    while (!given.empty() && given.back() == ' ') given.pop_back();
    if (given.empty() || given.back() != '*') return {};
    given.pop_back();
  }
  while (!given.empty() && given.back() == ' ') given.pop_back();
  if (given.empty()) return {};
  return given;
}

std::vector<FreeName> free_names(const std::string& expression) {
  const Words words(expression);
  std::vector<FreeName> names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_member = i > 0 && (words.is(i - 1, ':') || words.is(i - 1, '.'));
    if (words.is_word(i) && !is_member) names.push_back({words.said[i], words.is(i + 1, ':') && words.is(i + 2, ':')});
  }
  return names;
}

}  // namespace regtune
