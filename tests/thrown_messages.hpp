#pragma once
// Every message with which the sources end a run, read from the sources themselves: what is thrown with
// Error(ErrorKind::...), and what is handed to a file's refuse(), with the words that refuse() puts around it. What the
// program fills in stands as "...". A message that hands on what another said is not one of its own.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace regtune {

struct ThrownMessage {
  std::string file;
  bool says_more_itself = false;  // it was handed to refuse(), and no row of a table has to add its cure
  bool is_internal = false;       // a bug of regtune: main() adds how to report it
};

class MessageScan {
 public:
  MessageScan() {
    for (const char* folder : {"db", "tuner", "jit", "inject"})
      for (const auto& entry : std::filesystem::directory_iterator(source_folder() / folder)) {
        const std::string extension = entry.path().extension();
        if (extension != ".cpp" && extension != ".hpp") continue;
        std::string code = code_of(text_of(entry.path()));
        // A line may end behind the parenthesis.
        for (const std::string_view call : {"Error(\n", "refuse(\n", "refuse_launch(\n", "BrokenRule{\n"})
          for (std::size_t at = 0; (at = code.find(call, at)) != std::string::npos;) {
            at += call.size() - 1;
            code.erase(at, code.find_first_not_of(" \n", at) - at);
          }
        files_.push_back({entry.path().filename(), code});
      }
  }

  std::map<std::string, ThrownMessage> scanned() {
    // Their refuse() takes a word, and the sentence around it is all there is to list.
    const std::vector<std::string> by_word = {"json_fields.hpp", "record_json.cpp", "measure_json.cpp",
                                              "tuned_file.cpp"};
    for (const SourceFile& file : files_) {
      const bool frames = std::find(by_word.begin(), by_word.end(), file.name) == by_word.end();
      scan_thrown(file, frames);
      if (frames) scan_refused(file);
      if (frames) scan_found_wrong(file);
    }
    return found_;
  }

 private:
  static constexpr std::string_view kThrown = "Error(ErrorKind::";
  // Fewer letters than these say nothing by themselves: such an error hands on what another said.
  static constexpr int kFewestLetters = 12;

  struct SourceFile {
    std::string name;
    std::string code;
  };

  // The end of the string literal that begins at `at`.
  static std::size_t end_of_literal(const std::string& text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
  }

  // Without comments, raw strings and characters in single quotes, which hold no message.
  static std::string code_of(const std::string& text) {
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
  static std::string pattern_of(const std::string& literal) {
    std::string pattern;
    for (std::size_t i = 0; i < literal.size(); ++i) {
      const std::string two = literal.substr(i, 2);
      if (two == "{{" || two == "}}" || two == "\\\"" || two == "\\\\") {
        pattern += two[1];
        ++i;
      } else if (two == "\\n") {
        pattern += ' ';
        ++i;
      } else if (two == "%s" || two == "%f") {  // Lua's own form of a format
        pattern += "...";
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
  // Of an argument that others follow (`one_of_several`) what stands before the comma.
  static std::string message_at(const std::string& code, std::size_t at, bool one_of_several = false) {
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
      if (one_of_several && depth == 0 && letter == ',') break;
      if (letter == '(' || letter == '[' || letter == '{') ++depth;
      if ((letter == ')' || letter == ']' || letter == '}') && --depth < 0) break;
      gap = gap || any;
    }
    if (!any) return "";
    return pattern_of(message + (gap && !is_format ? "{}" : ""));
  }

  // Where the arguments of the call begin whose parenthesis or brace is behind `at`.
  static std::vector<std::size_t> arguments_at(const std::string& code, std::size_t at) {
    std::vector<std::size_t> begins{at};
    for (int depth = 0; at < code.size();) {
      if (code[at] == '"') {
        at = end_of_literal(code, at);
        continue;
      }
      const char letter = code[at++];
      if (letter == '(' || letter == '[' || letter == '{') ++depth;
      if ((letter == ')' || letter == ']' || letter == '}') && --depth < 0) break;
      if (letter == ',' && depth == 0) begins.push_back(at);
    }
    for (std::size_t& begin : begins) begin = std::min(code.find_first_not_of(" \n", begin), code.size());
    return begins;
  }

  static bool says_something(const std::string& pattern, int fewest) {
    return std::count_if(pattern.begin(), pattern.end(), [](unsigned char c) { return std::isalpha(c); }) >= fewest;
  }

  // A function that puts its words around those it is given: the message is another's, and this is its frame.
  static bool is_definition_of_refuse(const std::string& code, std::size_t thrown) {
    std::size_t before = std::string::npos;
    for (const std::string_view name : {"void refuse(", "void refuse_launch("})
      if (const std::size_t found = code.rfind(name, thrown); found != std::string::npos)
        before = before == std::string::npos ? found : std::max(before, found);
    return before != std::string::npos && code.find("\n}", before) > thrown && code.find("\n  }", before) > thrown;
  }

  static std::string text_between(const std::string& code, std::size_t begin, std::size_t end) {
    const std::size_t last = code.find_last_not_of(", \n", end - 1);
    return code.substr(begin, last + 1 - begin);
  }

  // What the refuse() that is defined at `definition` says of `what`, its last parameter.
  static std::string in_frame(const std::string& code, std::size_t definition, const std::string& what) {
    const std::size_t close = code.find(')', definition);
    const std::string parameter =
        code.substr(code.find_last_of(" &", close) + 1, close - code.find_last_of(" &", close) - 1);
    const std::size_t thrown = code.find(kThrown, definition);
    const std::size_t message = code.find_first_not_of(" \n", code.find(',', thrown) + 1);
    std::string frame = message_at(code, message);
    std::vector<std::size_t> arguments = arguments_at(code, code.find('(', message) + 1);
    arguments.push_back(code.find(");", message));
    std::size_t gap = frame.find("...");
    for (std::size_t i = 1; i + 1 < arguments.size() && gap != std::string::npos; ++i) {
      if (text_between(code, arguments[i], arguments[i + 1]).starts_with(parameter)) return frame.replace(gap, 3, what);
      gap = frame.find("...", gap + 3);
    }
    return what;
  }

  // Said by the refuse() that a file calls: its own, that of its part of the program otherwise.
  static std::string refused(const SourceFile& file, std::size_t call, const std::string& what) {
    constexpr std::string_view kDefinition = "[[noreturn]] void refuse(";
    std::size_t own = file.code.rfind(kDefinition, call);
    if (own == std::string::npos) own = file.code.find(kDefinition, call);  // a member may be used before
    if (own != std::string::npos) return in_frame(file.code, own, what);
    const bool of_database = call > 0 && (file.code[call - 1] == '.' || file.code[call - 1] == '_');
    return (of_database ? "cache ... " : "...: ") + what;
  }

  void keep(const SourceFile& file, const std::string& message, bool says_more_itself, bool is_internal = false) {
    found_[message] = {file.name, says_more_itself, is_internal};
  }

  void scan_thrown(const SourceFile& file, bool frames) {
    for (std::size_t at = 0; (at = file.code.find(kThrown, at)) != std::string::npos; ++at) {
      const std::size_t comma = file.code.find(',', at);
      const std::string kind = file.code.substr(at + kThrown.size(), comma - at - kThrown.size());
      if (kind.find_first_of("() \n") != std::string::npos || (frames && is_definition_of_refuse(file.code, at)))
        continue;
      const std::string message = message_at(file.code, file.code.find_first_not_of(" \n", comma + 1));
      if (says_something(message, kFewestLetters)) keep(file, message, false, kind == "internal");
    }
  }

  // The last argument of refuse() and refuse_launch() is what is said.
  void scan_refused(const SourceFile& file) {
    for (const std::string_view name : {"refuse(", "refuse_launch("})
      for (std::size_t at = 0; (at = file.code.find(name, at)) != std::string::npos; at += name.size()) {
        const std::size_t line = file.code.rfind('\n', at) + 1;
        if (file.code.substr(line, at - line).find("void ") != std::string::npos) continue;
        if (at > 0 && std::isalnum(static_cast<unsigned char>(file.code[at - 1]))) continue;
        const std::string what = message_at(file.code, arguments_at(file.code, at + name.size()).back());
        if (says_something(what, 1)) keep(file, refused(file, at, what), true);
      }
  }

  // What is found wrong in one place and refused in another: the last argument, or the second, behind which Lua takes
  // what the format holds.
  void scan_found_wrong(const SourceFile& file) {
    for (const std::string_view name : {"BrokenRule{", "TomlRefusal{", "luaL_error("})
      for (std::size_t at = 0; (at = file.code.find(name, at)) != std::string::npos; at += name.size()) {
        const std::vector<std::size_t> arguments = arguments_at(file.code, at + name.size());
        if (arguments.size() < 2) continue;
        const std::string what = message_at(file.code, arguments[1], true);
        const bool lua = name.starts_with("luaL");
        if (says_something(what, 1)) keep(file, (lua ? "...: ...: " : "...: ") + what, true);
      }
  }

  std::vector<SourceFile> files_;
  std::map<std::string, ThrownMessage> found_;
};

// By message.
inline const std::map<std::string, ThrownMessage>& thrown_messages() {
  static const std::map<std::string, ThrownMessage> all = MessageScan().scanned();
  return all;
}

}  // namespace regtune
