#include "source_items.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "source_scan.hpp"

namespace regtune {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Words whose parentheses belong to an attribute and not to a function.
constexpr std::array<std::string_view, 12> kAttributes = {
    "__launch_bounds__", "__maxnreg__", "__block_size__", "__cluster_dims__", "__attribute__", "__attribute",
    "__declspec",        "alignas",     "__align__",      "decltype",         "noexcept",      "requires"};
constexpr std::array<std::string_view, 4> kTypeWords = {"class", "struct", "union", "enum"};
constexpr int kMostNesting = 200;
constexpr std::size_t kMostCallTokens = 2000;

// The directive without blanks after its #: "include<a.h>", "define N 4".
std::string directive_text(std::string_view text, const Token& token) {
  std::string written = spelling(text, token);
  const auto first = written.find_first_not_of(" \t", 1);
  return first == std::string::npos ? "" : written.substr(first);
}

class ItemReader {
 public:
  explicit ItemReader(std::string_view text) : text_(text) {
    for (Token& token : tokenize(text))
      if (token.kind != TokenKind::comment) tokens_.push_back(token);
    for (const Token& token : tokens_)
      words_.push_back(token.kind == TokenKind::identifier ? spelling(text, token) : std::string());
    match_braces();
  }

  SourceItems run() {
    read_scope(0, tokens_.size(), -1, 0);
    for (std::size_t i = 0; i < tokens_.size(); ++i) note_call(i);
    for (const Token& token : tokens_)
      if (token.kind == TokenKind::directive) note_directive(token);
    return std::move(found_);
  }

 private:
  bool is(std::size_t i, char c) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::punctuation && text_[tokens_[i].offset] == c;
  }
  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == TokenKind::identifier; }
  std::size_t end_of(std::size_t i) const { return tokens_[i].offset + tokens_[i].length; }

  // close_[i] is the closing partner of an opening bracket. The branches of an #if each begin at the depth that the #if
  // stands at, so that two heads of one function, one in each branch, do not count twice.
  void match_braces() {
    close_.assign(tokens_.size(), tokens_.size());
    std::vector<std::size_t> open;
    std::vector<std::vector<std::size_t>> conditions;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind == TokenKind::directive) {
        const std::string directive = directive_text(text_, tokens_[i]);
        if (directive.starts_with("if") && conditions.size() < kMostNesting) conditions.push_back(open);
        if (directive.starts_with("el") && !conditions.empty()) open = conditions.back();
        if (directive.starts_with("endif") && !conditions.empty()) conditions.pop_back();
      }
      if (is(i, '{') || is(i, '(') || is(i, '[')) open.push_back(i);
      if (!is(i, '}') && !is(i, ')') && !is(i, ']')) continue;
      const char opener = is(i, '}') ? '{' : is(i, ')') ? '(' : '[';
      // A brace closes what was left open inside it.
      while (opener == '{' && !open.empty() && !is(open.back(), '{')) open.pop_back();
      if (open.empty() || !is(open.back(), opener)) continue;
      if (close_[open.back()] == tokens_.size()) close_[open.back()] = i;
      open.pop_back();
    }
  }
  std::size_t past_group(std::size_t i) const { return close_[i] < tokens_.size() ? close_[i] + 1 : i + 1; }

  // Past the <...> that opens at i; i itself where nothing closes it.
  std::size_t past_angles(std::size_t i, std::size_t end) const {
    int depth = 0;
    for (std::size_t at = i; at < end;) {
      if (is(at, ';') || is(at, '{') || is(at, '}')) return i;
      if (is(at, '<')) ++depth;
      if (is(at, '>') && !is(at - 1, '-') && --depth == 0) return at + 1;
      at = is(at, '(') || is(at, '[') ? past_group(at) : at + 1;
    }
    return i;
  }

  void read_scope(std::size_t i, std::size_t end, int parent, int nesting) {
    while (i < end) {
      const bool label = parent >= 0 && is_word(i) && is(i + 1, ':') && !is(i + 2, ':');
      if (tokens_[i].kind == TokenKind::directive || is(i, '}') || is(i, ';'))
        ++i;
      else
        i = label ? i + 2 : read_item(i, end, parent, nesting);
    }
  }

  // What is known of the item at hand.
  struct Head {
    bool global = false, device = false, host = false, is_type = false, is_enum = false, assigned = false;
    std::size_t type_word = 0;
    std::size_t name = 0;  // before the parameters; 0: there are none
    std::size_t parameters = 0;
    std::size_t type_body = 0;
    std::size_t body = 0;
    bool is_operator = false;
    std::vector<TemplateParameter> template_parameters;
  };

  void note_word(std::size_t i, Head& head) const {
    const std::string& word = words_[i];
    head.global = head.global || word == "__global__";
    head.device =
        head.device || word == "__device__" || word == "__constant__" || word == "__managed__" || word == "__shared__";
    head.host = head.host || word == "__host__";
    head.is_operator = head.is_operator || word == "operator";
    if (head.type_word == 0 && head.parameters == 0 && is_one_of(word, kTypeWords)) {
      head.type_word = i + 1;
      head.is_enum = word == "enum";
    }
  }

  void note_parameters(std::size_t open, std::size_t first, Head& head) const {
    if (head.parameters != 0 || open == first) return;
    std::size_t name = open - 1;
    if (is(name, '>'))
      for (int depth = 0; name > first; --name) {
        if (is(name, '>')) ++depth;
        if (is(name, '<') && --depth == 0) {
          --name;
          break;
        }
      }
    head.parameters = open;
    head.name = name;
  }

  // True where the brace at i opens a namespace or a block of extern "C".
  bool opens_scope(std::size_t first, std::size_t i) const {
    if (words_[first] == "namespace" || (words_[first] == "inline" && words_[first + 1] == "namespace")) return true;
    return i == first + 2 && words_[first] == "extern" && tokens_[first + 1].kind == TokenKind::string;
  }

  // The namespace whose words begin at `first` and whose brace is at `brace`.
  void enter_scope(std::size_t first, std::size_t brace) {
    std::string name = scope_at(first);
    const bool is_namespace = words_[first] == "namespace";  // an inline one need not be named
    for (std::size_t i = first; is_namespace && i < brace; ++i)
      if (is_word(i) && words_[i] != "namespace" && words_[i] != "inline")
        name += (name.empty() ? "" : "::") + words_[i];
    scopes_.emplace_back(close_[brace], std::move(name));
  }
  std::string scope_at(std::size_t i) {
    while (!scopes_.empty() && scopes_.back().first < i) scopes_.pop_back();
    return scopes_.empty() ? std::string() : scopes_.back().second;
  }

  // The body of a function that one branch of an #if only declares: "; #else {". 0: there is none.
  std::size_t other_branch_body(std::size_t i) const {
    std::size_t at = i;
    while (at < tokens_.size() && tokens_[at].kind == TokenKind::directive) ++at;
    const bool other = at > i && directive_text(text_, tokens_[i]).starts_with("el");
    return other && is(at, '{') ? at : 0;
  }

  // Reads the item that begins at `first` and returns the token behind it.
  std::size_t read_item(std::size_t first, std::size_t end, int parent, int nesting) {
    Head head;
    std::size_t i = first;
    while (words_[i] == "template" && is(i + 1, '<') && past_angles(i + 1, end) != i + 1) {
      const std::size_t past = past_angles(i + 1, end);
      head.template_parameters = template_parameters(i + 2, past - 1);
      i = past;
    }
    while (i < end) {
      if (is_word(i)) {
        note_word(i, head);
        if (is_one_of(words_[i], kAttributes) && is(i + 1, '(')) {
          i = past_group(i + 1);
          continue;
        }
      }
      if (is(i, '=') && !(head.is_operator && head.parameters == 0)) head.assigned = true;
      if (is(i, ';')) {
        const std::size_t other = other_branch_body(i + 1);
        if (head.parameters == 0 || other == 0) return keep(first, i + 1, parent, nesting, head);
        head.body = other;
        return keep(first, past_group(other), parent, nesting, head);
      }
      if (is(i, '}')) return keep(first, i, parent, nesting, head);
      if (is(i, '(')) {
        // "operator()" is a name.
        const bool call_operator = words_[i - (i > first ? 1 : 0)] == "operator";
        if (!head.assigned && !call_operator) note_parameters(i, first, head);
        i = past_group(i);
        continue;
      }
      if (is(i, ':') && head.parameters != 0 && head.body == 0 && !is(i + 1, ':') && !is(i - 1, ':')) head.body = i;
      if (!is(i, '{')) {
        i = is(i, '[') ? past_group(i) : i + 1;
        continue;
      }
      if (opens_scope(first, i)) {
        enter_scope(first, i);
        return i + 1;
      }
      const std::size_t past = past_group(i);
      const bool is_function = head.parameters != 0 && !head.assigned;
      if (is_function && !is(past, ',') && !is(past, '{')) {
        if (head.body == 0) head.body = i;
        return keep(first, past, parent, nesting, head);
      }
      if (!is_function && head.type_word != 0 && head.type_body == 0) head.type_body = i;
      i = past;
    }
    return keep(first, end, parent, nesting, head);
  }

  std::size_t keep(std::size_t first, std::size_t past, int parent, int nesting, const Head& head) {
    if (past <= first) return first + 1;
    const bool is_function = head.parameters != 0 && head.type_body == 0;
    if (parent >= 0 && !is_function) return past;  // data members are their class's own
    SourceItem item;
    item.kind = head.global      ? ItemKind::kernel
                : head.device    ? ItemKind::device
                : head.host      ? ItemKind::host_only
                : is_function    ? ItemKind::function
                : head.type_word ? ItemKind::type
                                 : ItemKind::other;
    item.begin = tokens_[first].offset;
    item.end = end_of(past - 1);
    item.line = tokens_[first].line;
    const std::string_view written = text_.substr(item.begin, item.end - item.begin);
    item.last_line = item.line + static_cast<int>(std::count(written.begin(), written.end(), '\n'));
    item.parent = parent;
    item.scope = scope_at(first);
    item.is_operator = head.is_operator;
    item.template_parameters = head.template_parameters;
    if (head.body != 0) item.body = tokens_[head.body].offset;
    if (is_function && !head.template_parameters.empty() && close_[head.parameters] < past)
      for (const auto& [begin, end] : list(head.parameters + 1, close_[head.parameters]))
        item.parameters.push_back(join_tokens(text_, tokens_, begin, end));
    name_item(item, first, past, head);
    std::set<std::string> uses;
    for (std::size_t i = first; i < past; ++i) {
      add_uses(i, uses);
      // Whoever launches kernels and has no qualifier is the host's, even where a kernel is called the same.
      const bool launches = is(i, '<') && is(i + 1, '<') && is(i + 2, '<');
      if (launches && item.kind == ItemKind::function) item.kind = ItemKind::host_only;
    }
    item.uses.assign(uses.begin(), uses.end());
    found_.items.push_back(std::move(item));
    const auto index = static_cast<int>(found_.items.size()) - 1;
    if (head.type_body != 0 && !head.is_enum && nesting < kMostNesting && close_[head.type_body] < past)
      read_scope(head.type_body + 1, close_[head.type_body], index, nesting + 1);
    return past;
  }

  void add_uses(std::size_t i, std::set<std::string>& uses) const {
    if (is_word(i)) uses.insert(words_[i]);
    if (tokens_[i].kind != TokenKind::directive) return;
    const std::string directive = directive_text(text_, tokens_[i]);
    for (const Token& token : tokenize(directive))
      if (token.kind == TokenKind::identifier) uses.insert(spelling(directive, token));
  }

  void name_item(SourceItem& item, std::size_t first, std::size_t past, const Head& head) const {
    if (head.parameters != 0 && head.type_body == 0) {
      if (is_word(head.name)) item.names.push_back(words_[head.name]);
      // "typedef float (*function)(int)": the name stands inside the first parentheses.
      const std::size_t inner = past_group(head.parameters) - 2;
      if (is(head.parameters + 1, '*') && is_word(inner)) item.names.push_back(words_[inner]);
      return;
    }
    if (head.type_word != 0)
      for (std::size_t i = head.type_word; i < past && !is(i, '{') && !is(i, ';'); ++i)
        if (is_word(i) && !is_one_of(words_[i], kAttributes) && !is_one_of(words_[i], kTypeWords)) {
          item.names.push_back(words_[i]);
          break;
        }
    for (std::size_t i = first; i < past;) {
      const bool ends_name = is(i + 1, '=') || is(i + 1, '[') || is(i + 1, ';') || is(i + 1, ',') || is(i + 1, '{') ||
                             is(i + 1, ':') || is(i + 1, ')') || is(i + 1, '}');
      if (is_word(i) && ends_name) item.names.push_back(words_[i]);
      i = is(i, '{') && !head.is_enum ? past_group(i) : i + 1;
    }
  }

  void note_directive(const Token& token) {
    const std::string directive = directive_text(text_, token);
    const std::size_t end = token.offset + token.length;
    if (directive.starts_with("pragma") && directive.find("once") != std::string::npos)
      found_.pragma_once.push_back(token.offset);
    if (directive.starts_with("el") || directive.starts_with("endif")) {
      const std::string_view written = text_.substr(token.offset, token.length);
      found_.branch_ends.push_back(
          {end, token.line + static_cast<int>(std::count(written.begin(), written.end(), '\n')) + 1});
    }
    if (directive.starts_with("include")) {
      const auto open = directive.find_first_of("\"<", 7);
      if (open == std::string::npos) return;
      const auto close = directive.find(directive[open] == '"' ? '"' : '>', open + 1);
      if (close == std::string::npos) return;
      found_.includes.push_back(
          {token.offset, end, token.line, directive.substr(open + 1, close - open - 1), directive[open] == '"'});
    }
    if (!directive.starts_with("define")) return;
    SourceItem item;
    item.kind = ItemKind::macro;
    item.begin = token.offset;
    item.end = end;
    item.line = item.last_line = token.line;
    for (const Token& part : tokenize(std::string_view(directive).substr(6)))
      if (part.kind == TokenKind::identifier)
        (item.names.empty() ? item.names : item.uses).push_back(spelling(std::string_view(directive).substr(6), part));
    if (!item.names.empty()) found_.items.push_back(std::move(item));
  }

  // What stands between commas at the outermost level of tokens [first, last).
  std::vector<std::pair<std::size_t, std::size_t>> list(std::size_t first, std::size_t last) const {
    std::vector<std::pair<std::size_t, std::size_t>> pieces;
    std::size_t begin = first;
    for (std::size_t i = first; i < last;) {
      if (is(i, ',')) {
        pieces.emplace_back(begin, i);
        begin = i + 1;
      }
      const std::size_t past = is(i, '<') && i > first && is_word(i - 1) ? past_angles(i, last) : i;
      i = past != i ? past : is(i, '(') || is(i, '[') || is(i, '{') ? past_group(i) : i + 1;
    }
    if (begin < last) pieces.emplace_back(begin, last);
    return pieces;
  }

  std::vector<TemplateParameter> template_parameters(std::size_t first, std::size_t last) const {
    std::vector<TemplateParameter> parameters;
    for (const auto& [begin, end] : list(first, last)) {
      std::size_t past = begin;
      while (past < end && !is(past, '=')) ++past;
      if (past == begin) continue;
      TemplateParameter parameter;
      parameter.has_default = past < end;
      const bool named = past - begin > 1 && is_word(past - 1);
      if (named) parameter.name = words_[past - 1];
      parameter.type = join_tokens(text_, tokens_, begin, named ? past - 1 : past);
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  }

  bool opens_launch(std::size_t i) const { return is(i, '<') && is(i + 1, '<') && is(i + 2, '<'); }

  void note_call(std::size_t i) {
    if (opens_launch(i)) found_.launches = true;
    if (!is_word(i)) return;
    SourceCall call{words_[i], {}, {}, tokens_[i].offset, false};
    std::size_t at = i + 1;
    if (is(at, '<') && !opens_launch(at)) {
      const std::size_t past = past_angles(at, std::min(tokens_.size(), i + 200));
      if (past == at) return;
      for (const auto& [begin, end] : list(at + 1, past - 1))
        call.arguments.push_back(join_tokens(text_, tokens_, begin, end));
      at = past;
    }
    if (opens_launch(at)) {
      call.is_launch = true;
      at = past_launch_shape(at);
    } else if (!is(at, '(')) {
      return;
    }
    if (is(at, '(') && close_[at] < std::min(tokens_.size(), at + kMostCallTokens))
      for (const auto& [begin, end] : list(at + 1, close_[at]))
        call.values.emplace_back(tokens_[begin].offset, begin < end ? end_of(end - 1) : tokens_[begin].offset);
    found_.calls.push_back(std::move(call));
  }

  // Past the "<<<grid, block>>>" that opens at i.
  std::size_t past_launch_shape(std::size_t i) const {
    const std::size_t end = std::min(tokens_.size(), i + 400);
    for (std::size_t at = i + 3; at < end && !is(at, ';');) {
      if (is(at, '>') && is(at + 1, '>') && is(at + 2, '>')) return at + 3;
      at = is(at, '(') || is(at, '[') || is(at, '{') ? past_group(at) : at + 1;
    }
    return i;
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::vector<std::string> words_;
  std::vector<std::size_t> close_;
  std::vector<std::pair<std::size_t, std::string>> scopes_;  // the open namespaces: closing brace, whole name
  SourceItems found_;
};

}  // namespace

SourceItems source_items(std::string_view text) {
  return ItemReader(text).run();
}

}  // namespace regtune
