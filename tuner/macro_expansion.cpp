#include "macro_expansion.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "source_scan.hpp"

namespace regtune {
namespace {

constexpr std::size_t kLargestText = 4 << 20;
constexpr int kMostNesting = 24;

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens = tokenize(text);
  std::erase_if(tokens, [](const Token& token) { return token.kind == TokenKind::comment; });
  return tokens;
}

bool is_byte(std::string_view text, const std::vector<Token>& tokens, std::size_t i, char c) {
  return i < tokens.size() && tokens[i].kind == TokenKind::punctuation && text[tokens[i].offset] == c;
}

// "define NAME(a, b) body", where it is one.
std::optional<std::pair<std::string, MacroDefinition>> definition_in(const std::string& directive) {
  const std::size_t word = directive.find_first_not_of(" \t", 1);
  if (word == std::string::npos || directive.compare(word, 6, "define") != 0) return {};
  const std::string text = directive.substr(word + 6);
  const std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty() || tokens[0].kind != TokenKind::identifier) return {};
  MacroDefinition macro;
  std::size_t i = 1;
  const std::size_t name_end = tokens[0].offset + tokens[0].length;
  const bool takes_arguments = is_byte(text, tokens, 1, '(') && tokens[1].offset == name_end;
  if (takes_arguments) {
    for (i = 2; i < tokens.size() && !is_byte(text, tokens, i, ')'); ++i) {
      if (tokens[i].kind == TokenKind::identifier) macro.parameters.push_back(spelling(text, tokens[i]));
      if (is_byte(text, tokens, i, '.')) macro.is_variadic = true;
    }
    ++i;
  }
  if (i < tokens.size()) macro.body = text.substr(tokens[i].offset);
  if (!takes_arguments && macro.body.find("<<<") == std::string::npos) return {};
  return std::pair(spelling(text, tokens[0]), std::move(macro));
}

class Writer {
 public:
  explicit Writer(MacroTable& table) : table_(table) {}

  void write(std::string_view text, std::string& out) {
    const std::vector<Token> tokens = tokens_of(text);
    std::size_t at = 0;
    for (std::size_t i = 0; i < tokens.size();) {
      if (tokens[i].kind == TokenKind::directive) {
        if (auto macro = definition_in(spelling(text, tokens[i])))
          table_.insert_or_assign(std::move(macro->first), std::move(macro->second));
        ++i;
        continue;
      }
      const auto macro =
          tokens[i].kind == TokenKind::identifier ? table_.find(spelling(text, tokens[i])) : table_.end();
      std::vector<std::string> arguments;
      const std::size_t past = macro == table_.end() ? i : past_call(text, tokens, i, macro->second, arguments);
      const bool too_much = out.size() > kLargestText || active_.size() >= kMostNesting;
      if (past == i || too_much || active_.count(macro->first) > 0) {
        ++i;
        continue;
      }
      out += text.substr(at, tokens[i].offset - at);
      at = tokens[past - 1].offset + tokens[past - 1].length;
      i = past;
      active_.insert(macro->first);
      const std::string name = macro->first;
      write(substituted(macro->second, arguments), out);
      active_.erase(name);
    }
    out += text.substr(at);
  }

 private:
  // Past the macro's name and arguments; i itself where it is not called.
  static std::size_t past_call(std::string_view text, const std::vector<Token>& tokens, std::size_t i,
                               const MacroDefinition& macro, std::vector<std::string>& arguments) {
    if (macro.parameters.empty() && !macro.is_variadic && !is_byte(text, tokens, i + 1, '(')) return i + 1;
    if (!is_byte(text, tokens, i + 1, '(')) return i;
    int depth = 0;
    std::size_t begin = tokens[i + 1].offset + 1;
    for (std::size_t at = i + 1; at < tokens.size(); ++at) {
      if (is_byte(text, tokens, at, '(') || is_byte(text, tokens, at, '[') || is_byte(text, tokens, at, '{')) ++depth;
      const bool closes =
          is_byte(text, tokens, at, ')') || is_byte(text, tokens, at, ']') || is_byte(text, tokens, at, '}');
      if (closes) --depth;
      const bool separates = depth == 1 && is_byte(text, tokens, at, ',');
      if (!separates && depth != 0) continue;
      arguments.emplace_back(text.substr(begin, tokens[at].offset - begin));
      begin = tokens[at].offset + 1;
      if (depth == 0) return at + 1;
    }
    return i;
  }

  static std::string substituted(const MacroDefinition& macro, const std::vector<std::string>& arguments) {
    const std::string text = "_ " + macro.body;  // so that a # is no directive
    const std::vector<Token> tokens = tokens_of(text);
    std::string out;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      const bool pastes = is_byte(text, tokens, i, '#') && is_byte(text, tokens, i + 1, '#');
      if (pastes) {
        while (!out.empty() && out.back() == ' ') out.pop_back();
        ++i;
        continue;
      }
      const bool joined = i >= 3 && is_byte(text, tokens, i - 1, '#') && is_byte(text, tokens, i - 2, '#');
      if (!joined && !out.empty() && tokens[i].offset > tokens[i - 1].offset + tokens[i - 1].length) out += ' ';
      const std::string word = spelling(text, tokens[i]);
      const std::optional<std::string> argument =
          tokens[i].kind == TokenKind::identifier ? argument_of(word, macro, arguments) : std::nullopt;
      out += argument ? *argument : word;
    }
    return out;
  }

  static std::optional<std::string> argument_of(const std::string& word, const MacroDefinition& macro,
                                                const std::vector<std::string>& arguments) {
    const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), word);
    auto index = static_cast<std::size_t>(found - macro.parameters.begin());
    if (found != macro.parameters.end()) return index < arguments.size() ? arguments[index] : std::string();
    if (word != "__VA_ARGS__" || !macro.is_variadic) return {};
    std::string rest;
    for (; index < arguments.size(); ++index) rest += (rest.empty() ? "" : ",") + arguments[index];
    return rest;
  }

  MacroTable& table_;
  std::set<std::string> active_;  // being written out, and not again inside
};

}  // namespace

void read_macros(std::string_view text, MacroTable& table) {
  for (const Token& token : tokenize(text))
    if (token.kind == TokenKind::directive)
      if (auto macro = definition_in(spelling(text, token))) table.insert(std::move(*macro));
}

std::string with_macros_written_out(std::string_view text, MacroTable table) {
  std::string out;
  Writer(table).write(text, out);
  return out;
}

}  // namespace regtune
