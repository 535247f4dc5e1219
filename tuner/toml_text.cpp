#include "toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "description_rules.hpp"

namespace regtune {
namespace {

constexpr int kMaxDotsInARow = 32;

std::size_t line_at(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// Past the string that begins at `at`; one of a single line ends with its line at the latest.
std::size_t string_end(std::string_view text, std::size_t at, std::optional<TomlRefusal>& refusal) {
  const char quote = text[at];
  const bool multi_line = text.substr(at, 3) == std::string(3, quote);
  const std::string closing(multi_line ? 3 : 1, quote);
  for (at += closing.size(); at < text.size(); ++at) {
    if (text.substr(at, closing.size()) == closing) return at + closing.size();
    if (!multi_line && text[at] == '\n') return at;
    if (quote != '"' || text[at] != '\\') continue;
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + 1);
    if (next != std::string_view::npos && static_cast<unsigned char>(text[next]) >= 0x80) {
      refusal = TomlRefusal{line_at(text, at),
                            "not valid TOML: a backslash before a character outside ASCII; drop it, or write two"};
      return text.size();
    }
    ++at;
  }
  return text.size();
}

}  // namespace

std::optional<TomlRefusal> why_not_toml(std::string_view text) {
  if (text.size() > kMaxDescriptionBytes)
    return TomlRefusal{
        1, fmt::format("the description is {} bytes long; shorten it to {}", text.size(), kMaxDescriptionBytes)};
  std::optional<TomlRefusal> refusal;
  int dots = 0;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const char c = text[at];
    if (c == '.') ++dots;
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
    if (dots > kMaxDotsInARow) return TomlRefusal{line_at(text, at), "a key of more than 32 parts; write fewer dots"};
    if (static_cast<unsigned char>(c) >= 0x80)
      return TomlRefusal{line_at(text, at),
                         "not valid TOML: a character outside ASCII; put it into quotes or a comment"};
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else {
      at = c == '"' || c == '\'' ? string_end(text, at, refusal) : at + 1;
    }
  }
  return refusal;
}

std::size_t line_of_bad_header(std::string_view text) {
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

}  // namespace regtune
