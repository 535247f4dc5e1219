#include "kernel_body.hpp"

#include <algorithm>

#include "element_type.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

std::vector<TextureFetch> texture_fetches(std::string_view text) {
  std::vector<std::string> words;
  for (const Token& token : tokenize(text))
    if (token.kind != TokenKind::comment && token.kind != TokenKind::directive) words.push_back(spelling(text, token));
  constexpr std::size_t longest_type = 8;  // words between the angle brackets
  std::vector<TextureFetch> fetches;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool fetches_here = words[i].starts_with("tex1D") || words[i].starts_with("tex2D");
    if (!fetches_here || words[i + 1] != "<") continue;
    TextureFetch fetch{words[i], "", ""};
    std::size_t at = i + 2;
    for (; at < std::min(words.size(), i + 2 + longest_type) && words[at] != ">"; ++at)
      fetch.type += (fetch.type.empty() ? "" : " ") + words[at];
    if (at + 2 >= words.size() || words[at] != ">" || words[at + 1] != "(") continue;
    fetch.texture = words[at + 2];
    fetches.push_back(std::move(fetch));
  }
  return fetches;
}

}  // namespace

KernelBody kernel_body(std::string_view source_text, const std::string& kernel) {
  KernelBody body;
  body.fetches = texture_fetches(source_text);
  const std::vector<ScannedKernel> kernels = scan_kernels(source_text);
  const auto scanned = std::find_if(kernels.begin(), kernels.end(), [&](const ScannedKernel& candidate) {
    return candidate.name == kernel && candidate.is_definition;
  });
  if (scanned == kernels.end()) return body;
  std::vector<std::string> words;  // of the body
  int depth = 0;
  for (const Token& token : tokenize(source_text.substr(scanned->end))) {
    if (token.kind == TokenKind::comment || token.kind == TokenKind::directive) continue;
    words.push_back(spelling(source_text.substr(scanned->end), token));
    if (words.back() == "{") ++depth;
    if (words.back() == "}" && --depth <= 0) break;
  }
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const bool of_block = words[i] == "threadIdx" || words[i] == "blockDim";
    const bool of_grid = words[i] == "blockIdx";
    if (words[i + 1] == "." && words[i + 2] == "y") {
      body.block_has_y = body.block_has_y || of_block;
      body.grid_has_y = body.grid_has_y || of_grid;
    }
    if (words[i + 1] == "." && words[i + 2] == "z") {
      body.block_has_z = body.block_has_z || of_block;
      body.grid_has_z = body.grid_has_z || of_grid;
    }
    if (words[i] != "extern" || words[i + 1] != "__shared__") continue;
    std::string type;
    for (std::size_t at = i + 2; at + 1 < words.size() && words[at + 1] != "["; ++at) type += " " + words[at];
    const ParameterType element = parse_parameter_type(type);
    body.shared_element_bytes = element.element ? element.lanes * size_bytes(*element.element) : 16;
  }
  return body;
}

}  // namespace regtune
