// docs/errors.md holds every message that the sources throw with Error(ErrorKind::...), with its cure, and no other: a
// new message without an entry fails here, and so does an entry whose message is gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "program.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

// Fewer letters than these say nothing by themselves: such an error hands on what another said.
constexpr int kFewestLetters = 12;

// The end of the string literal that begins at `at`.
std::size_t end_of_literal(const std::string& text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// Without comments, raw strings and characters in single quotes, which hold no message.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "R\"") == 0) {
      const std::size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      i = text.find(close, open) + close.size();
    } else if (text[i] == '"') {
      const std::size_t end = end_of_literal(text, i);
      code += text.substr(i, end - i);
      i = end;
    } else if (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
      for (++i; i < text.size() && text[i] != '\''; ++i)
        if (text[i] == '\\') ++i;
      ++i;
    } else {
      code += text[i++];
    }
  }
  return code;
}

// "cannot be read ({:d}):\n  {}" -> "cannot be read (...): ...".
std::string pattern_of(const std::string& literal) {
  std::string pattern;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    const std::string two = literal.substr(i, 2);
    if (two == "{{" || two == "}}" || two == "\\\"" || two == "\\\\") {
      pattern += two[1];
      ++i;
    } else if (two == "\\n") {
      pattern += ' ';
      ++i;
    } else if (literal[i] == '{') {
      pattern += "...";
      i = literal.find('}', i);
    } else {
      pattern += literal[i];
    }
  }
  std::string squeezed;
  for (const char letter : pattern)
    if (letter != ' ' || (!squeezed.empty() && squeezed.back() != ' ')) squeezed += letter;
  while (!squeezed.empty() && squeezed.back() == ' ') squeezed.pop_back();
  return squeezed;
}

// The literals of the message that begins at `at`, what stands between them as {}: of fmt::format its first argument.
std::string message_at(const std::string& code, std::size_t at) {
  constexpr std::string_view kFormat = "fmt::format(";
  const bool is_format = code.compare(at, kFormat.size(), kFormat) == 0;
  std::string message = is_format || code[at] == '"' ? "" : "{}";
  bool any = false;
  bool in_literal = false;
  bool gap = false;  // since the last literal
  for (int depth = 0; at < code.size();) {
    if (code[at] == '"') {
      const std::size_t end = end_of_literal(code, at);
      if (depth == (is_format ? 1 : 0)) {
        if (any && !in_literal) message += "{}";
        message += code.substr(at + 1, end - at - 2);
        any = in_literal = true;
        gap = false;
      }
      at = end;
      continue;
    }
    const char letter = code[at++];
    if (std::isspace(static_cast<unsigned char>(letter))) continue;
    in_literal = false;
    if (is_format && any) break;
    if (letter == '(' || letter == '[' || letter == '{') ++depth;
    if ((letter == ')' || letter == ']' || letter == '}') && --depth < 0) break;
    gap = gap || any;
  }
  if (!any) return "";
  return pattern_of(message + (gap && !is_format ? "{}" : ""));
}

bool says_something(const std::string& pattern) {
  return std::count_if(pattern.begin(), pattern.end(), [](unsigned char c) { return std::isalpha(c); }) >=
         kFewestLetters;
}

// By message, where it is thrown.
std::map<std::string, std::string> read_thrown_messages() {
  std::map<std::string, std::string> found;
  constexpr std::string_view kThrown = "Error(ErrorKind::";
  for (const char* folder : {"db", "tuner", "jit"})
    for (const auto& entry : fs::directory_iterator(source_folder() / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      std::string code = code_of(text_of(entry.path()));
      // A line may end behind the parenthesis.
      for (std::size_t at = 0; (at = code.find("Error(\n", at)) != std::string::npos;)
        code.erase(at + 6, code.find_first_not_of(" \n", at + 6) - at - 6);
      for (std::size_t at = 0; (at = code.find(kThrown, at)) != std::string::npos; ++at) {
        const std::size_t comma = code.find(',', at);
        const std::string kind = code.substr(at + kThrown.size(), comma - at - kThrown.size());
        if (kind.find_first_of("() \n") != std::string::npos) continue;
        const std::string message = message_at(code, code.find_first_not_of(" \n", comma + 1));
        if (says_something(message)) found[message] = entry.path().filename();
      }
    }
  return found;
}

const std::map<std::string, std::string>& thrown_messages() {
  static const std::map<std::string, std::string> all = read_thrown_messages();
  return all;
}

// The rows of the tables: a message in backquotes, and its cure.
std::map<std::string, std::string> listed_messages() {
  std::map<std::string, std::string> found;
  const std::string text = text_of(source_folder() / "docs/errors.md");
  for (std::size_t at = 0; (at = text.find("\n| `", at)) != std::string::npos;) {
    const std::size_t begin = at + 4;
    const std::size_t end = text.find("` | ", begin);
    found[text.substr(begin, end - begin)] = text.substr(end + 4, text.find(" |\n", end) - end - 4);
    at = end;
  }
  return found;
}

TEST(ErrorList, IsReadFromTheSources) {
  const auto thrown = thrown_messages();
  EXPECT_GT(thrown.size(), 100u);
  EXPECT_TRUE(thrown.contains("...: is not there; name a cache file"));
  EXPECT_TRUE(thrown.contains("cannot start a child process: ...; try fewer --jobs"));
}

TEST(ErrorList, HoldsEveryMessageWithItsCure) {
  const auto listed = listed_messages();
  for (const auto& [message, file] : thrown_messages()) {
    const auto found = listed.find(message);
    EXPECT_TRUE(found != listed.end()) << file
                                       << " throws this message: enter it into docs/errors.md, with what to do:\n"
                                       << message;
    if (found != listed.end()) {
      EXPECT_GE(found->second.size(), 10u) << message;
    }
  }
}

TEST(ErrorList, HoldsNoMessageThatNobodyThrows) {
  const auto thrown = thrown_messages();
  for (const auto& [message, cure] : listed_messages())
    EXPECT_TRUE(thrown.contains(message)) << "docs/errors.md lists what no source throws any more:\n" << message;
}

}  // namespace
}  // namespace regtune
