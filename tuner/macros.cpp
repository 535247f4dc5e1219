#include "macros.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "source_scan.hpp"

namespace regtune {
namespace {

struct Definition {
  std::string name;
  std::string value;  // as written
};

// What an object-like #define says; empty for any other token.
std::optional<Definition> definition(std::string_view text, const Token& token) {
  if (token.kind != TokenKind::directive) return {};
  const std::string directive = spelling(text, token);
  std::size_t at = directive.find("define");
  if (at == std::string::npos || directive.find_first_not_of(" \t", 1) != at) return {};
  at = directive.find_first_not_of(" \t", at + 6);
  if (at == std::string::npos) return {};
  std::size_t end = at;
  while (end < directive.size() && (std::isalnum(static_cast<unsigned char>(directive[end])) || directive[end] == '_'))
    ++end;
  if (end == at || (end < directive.size() && directive[end] == '(')) return {};
  return Definition{directive.substr(at, end - at), directive.substr(end)};
}

// An option that defines or undefines macros, in any spelling: "-DX=1"; "-D", "X=1"; "--define-macro=X=1".
struct MacroOption {
  bool defines = false;
  std::string text;  // "X=1"
  std::size_t next = 0;
};

std::optional<MacroOption> macro_option(const std::vector<std::string>& options, std::size_t at) {
  struct Form {
    std::string_view name;
    bool defines;
  };
  constexpr std::array forms = {Form{"--define-macro", true}, Form{"--undefine-macro", false}, Form{"-D", true},
                                Form{"-U", false}};
  const std::string& option = options[at];
  for (const Form& form : forms) {
    if (!option.starts_with(form.name)) continue;
    std::string rest = option.substr(form.name.size());
    if (rest.empty() && at + 1 == options.size()) return {};
    if (rest.empty()) return MacroOption{form.defines, options[at + 1], at + 2};
    if (rest[0] == '=') return MacroOption{form.defines, rest.substr(1), at + 1};
    if (!form.name.starts_with("--")) return MacroOption{form.defines, rest, at + 1};
  }
  return {};
}

std::string name_in(const MacroOption& option) {
  return option.text.substr(0, option.text.find('='));
}

}  // namespace

std::string with_macros(const std::string& text, const Macros& macros) {
  if (macros.empty()) return text;
  std::string result;
  std::size_t copied = 0;
  for (const Token& token : tokenize(text)) {
    const std::optional<Definition> found = definition(text, token);
    const auto macro = found ? macros.find(found->name) : macros.end();
    if (macro == macros.end()) continue;
    const std::string_view old = std::string_view(text).substr(token.offset, token.length);
    result.append(text, copied, token.offset - copied);
    result += fmt::format("#define {} {}", macro->first, macro->second);
    result.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    copied = token.offset + token.length;
  }
  return result + text.substr(copied);
}

std::string missing_macros(const std::string& text, const Macros& macros) {
  std::string result;
  if (macros.empty()) return result;
  const std::vector<Token> tokens = tokenize(text);
  for (const auto& [name, value] : macros) {
    const bool defined = std::any_of(tokens.begin(), tokens.end(), [&, wanted = name](const Token& token) {
      const std::optional<Definition> found = definition(text, token);
      return found && found->name == wanted;
    });
    if (!defined) result += fmt::format("#define {} {}\n", name, value);
  }
  return result;
}

std::vector<std::string> without_macros(const std::vector<std::string>& options, const Macros& macros) {
  if (macros.empty()) return options;
  std::vector<std::string> kept;
  for (std::size_t at = 0; at < options.size();) {
    const std::optional<MacroOption> option = macro_option(options, at);
    const std::size_t next = option ? option->next : at + 1;
    const bool dropped = option && macros.count(name_in(*option)) > 0;
    for (; at < next; ++at)
      if (!dropped) kept.push_back(options[at]);
  }
  return kept;
}

std::optional<std::string> author_value(const std::string& text, const std::vector<std::string>& options,
                                        const std::string& macro) {
  std::optional<std::string> given;
  for (std::size_t at = 0; at < options.size();) {
    const std::optional<MacroOption> option = macro_option(options, at);
    at = option ? option->next : at + 1;
    if (!option || name_in(*option) != macro) continue;
    const std::size_t equals = option->text.find('=');
    given = equals == std::string::npos ? "1" : plain_value(option->text.substr(equals + 1));
    if (!option->defines) given.reset();
  }
  if (given) return given;
  std::optional<std::string> value;
  for (const Token& token : tokenize(text)) {
    const std::optional<Definition> found = definition(text, token);
    if (!found || found->name != macro) continue;
    const std::string here = plain_value(found->value);
    if (value && *value != here) return {};
    value = here;
  }
  return value;
}

bool defines_macro(const std::string& text, const std::vector<std::string>& options, const std::string& macro) {
  if (missing_macros(text, {{macro, ""}}).empty()) return true;
  return without_macros(options, {{macro, ""}}).size() != options.size();
}

std::string plain_value(const std::string& value) {
  std::vector<Token> tokens = tokenize(value);
  std::erase_if(tokens, [](const Token& token) { return token.kind == TokenKind::comment; });
  return join_tokens(value, tokens, 0, tokens.size());
}

}  // namespace regtune
