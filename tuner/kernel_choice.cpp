#include "kernel_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "did_you_mean.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

std::string list_of(const std::vector<KernelSignature>& signatures) {
  std::string text;
  for (const KernelSignature& signature : signatures) text += "\n  " + signature.display;
  return text;
}

// Templates leave no code until somebody names their arguments.
std::string hint_for_templates(std::string_view source_text) {
  std::string text;
  for (const ScannedKernel& kernel : scan_kernels(source_text))
    if (kernel.is_template)
      text += fmt::format("\n  {} is a template: name its arguments, --kernel '{}<...>'", kernel.name, kernel.name);
  return text;
}

// The author's line of what stands at that line of a text: its #line directives count.
int authors_line(std::string_view text, int line) {
  int current = 0;  // of the text line at hand
  for (std::size_t at = 0; line > 0 && at <= text.size(); --line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    constexpr std::string_view directive = "#line ";
    ++current;
    if (text.substr(at, directive.size()) == directive) {
      int told = 0;
      std::from_chars(text.data() + at + directive.size(), text.data() + end, told);
      current = told - 1;
    }
    at = end + 1;
  }
  return current;
}

// Why a text that compiles gave no kernel, as far as the text tells.
std::string why_no_kernel(std::string_view source_text) {
  if (const std::string hint = hint_for_templates(source_text); !hint.empty()) return ":" + hint;
  std::string declared;
  for (const ScannedKernel& kernel : scan_kernels(source_text)) {
    if (kernel.is_definition)
      return fmt::format("; an #if leaves out {} (line {}): define with -D what it asks for", kernel.name,
                         authors_line(source_text, kernel.line));
    if (declared.empty())
      declared = fmt::format("; {} (line {}) is declared here and has its body in another file", kernel.name,
                             authors_line(source_text, kernel.line));
  }
  return declared.empty() ? "; is this the right file?" : declared;
}

}  // namespace

const CubinKernel* find_kernel(const Cubin& cubin, std::string_view mangled_name) {
  const auto found = std::find_if(cubin.kernels.begin(), cubin.kernels.end(),
                                  [&](const CubinKernel& kernel) { return kernel.name == mangled_name; });
  return found == cubin.kernels.end() ? nullptr : &*found;
}

KernelSignature choose_kernel(const Cubin& cubin, std::string_view source_text, const std::string& file,
                              const std::optional<std::string>& wanted, const std::string& lowered_name) {
  std::vector<KernelSignature> all;
  for (const CubinKernel& kernel : cubin.kernels) all.push_back(kernel_signature(kernel, source_text));
  std::vector<KernelSignature> meant;
  for (const KernelSignature& signature : all)
    if (lowered_name.empty() ? !wanted || names_kernel(signature, *wanted) : signature.mangled_name == lowered_name)
      meant.push_back(signature);
  if (meant.size() == 1) return meant.front();
  if (meant.size() > 1)
    throw Error(ErrorKind::several_kernels,
                fmt::format("{}: {} kernels{}; say which with --kernel NAME, or kernel = \"NAME\" in the launch "
                            "description:{}",
                            file, meant.size(), wanted ? fmt::format(" answer to '{}'", *wanted) : " and none is named",
                            list_of(meant)));
  if (all.empty())
    throw Error(ErrorKind::no_kernel,
                fmt::format("{}: no kernel (__global__ function) was compiled{}", file, why_no_kernel(source_text)));
  std::vector<std::string> names;
  for (const KernelSignature& signature : all) names.push_back(unqualified_name(signature));
  const std::string hint = did_you_mean(wanted.value_or(""), names);
  throw Error(ErrorKind::no_kernel,
              fmt::format("{}: no kernel is called '{}'{} one of:{}{}", file, wanted.value_or(lowered_name),
                          hint.empty() ? "; name" : hint + " Name", list_of(all), hint_for_templates(source_text)));
}

}  // namespace regtune
