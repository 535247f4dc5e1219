#include "source_patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "macros.hpp"
#include "policy.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

constexpr std::size_t kContextLines = 3;

// text[begin, end) becomes `by`.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string by;
};

[[noreturn]] void refuse(const SourceBudget& budget, const std::string& why) {
  const bool stripped = std::holds_alternative<CompilerDefault>(budget.policy);
  throw Error(
      ErrorKind::no_kernel,
      fmt::format("{}: {}; by hand: {}{}", budget.signature, why,
                  stripped ? "take its bounds out" : fmt::format("write {} in front of its name", spell(budget.policy)),
                  budget.spills_to_shared
                      ? fmt::format(", and {} as the first statement of its body", shared_spilling_statement)
                      : ""));
}

// The tokens of one declaration, without comments.
class Declaration {
 public:
  Declaration(std::string_view text, const ScannedKernel& kernel) : text_(text), name_(kernel.name) {
    for (Token token : tokenize(text.substr(kernel.begin, kernel.end - kernel.begin))) {
      token.offset += kernel.begin;
      if (token.kind == TokenKind::comment) continue;
      tokens_.push_back(token);
      words_.push_back(spelling(text, token));
    }
  }

  // Where each __launch_bounds__(...) or __maxnreg__(...) stands.
  std::vector<Edit> bounds() const {
    std::vector<Edit> found;
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      if ((words_[i] != "__launch_bounds__" && words_[i] != "__maxnreg__") || words_[i + 1] != "(") continue;
      const std::size_t last = closing(i + 1);
      found.push_back({tokens_[i].offset, tokens_[last].offset + tokens_[last].length, ""});
      i = last;
    }
    return found;
  }

  // Behind "void", or behind "__global__" where that comes later or no void stands outside of angle brackets.
  std::size_t place_for_bounds() const {
    const auto global = std::find(words_.begin(), words_.end(), "__global__");
    std::size_t last = static_cast<std::size_t>(global - words_.begin());
    int angles = 0;
    for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
      if (words_[i] == "<") ++angles;
      if (words_[i] == ">") --angles;
      if (i > last && words_[i] == name_ && (words_[i + 1] == "(" || words_[i + 1] == "<")) break;
      if (angles == 0 && words_[i] == "void") last = std::max(last, i);
    }
    return tokens_[last].offset + tokens_[last].length;
  }

 private:
  std::size_t closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < words_.size(); ++i) {
      if (words_[i] == "(") ++depth;
      if (words_[i] == ")" && --depth == 0) return i;
    }
    return words_.size() - 1;
  }

  std::string_view text_;
  std::string name_;
  std::vector<Token> tokens_;
  std::vector<std::string> words_;
};

// The blocks per cluster of __launch_bounds__(T, B, C), which the author's kernel needs.
std::string cluster_of(const SourceBudget& budget, const std::string& bounds) {
  int depth = 0;
  std::vector<std::size_t> commas;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i] == '<') refuse(budget, "its bound names a template, whose commas cannot be told from its own");
    if (bounds[i] == '(') ++depth;
    if (bounds[i] == ')') --depth;
    if (bounds[i] == ',' && depth == 0) commas.push_back(i);
  }
  if (commas.size() != 2) return "";
  std::string cluster = bounds.substr(commas[1] + 1);
  cluster.erase(0, cluster.find_first_not_of(' '));
  return cluster;
}

// What stands at the kernel; empty: nothing. As the prelude of a build says it (source.cpp).
std::string attribute(const SourceBudget& budget, const std::string& old_bounds) {
  const auto* bounds = std::get_if<LaunchBounds>(&budget.policy);
  if (std::holds_alternative<MaxRegisters>(budget.policy)) return spell(budget.policy);
  const std::string cluster = cluster_of(budget, old_bounds);
  if (!cluster.empty())
    return fmt::format("__launch_bounds__({}, {}, {})", bounds ? bounds->max_threads_per_block : 0,
                       bounds ? bounds->min_blocks_per_sm : 0, cluster);
  return bounds ? spell(budget.policy) : "";
}

std::string line_ends_in(std::string_view text) {
  std::string ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') ends += i > 0 && text[i - 1] == '\r' ? "\r\n" : "\n";
  }
  return ends;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Taken away with the blanks in front of it, and with those behind where it opens its line. No two words grow together.
Edit without_blanks(const std::string& text, Edit edit) {
  while (edit.begin > 0 && (text[edit.begin - 1] == ' ' || text[edit.begin - 1] == '\t')) --edit.begin;
  const bool opens_line = edit.begin == 0 || text[edit.begin - 1] == '\n';
  if (opens_line)
    while (edit.end < text.size() && (text[edit.end] == ' ' || text[edit.end] == '\t')) ++edit.end;
  if (!opens_line && edit.end < text.size() && is_word(text[edit.begin - 1]) && is_word(text[edit.end])) edit.by = " ";
  return edit;
}

std::vector<Edit> edits_of(const std::string& text, const ScannedKernel& kernel, const SourceBudget& budget) {
  const Declaration declaration(text, kernel);
  std::vector<Edit> edits = declaration.bounds();
  const std::string wanted = attribute(budget, kernel.launch_bounds);
  if (edits.empty() && !wanted.empty()) {
    const std::size_t place = declaration.place_for_bounds();
    return {{place, place, " " + wanted}};
  }
  for (std::size_t i = 0; i < edits.size(); ++i) {
    edits[i].by = i == 0 ? wanted : "";
    if (edits[i].by.empty()) edits[i] = without_blanks(text, edits[i]);
    edits[i].by += line_ends_in(std::string_view(text).substr(edits[i].begin, edits[i].end - edits[i].begin));
  }
  return edits;
}

bool same_parameters(const ScannedKernel& a, const ScannedKernel& b) {
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                    [](const ScannedParameter& one, const ScannedParameter& other) { return one.type == other.type; });
}

// The declarations that are to carry the budget: those with bounds, or else the definitions.
std::vector<ScannedKernel> targets(const std::string& text, const SourceBudget& budget) {
  std::vector<ScannedKernel> named = scan_kernels(text);
  std::erase_if(named, [&](const ScannedKernel& kernel) { return kernel.name != budget.kernel; });
  std::vector<ScannedKernel> definitions = named;
  std::erase_if(definitions, [](const ScannedKernel& kernel) { return !kernel.is_definition; });
  if (definitions.empty())
    refuse(budget, "its definition is not written out in the file: a macro makes its signature, or a header holds it");
  const bool alike = std::all_of(definitions.begin(), definitions.end(), [&](const ScannedKernel& kernel) {
    return same_parameters(kernel, definitions.front());
  });
  if (!alike || (definitions.size() > 1 && budget.signature.find("::") != std::string::npos))
    refuse(budget, "the file holds several kernels of that name");
  const auto is_bare = [](const ScannedKernel& kernel) {
    return kernel.launch_bounds.empty() && kernel.max_registers.empty();
  };
  std::erase_if(named, is_bare);
  if (named.empty() && budget.author_has_bounds) refuse(budget, "a macro of the file makes its bound");
  return named.empty() ? definitions : named;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

void append_line(std::string& diff, char mark, std::string_view line) {
  diff += mark;
  diff += line;
  if (!line.ends_with('\n')) diff += "\n\\ No newline at end of file\n";
}

// As patch and git take it: below the current folder where it is there, and never from the root.
std::string path_in_diff(const std::filesystem::path& file) {
  std::filesystem::path path = file.lexically_normal();
  if (path.is_absolute()) {
    const std::filesystem::path below = path.lexically_relative(std::filesystem::current_path());
    path = !below.empty() && *below.begin() != ".." ? below : path.relative_path();
  }
  return path.generic_string();
}

}  // namespace

std::string with_budget(const std::string& text, const SourceBudget& budget) {
  std::string changed = budget.macros.empty() ? text : with_macros(text, budget.macros);
  if (const std::string missing = missing_macros(text, budget.macros); !missing.empty())
    refuse(budget,
           "the file does not define the macros that were tuned: " + spell(SourceChoice{false, -1, budget.macros}));
  if (std::holds_alternative<AuthorsOwn>(budget.policy)) return changed;
  std::vector<Edit> edits;
  for (const ScannedKernel& kernel : targets(changed, budget))
    for (Edit& edit : edits_of(changed, kernel, budget)) edits.push_back(std::move(edit));
  if (budget.spills_to_shared)
    for (const ScannedKernel& kernel : scan_kernels(changed))
      if (kernel.is_definition && kernel.name == budget.kernel)
        edits.push_back({kernel.body, kernel.body, std::string(" ") + shared_spilling_statement});
  std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.begin > b.begin; });
  for (const Edit& edit : edits) changed.replace(edit.begin, edit.end - edit.begin, edit.by);
  return changed;
}

std::string unified_diff(const std::string& before, const std::string& after, const std::filesystem::path& file) {
  const std::vector<std::string_view> old_lines = lines_of(before);
  const std::vector<std::string_view> new_lines = lines_of(after);
  const std::size_t count = std::min(old_lines.size(), new_lines.size());
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < count; ++i)
    if (old_lines[i] != new_lines[i]) changed.push_back(i);
  if (changed.empty()) return "";
  const std::string path = path_in_diff(file);
  std::string diff = fmt::format("--- a/{0}\n+++ b/{0}\n", path);
  for (std::size_t i = 0; i < changed.size();) {
    std::size_t last = i;
    while (last + 1 < changed.size() && changed[last + 1] - changed[last] <= 2 * kContextLines) ++last;
    const std::size_t begin = changed[i] - std::min(changed[i], kContextLines);
    const std::size_t end = std::min(changed[last] + kContextLines + 1, count);
    diff += fmt::format("@@ -{0},{1} +{0},{1} @@\n", begin + 1, end - begin);
    // Neighbouring changes as one block: what goes, then what comes.
    for (std::size_t line = begin; line < end;) {
      std::size_t block = line;
      while (block < end && old_lines[block] != new_lines[block]) ++block;
      for (std::size_t k = line; k < block; ++k) append_line(diff, '-', old_lines[k]);
      for (std::size_t k = line; k < block; ++k) append_line(diff, '+', new_lines[k]);
      if (block == line) append_line(diff, ' ', old_lines[block++]);
      line = block;
    }
    i = last + 1;
  }
  return diff;
}

}  // namespace regtune
