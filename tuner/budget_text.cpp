#include "budget_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "shared_spilling.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

// The third launch bound stays where its author wrote it, since it may name template parameters, and nothing else
// of it stays. The attribute that says it must repeat the other two, for of two the later counts; with zeros it
// says the cluster's blocks alone (.maxclusterrank without .maxntid, measured with NVRTC 13.0), and a cap binds.
std::string declared_bounds(const RegisterPolicy& policy, bool keeps_cluster) {
  // The compiler refuses __maxnreg__ beside any launch bound.
  if (!keeps_cluster || std::holds_alternative<MaxRegisters>(policy))
    return "#undef __launch_bounds__\n#define __launch_bounds__(...)\n";
  const auto* bounds = std::get_if<LaunchBounds>(&policy);
  return fmt::format(
      "#undef __launch_bounds__\n"
      "#define regtune_fourth(a, b, c, d, ...) d\n#define regtune_no_cluster(...)\n"
      "#define regtune_cluster(threads, blocks, cluster) __attribute__((launch_bounds({}, {}, cluster)))\n"
      "#define __launch_bounds__(...) regtune_fourth(__VA_ARGS__, regtune_cluster, regtune_no_cluster, "
      "regtune_no_cluster, )(__VA_ARGS__)\n",
      bounds ? bounds->max_threads_per_block : 0, bounds ? bounds->min_blocks_per_sm : 0);
}

std::string prelude(const RegisterPolicy& policy, bool keeps_cluster) {
  if (std::holds_alternative<AuthorsOwn>(policy)) return "";
  std::string attributes;
  if (const auto* bounds = std::get_if<LaunchBounds>(&policy)) {
    attributes = bounds->min_blocks_per_sm == 0
                     ? fmt::format(" __attribute__((launch_bounds({})))", bounds->max_threads_per_block)
                     : fmt::format(" __attribute__((launch_bounds({}, {})))", bounds->max_threads_per_block,
                                   bounds->min_blocks_per_sm);
  } else if (const auto* most = std::get_if<MaxRegisters>(&policy)) {
    attributes = fmt::format(" __attribute__((maxnreg({})))", most->registers_per_thread);
  }
  // Text in front of the source, not -D: NVRTC's built-in header, which comes before both, defines these
  // names and would define them again over a -D.
  return fmt::format(
      "{}#undef __maxnreg__\n#define __maxnreg__(...)\n"
      "#undef __global__\n#define __global__ __attribute__((global)){}\n",
      declared_bounds(policy, keeps_cluster), attributes);
}

std::string quoted_literal(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

}  // namespace

std::size_t end_of_headers(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  bool included = false;
  for (const Token& token : tokenize(text)) {
    if (token.kind == TokenKind::comment) continue;
    if (token.kind != TokenKind::directive) break;
    std::string directive = spelling(text, token);
    std::erase_if(directive, [](char c) { return c == ' ' || c == '\t'; });
    if (directive.starts_with("#line")) break;  // another file begins, and its lines are counted from there
    if (directive.starts_with("#if")) ++depth;
    if (directive.starts_with("#endif")) --depth;
    included = included || directive.starts_with("#include");
    if (included && depth == 0) end = token.offset + token.length;
  }
  return end;
}

bool holds_kernel(std::string_view text, const std::optional<std::string>& wanted) {
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  return std::any_of(kernels.begin(), kernels.end(), [&](const ScannedKernel& kernel) {
    return !wanted || wanted->find(kernel.name) != std::string::npos;
  });
}

std::size_t begin_of_last_name(const std::string& name) {
  const auto colons = name.substr(0, name.find_first_of("<(")).rfind("::");
  const auto begin = name.find_first_not_of(" \t", colons == std::string::npos ? 0 : colons + 2);
  return begin == std::string::npos ? 0 : begin;
}

std::string last_name(const std::string& wanted) {
  std::string name = wanted.substr(0, wanted.find_first_of("<("));
  name.erase(0, begin_of_last_name(name));
  std::erase(name, ' ');
  return name;
}

bool declares_cluster(std::string_view text, const std::optional<std::string>& wanted) {
  bool declared = false;
  for (const ScannedKernel& kernel : scan_kernels(text)) {
    int depth = 0;
    int arguments = 1;
    for (const char c : kernel.launch_bounds) {
      if (c == '<') return false;
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c == ',' && depth == 0) ++arguments;
    }
    if (arguments == 3 && (!wanted || last_name(*wanted) == kernel.name)) declared = true;
  }
  return declared;
}

BudgetText budget_text(const AuthorText& author, const RegisterPolicy& policy) {
  const std::string file = quoted_literal(author.file_name);
  std::string text = with_macros(author.text, author.macros);
  if (author.spills_to_shared)
    // Never without it in silence: that would be another budget's code.
    text = with_shared_spilling(text, *author.spills_to_shared)
               .value_or("#error the body of this kernel is not written out in the text\n");
  const std::size_t header_end = author.splits_headers ? end_of_headers(text) : 0;
  const std::string headers = text.substr(0, header_end);
  const auto header_lines = std::count(headers.begin(), headers.end(), '\n');
  const std::string macros = missing_macros(author.text, author.macros);
  // Without anything in front no #line is needed.
  const std::string in_front = macros.empty() ? "" : macros + fmt::format("#line 1 {}\n", file);
  std::string rest = prelude(policy, author.keeps_cluster);
  if (author.renamed) rest += fmt::format("#define {0} cutlass_{0}\n", *author.renamed);
  rest += fmt::format("#line {} {}\n{}", header_lines + 1, file, text.substr(header_end));
  if (header_end == 0) return {"", in_front + rest};
  return {in_front + headers, rest};
}

}  // namespace regtune
