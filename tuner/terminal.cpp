#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace regtune {
namespace {

constexpr std::size_t kIndent = 4;  // of the rest of a broken line

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool begins_a_letter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

// Where the rest of a line begins: below what stands behind a label and two blanks or more ("ok NVRTC      13.0"), and
// behind an arrow there, as long as half of the line is left.
std::size_t rest_indent(const std::string& line, int columns) {
  constexpr std::size_t kFurthest = 24;
  std::size_t indent = kIndent;
  for (std::size_t blanks = 0, at = 0; at < std::min(line.size(), kFurthest); ++at) {
    if (line[at] != ' ' && blanks >= 2) indent = at;
    blanks = line[at] == ' ' ? blanks + 1 : 0;
  }
  if (line.find("-> ") == indent) indent += 3;
  return 2 * indent > static_cast<std::size_t>(columns) ? kIndent : indent;
}

}  // namespace

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1;
}

int terminal_columns(int descriptor) {
  const std::string_view told = variable("COLUMNS");
  int columns = 0;
  if (std::from_chars(told.data(), told.data() + told.size(), columns).ec == std::errc() && columns > 0) return columns;
  winsize size{};
  if (!is_terminal(descriptor)) return 0;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool is_utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(variable(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

bool redraws_lines(int descriptor) {
  return is_terminal(descriptor) && variable("TERM") != "dumb";
}

bool shows_color(int descriptor) {
  return redraws_lines(descriptor) && variable("NO_COLOR").empty();
}

std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_a_letter));
}

std::string cut_to(const std::string& text, std::size_t columns, bool utf8) {
  if (columns_of(text) <= columns) return text;
  const std::string dots = utf8 ? "\u2026" : "...";
  const std::size_t room = columns - std::min(columns, columns_of(dots));
  std::size_t shown = 0;
  std::size_t end = 0;
  while (end < text.size() && (shown < room || !begins_a_letter(text[end]))) {
    shown += begins_a_letter(text[end]) ? 1 : 0;
    if (shown > room) break;
    ++end;
  }
  while (end < text.size() && !begins_a_letter(text[end])) ++end;
  return columns < columns_of(dots) ? text.substr(0, columns) : text.substr(0, end) + dots;
}

std::string fitted(const std::string& text, int columns) {
  if (columns <= static_cast<int>(2 * kIndent)) return text;
  std::string fitted;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string indent(rest_indent(line, columns), ' ');
    while (columns_of(line) > static_cast<std::size_t>(columns) && line.find('\x1b') == std::string::npos) {
      // Where bytes are more than columns this looks further back than it must.
      const std::size_t space = line.rfind(' ', static_cast<std::size_t>(columns));
      if (space == std::string::npos || line.find_first_not_of(' ') > space) break;
      fitted += line.substr(0, space) + "\n";
      line = indent + line.substr(std::min(line.find_first_not_of(' ', space), line.size()));
    }
    fitted += line;
    if (end < text.size()) fitted += "\n";
  }
  return fitted;
}

}  // namespace regtune
