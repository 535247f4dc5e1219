#include "source_scan.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace regtune {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return is_word_start(c) || is_digit(c);
}

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Splits the text. `at` only moves forward, and every look ahead is bounded or ends a token: linear.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    bool line_start = true;
    while (skip_blanks(line_start)) {
      const std::size_t begin = at_;
      const int line = line_;
      TokenKind kind = TokenKind::directive;
      if (line_start && text_[at_] == '#') {
        skip_directive();
      } else {
        kind = skip_token();
      }
      // A comment before a # leaves it the first thing on its line.
      if (kind != TokenKind::comment) line_start = false;
      count_lines();
      tokens.push_back({kind, begin, at_ - begin, line});
    }
    return tokens;
  }

 private:
  char peek(std::size_t where) const { return where < text_.size() ? text_[where] : '\0'; }

  // The bytes of a line continuation that begins at `where`: backslash, newline.
  std::size_t splice(std::size_t where) const {
    if (peek(where) != '\\') return 0;
    if (peek(where + 1) == '\n') return 2;
    return peek(where + 1) == '\r' && peek(where + 2) == '\n' ? 3 : 0;
  }
  std::size_t past_splices(std::size_t where) const {
    while (const std::size_t length = splice(where)) where += length;
    return where;
  }

  void count_lines() {
    for (; counted_ < at_; ++counted_) {
      if (text_[counted_] == '\n' && line_ < std::numeric_limits<int>::max()) ++line_;
    }
  }

  bool skip_blanks(bool& line_start) {
    for (; at_ < text_.size(); ++at_) {
      at_ = past_splices(at_);
      const char c = peek(at_);
      if (c == '\n') line_start = true;
      if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f' && c != '\0') break;
    }
    at_ = std::min(at_, text_.size());
    count_lines();
    return at_ < text_.size();
  }

  void skip_directive() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      at_ = past_splices(at_);
      if (at_ >= text_.size() || text_[at_] == '\n') break;
      skip_token();
    }
  }

  TokenKind skip_token() {
    const char c = text_[at_];
    const std::size_t next = past_splices(at_ + 1);
    if (c == '/' && peek(next) == '/') return skip_line_comment(next + 1);
    if (c == '/' && peek(next) == '*') return skip_block_comment(next + 1);
    if (c == '"' || c == '\'') return skip_quoted(c);
    if (is_digit(c) || (c == '.' && is_digit(peek(next)))) return skip_number();
    if (is_word_start(c)) return skip_word();
    ++at_;
    return TokenKind::punctuation;
  }

  TokenKind skip_line_comment(std::size_t from) {
    at_ = from;
    while (at_ < text_.size() && text_[at_] != '\n') at_ += std::max<std::size_t>(splice(at_), 1);
    return TokenKind::comment;
  }

  TokenKind skip_block_comment(std::size_t from) {
    const std::size_t close = text_.find("*/", from);
    at_ = close == std::string_view::npos ? text_.size() : close + 2;
    return TokenKind::comment;
  }

  TokenKind skip_quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (const std::size_t length = splice(at_)) {
        at_ += length - 1;
      } else if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == quote) {
        ++at_;
        break;
      }
    }
    at_ = std::min(at_, text_.size());
    return quote == '"' ? TokenKind::string : TokenKind::character;
  }

  TokenKind skip_number() {
    char before = '\0';
    while (at_ < text_.size()) {
      at_ = past_splices(at_);
      const char c = peek(at_);
      const bool sign = (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator = c == '\'' && is_word(before) && is_word(peek(at_ + 1));
      if (!is_word(c) && c != '.' && !sign && !separator) break;
      before = c;
      ++at_;
    }
    return TokenKind::number;
  }

  TokenKind skip_word() {
    std::string word;  // only as much of it as a string's prefix may have
    while (at_ < text_.size()) {
      at_ = past_splices(at_);
      if (!is_word(peek(at_))) break;
      if (word.size() < 4) word += text_[at_];
      ++at_;
    }
    static constexpr std::array<std::string_view, 5> raw = {"R", "u8R", "uR", "UR", "LR"};
    static constexpr std::array<std::string_view, 4> plain = {"u8", "u", "U", "L"};
    const char quote = peek(at_);
    if (quote == '"' && is_one_of(word, raw)) return skip_raw_string();
    if ((quote == '"' || quote == '\'') && is_one_of(word, plain)) return skip_quoted(quote);
    return TokenKind::identifier;
  }

  TokenKind skip_raw_string() {
    constexpr std::size_t longest_delimiter = 16;  // [lex.string]
    const std::size_t first = at_ + 1;
    std::size_t open = first;
    while (open < text_.size() && open - first <= longest_delimiter && text_[open] != '(' && text_[open] != '"' &&
           text_[open] != '\n') {
      ++open;
    }
    if (peek(open) != '(') return skip_quoted('"');
    const std::string close = ")" + std::string(text_.substr(first, open - first)) + "\"";
    const std::size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
    return TokenKind::string;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  int line_ = 1;
};

// Finds the declarations. Only tokens of the language itself are kept, so that a comment or a directive may
// stand anywhere. No step that starts at one __global__ reads past the next one, which keeps it linear.
class KernelScanner {
 public:
  explicit KernelScanner(std::string_view text) : text_(text) {
    for (const Token& token : tokenize(text)) {
      if (token.kind == TokenKind::comment || token.kind == TokenKind::directive) continue;
      tokens_.push_back(token);
    }
    words_.reserve(tokens_.size());
    for (const Token& token : tokens_) {
      const bool word = token.kind == TokenKind::identifier;
      words_.push_back(word ? spelling(text, token) : std::string());
    }
    match_brackets();
  }

  std::vector<ScannedKernel> run() {
    std::vector<ScannedKernel> kernels;
    std::vector<bool> extern_c = {false};  // one entry per open brace
    std::size_t start = 0;                 // of the declaration at hand
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is(i, '{')) {
        const bool linkage = i >= 2 && tokens_[i - 1].kind == TokenKind::string && words_[i - 2] == "extern";
        extern_c.push_back(linkage || extern_c.back());
      }
      if (is(i, '}') && extern_c.size() > 1) extern_c.pop_back();
      if (is(i, '{') || is(i, '}') || is(i, ';')) start = i + 1;
      if (words_[i] != "__global__") continue;
      if (auto kernel = declaration(start, i)) {
        kernel->is_extern_c = kernel->is_extern_c || extern_c.back();
        kernels.push_back(std::move(*kernel));
      }
      start = i + 1;
    }
    return kernels;
  }

 private:
  bool is(std::size_t i, char c) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::punctuation && text_[tokens_[i].offset] == c;
  }
  bool is_word_at(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == TokenKind::identifier; }

  // match_[i] is the closing partner of an opening (, [ or <, or tokens_.size() where it has none. A semicolon or
  // a kernel inside means that it was never closed. A < opens only after a name, and gives way to a closing ).
  void match_brackets() {
    match_.assign(tokens_.size(), tokens_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is(i, ';') || words_[i] == "__global__") open.clear();
      if (is(i, '(') || is(i, '[') || (is(i, '<') && i > 0 && is_word_at(i - 1))) open.push_back(i);
      if (is(i, '>') && !open.empty() && is(open.back(), '<') && !is(i - 1, '-')) {
        match_[open.back()] = i;
        open.pop_back();
      }
      if (!is(i, ')') && !is(i, ']')) continue;
      while (!open.empty() && is(open.back(), '<')) open.pop_back();
      if (open.empty()) continue;
      if (is(open.back(), is(i, ')') ? '(' : '[')) match_[open.back()] = i;
      open.pop_back();
    }
  }

  // Past the balanced (...), [...] or <...> that opens at i; i itself where nothing opens or nothing closes it.
  std::size_t past_group(std::size_t i) const {
    return i < tokens_.size() && match_[i] < tokens_.size() ? match_[i] + 1 : i;
  }
  std::size_t next(std::size_t i) const { return std::max(past_group(i), i + 1); }
  std::size_t past_angles(std::size_t i) const { return is(i, '<') ? past_group(i) : i; }

  std::string joined(std::size_t first, std::size_t last) const { return join_tokens(text_, tokens_, first, last); }

  // The token after the attribute that begins at i; i where there is none.
  std::size_t past_attribute(std::size_t i) const {
    static constexpr std::array<std::string_view, 11> names = {
        "__launch_bounds__", "__maxnreg__", "__block_size__", "__cluster_dims__", "__attribute__", "__attribute",
        "__declspec",        "alignas",     "decltype",       "noexcept",         "requires"};
    if (is(i, '[') && is(i + 1, '[')) return past_group(i);
    if (!is_word_at(i) || !is_one_of(words_[i], names)) return i;
    return is(i + 1, '(') ? past_group(i + 1) : i + 1;
  }

  // Keeps what the attribute at i says of the launch.
  void note_attribute(std::size_t i, ScannedKernel& kernel) const {
    std::string* const kept = words_[i] == "__launch_bounds__" ? &kernel.launch_bounds
                              : words_[i] == "__maxnreg__"     ? &kernel.max_registers
                              : words_[i] == "__block_size__"  ? &kernel.block_size
                                                               : nullptr;
    if (kept != nullptr && is(i + 1, '(') && past_group(i + 1) != i + 1) *kept = joined(i + 2, match_[i + 1]);
  }

  // True where tokens [first, last) read as declarations of parameters and not as a macro's arguments: the
  // first of them is more than one word and no arithmetic.
  bool reads_as_parameters(std::size_t first, std::size_t last) const {
    if (first == last) return true;
    if (!is_word_at(first) && !is(first, '[') && !is(first, ':')) return false;
    std::size_t i = first;
    for (; i < last && !is(i, ',') && !is(i, '='); i = next(i)) {
      if (tokens_[i].kind == TokenKind::number || tokens_[i].kind == TokenKind::string) return false;
    }
    return i - first >= 2 || words_[first] == "void";
  }

  struct Declarator {
    std::size_t name_begin = 0;
    std::size_t name_end = 0;
    std::size_t open = 0;  // the parenthesis of the parameters
  };

  bool ends_declaration(std::size_t i) const {
    return is(i, ';') || is(i, '{') || is(i, '}') || words_[i] == "__global__";
  }

  // The name and the parameters: the first "name (...)" that is no attribute. One that a word follows may be an
  // unknown macro, in front of the name or after the parameters: then what is inside it decides.
  std::optional<Declarator> declarator(std::size_t from, ScannedKernel& kernel) const {
    std::optional<Declarator> doubtful;
    for (std::size_t i = from; i < tokens_.size() && !ends_declaration(i);) {
      if (const std::size_t past = past_attribute(i); past != i) {
        note_attribute(i, kernel);
        i = past;
        continue;
      }
      const std::size_t open = past_angles(i + 1);  // of a specialisation: "f<float>(...)"
      const std::size_t past = past_group(open);
      if (!is_word_at(i) || !is(open, '(') || past == open) {
        i = next(i);
        continue;
      }
      if (is(past, '(') && past_group(past) != past) return Declarator{i, past, past};  // NAME(f)(int n)
      const Declarator found{i, i + 1, open};
      const bool word_follows = is_word_at(past) && past_attribute(past) == past;
      if (!word_follows || (words_[past] != "void" && reads_as_parameters(open + 1, past - 1))) return found;
      if (!doubtful) doubtful = found;
      i = past;
    }
    return doubtful;
  }

  std::optional<ScannedKernel> declaration(std::size_t start, std::size_t global) const {
    ScannedKernel kernel;
    for (std::size_t i = start; i < global; i = next(i)) {
      if (words_[i] == "template") kernel.is_template = true;
      if (words_[i] == "extern" && tokens_[i + 1].kind == TokenKind::string) kernel.is_extern_c = true;
      note_attribute(i, kernel);
    }
    const auto found = declarator(global + 1, kernel);
    if (!found) return std::nullopt;
    const std::size_t close = match_[found->open];
    kernel.name = joined(found->name_begin, found->name_end);
    kernel.parameters = parameters(found->open + 1, close);
    kernel.line = tokens_[global].line;
    kernel.begin = tokens_[start].offset;
    std::size_t end = close + 1;
    while (end < tokens_.size() && !ends_declaration(end)) {
      note_attribute(end, kernel);
      end = next(end);
    }
    kernel.is_definition = is(end, '{');
    if (kernel.is_definition) kernel.body = tokens_[end].offset + 1;
    const Token& last = tokens_[std::min(end, tokens_.size()) - 1];
    kernel.end = last.offset + last.length;
    return kernel;
  }

  std::vector<ScannedParameter> parameters(std::size_t first, std::size_t last) const {
    std::vector<ScannedParameter> found;
    if (first == last || (last - first == 1 && words_[first] == "void")) return found;
    std::size_t begin = first;
    std::size_t end = last;  // of what stands before a default value
    for (std::size_t i = first; i < last; i = next(i)) {
      if (is(i, '=') && end == last) end = i;
      if (!is(i, ',')) continue;
      found.push_back(parameter(begin, std::min(end, i)));
      begin = i + 1;
      end = last;
    }
    found.push_back(parameter(begin, end));
    return found;
  }

  ScannedParameter parameter(std::size_t first, std::size_t last) const {
    static constexpr std::array<std::string_view, 8> dropped = {"restrict",          "__restrict__", "__restrict",
                                                                "__grid_constant__", "alignas",      "__align__",
                                                                "__attribute__",     "register"};
    static constexpr std::array<std::string_view, 7> qualifiers = {"const", "volatile", "struct",  "class",
                                                                   "enum",  "union",    "typename"};
    static constexpr std::array<std::string_view, 11> basic = {"unsigned", "signed", "long", "short", "int", "char",
                                                               "float",    "double", "bool", "void",  "auto"};
    std::vector<Token> kept;
    std::optional<std::size_t> name;
    bool has_type = false;
    bool array = false;
    for (std::size_t i = first; i < last; i = next(i)) {
      const std::string_view before = i > first ? words_[i - 1] : std::string_view();
      if (is(i, '[') || (is(i, '(') && is_one_of(before, dropped))) {
        array = array || (is(i, '[') && !is(i + 1, '['));
        continue;
      }
      if (is_word_at(i) && is_one_of(words_[i], dropped)) continue;
      const std::size_t end = std::min(next(i), last);
      kept.insert(kept.end(), tokens_.begin() + static_cast<std::ptrdiff_t>(i),
                  tokens_.begin() + static_cast<std::ptrdiff_t>(end));
      // "(*f)(int)" and "(&a)[4]" hold their name inside.
      if (is(i, '(') && (is(i + 1, '*') || is(i + 1, '&')) && is_word_at(end - 2)) name = end - 2;
      if (!is_word_at(i) || is_one_of(words_[i], qualifiers)) continue;
      const bool qualified = i > first && is(i - 1, ':');
      if (has_type && !qualified && !is_one_of(words_[i], basic)) name = i;
      has_type = true;
    }
    ScannedParameter found;
    if (name) {
      found.name = words_[*name];
      std::erase_if(kept, [&](const Token& token) { return token.offset == tokens_[*name].offset; });
    }
    found.type = join_tokens(text_, kept, 0, kept.size());
    if (array) found.type += " *";
    return found;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::string> words_;  // of identifiers; empty for the rest
  std::vector<std::size_t> match_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  return Lexer(text).run();
}

std::string spelling(std::string_view text, const Token& token) {
  const std::string_view raw = text.substr(token.offset, token.length);
  std::string result;
  result.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 1 < raw.size() && raw[i + 1] == '\n') {
      ++i;
    } else if (raw[i] == '\\' && i + 2 < raw.size() && raw[i + 1] == '\r' && raw[i + 2] == '\n') {
      i += 2;
    } else {
      result += raw[i];
    }
  }
  return result;
}

std::string join_tokens(std::string_view text, const std::vector<Token>& tokens, std::size_t first, std::size_t last) {
  std::string result;
  for (std::size_t i = first; i < std::min(last, tokens.size()); ++i) {
    const std::string next = spelling(text, tokens[i]);
    if (!result.empty() && !next.empty()) {
      const char before = result.back();
      const bool words = is_word(before) && is_word(next.front());
      const bool declarator = (is_word(before) || before == '>') && (next == "*" || next == "&");
      const bool closed = (before == '>' || before == '*' || before == '&') && is_word_start(next.front());
      if (words || declarator || closed || before == ',') result += ' ';
    }
    result += next;
  }
  return result;
}

std::vector<ScannedKernel> scan_kernels(std::string_view text) {
  return KernelScanner(text).run();
}

}  // namespace regtune
