#include "ptx_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace regtune {
namespace {

constexpr std::array<std::string_view, 4> kRegisterBounds = {".maxntid", ".minnctapersm", ".maxnctapersm", ".maxnreg"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Reads token by token: words with the dot before them, and single characters. Comments and blanks are passed over.
class PtxReader {
 public:
  explicit PtxReader(std::string_view text) : text_(text) {}

  // Empty at the end.
  std::string_view next() {
    pass_over_blanks();
    begin_ = at_;
    if (at_ >= text_.size()) return {};
    if (text_[at_] == '"') {
      at_ = std::min(text_.find('"', at_ + 1), text_.size() - 1) + 1;
    } else {
      const bool begins_word = is_word(text_[at_]) || text_[at_] == '.';
      ++at_;
      while (begins_word && at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return text_.substr(begin_, at_ - begin_);
  }
  // Of the last token.
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return at_; }

 private:
  void pass_over_blanks() {
    while (at_ < text_.size()) {
      if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t close = text_.find("*/", at_ + 2);
        at_ = close == std::string_view::npos ? text_.size() : close + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t at_ = 0;
};

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What stands between a kernel's parameters and its body.
struct KernelHead {
  std::string_view name;
  std::size_t body = 0;      // where the brace stands
  std::vector<Span> bounds;  // the directives that hold its registers, with their values
};

// The head of the kernel whose ".entry" was read; empty for a mere declaration, and for a text that ends in it.
std::optional<KernelHead> read_head(PtxReader& reader) {
  KernelHead head;
  head.name = reader.next();
  int depth = 0;
  bool in_bound = false;
  bool in_pragma = false;  // which ends in a semicolon of its own
  for (std::string_view token = reader.next(); !token.empty(); token = reader.next()) {
    if (token == "(") ++depth;
    if (token == ")") --depth;
    if (depth > 0) continue;
    if (token == ";" && !in_pragma) return {};
    in_pragma = token == ".pragma" || (in_pragma && token != ";");
    if (token == "{") {
      head.body = reader.begin();
      return head;
    }
    const bool is_value = token == "," || (token.front() >= '0' && token.front() <= '9');
    if (in_bound && is_value) {
      head.bounds.back().end = reader.end();
      continue;
    }
    in_bound = std::find(kRegisterBounds.begin(), kRegisterBounds.end(), token) != kRegisterBounds.end();
    if (in_bound) head.bounds.push_back({reader.begin(), reader.end()});
  }
  return {};
}

std::vector<KernelHead> read_heads(std::string_view text) {
  std::vector<KernelHead> heads;
  PtxReader reader(text);
  for (std::string_view token = reader.next(); !token.empty(); token = reader.next())
    if (token == ".entry")
      if (std::optional<KernelHead> head = read_head(reader)) heads.push_back(std::move(*head));
  return heads;
}

// Every line keeps its number, and with it what ptxas says of it its place.
std::string with_heads(std::string_view text, std::string_view directive) {
  std::string changed;
  std::size_t copied = 0;
  for (const KernelHead& head : read_heads(text)) {
    for (const Span& bound : head.bounds) {
      changed += text.substr(copied, bound.begin - copied);
      for (std::size_t i = bound.begin; i < bound.end; ++i) changed += text[i] == '\n' ? '\n' : ' ';
      copied = bound.end;
    }
    changed += text.substr(copied, head.body - copied);
    changed += directive;
    copied = head.body;
  }
  changed += text.substr(copied);
  return changed;
}

// 'a' before 'f' before what every later GPU takes: the nearer to the GPU, the more of it the code may use.
std::pair<int, int> nearness(const PtxTarget& target) {
  return {target.number, target.variant == 'a' ? 2 : target.variant == 'f' ? 1 : 0};
}

}  // namespace

bool PtxTarget::runs_on(int architecture) const {
  if (variant == 'a') return architecture == number;
  if (variant == 'f' && architecture / 10 != number / 10) return false;
  return architecture >= number;
}

std::string PtxTarget::name() const {
  return fmt::format("sm_{}{}", number, variant == 0 ? "" : std::string(1, variant));
}

bool is_ptx(std::string_view text) {
  return PtxReader(text).next() == ".version";
}

std::optional<PtxTarget> ptx_target(std::string_view text) {
  PtxReader reader(text);
  // It stands right behind the version.
  for (int tokens = 0; tokens < 16; ++tokens) {
    if (reader.next() != ".target") continue;
    std::string_view name = reader.next();
    if (!name.starts_with("sm_")) return {};
    name.remove_prefix(3);
    PtxTarget target;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), target.number);
    if (failure != std::errc()) return {};
    if (end != name.data() + name.size()) target.variant = *end;
    return target;
  }
  return {};
}

std::vector<std::string> ptx_kernels(std::string_view text) {
  std::vector<std::string> names;
  for (const KernelHead& head : read_heads(text)) names.emplace_back(head.name);
  return names;
}

std::string without_register_bounds(std::string_view text) {
  return with_heads(text, "");
}

std::string with_max_registers(std::string_view text, int registers_per_thread) {
  return with_heads(text, fmt::format(".maxnreg {} ", registers_per_thread));
}

std::optional<std::size_t> best_ptx(const std::vector<std::string>& texts, std::string_view kernel, int architecture) {
  std::optional<std::size_t> best;
  std::pair<int, int> of_best;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::optional<PtxTarget> target = ptx_target(texts[i]);
    if (!target || !target->runs_on(architecture) || (best && nearness(*target) <= of_best)) continue;
    const std::vector<std::string> kernels = ptx_kernels(texts[i]);
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) continue;
    best = i;
    of_best = nearness(*target);
  }
  return best;
}

}  // namespace regtune
