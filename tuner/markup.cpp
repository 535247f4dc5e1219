#include "markup.hpp"

#include <cstdint>

namespace regtune {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return {};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(at + i) & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes, true};
}

bool is_shown(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n';
  if (code >= 0x7f && code <= 0x9f) return false;
  const bool turns_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                               code == 0x200e || code == 0x200f || code == 0x061c;
  return !turns_direction && (code & 0xfffe) != 0xfffe;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    if (!next.valid || !is_shown(next.code))
      escaped += kReplacement;
    else if (next.code == '&')
      escaped += "&amp;";
    else if (next.code == '<')
      escaped += "&lt;";
    else if (next.code == '>')
      escaped += "&gt;";
    else if (next.code == '"')
      escaped += "&quot;";
    else if (next.code == '\'')
      escaped += "&#39;";
    else
      escaped += text.substr(at, next.bytes);
    at += next.bytes;
  }
  return escaped;
}

std::size_t characters_of(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) ++count;
  return count;
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t count = 0;
  std::size_t end_of_short = 0;  // of one character less, which the ellipsis takes
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) {
    if (count + 1 == most) end_of_short = at;
    if (count == most) return std::string(text.substr(0, end_of_short)) + "\u2026";
    ++count;
  }
  return std::string(text);
}

}  // namespace regtune
