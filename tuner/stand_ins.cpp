#include "stand_ins.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stand_ins_cuh.hpp"

namespace regtune {
namespace {

std::vector<std::pair<std::string, std::string>> read_stand_ins() {
  std::vector<std::pair<std::string, std::string>> all;
  std::string_view text = stand_ins_cuh_text;
  for (std::size_t at = text.find("\n@ "); at != std::string_view::npos;) {
    const std::size_t names_end = text.find('\n', at + 1);
    const std::size_t next = text.find("\n@ ", names_end);
    const std::string body(text.substr(names_end + 1, next == std::string_view::npos ? next : next - names_end));
    std::string_view names = text.substr(at + 3, names_end - at - 3);
    while (!names.empty()) {
      const std::size_t blank = std::min(names.find(' '), names.size());
      all.emplace_back(names.substr(0, blank), body);
      names.remove_prefix(std::min(blank + 1, names.size()));
    }
    at = next;
  }
  return all;
}

}  // namespace

const std::vector<std::pair<std::string, std::string>>& stand_ins() {
  static const std::vector<std::pair<std::string, std::string>> all = read_stand_ins();
  return all;
}

bool has_stand_in(std::string_view header) {
  return std::any_of(stand_ins().begin(), stand_ins().end(), [&](const auto& known) { return known.first == header; });
}

std::optional<std::string> stand_in_that_declares(std::string_view name) {
  // "using ::cuda::std::common_type;", "#define INFINITY": the name stands between a colon or blank and what ends it.
  for (const auto& [header, text] : stand_ins())
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool is_used = at > 1 && text[at - 1] == ':' && end < text.size() && text[end] == ';';
      constexpr std::string_view define = "#define ";
      const bool is_macro = at >= define.size() && text.compare(at - define.size(), define.size(), define) == 0 &&
                            end < text.size() && text[end] == ' ';
      if (is_used || is_macro) return header;
    }
  return {};
}

std::string stand_in_prologue(int cuda_version, const std::vector<std::string>& headers) {
  std::string prologue = fmt::format(
      "#include <regtune/host_names.h>\n#include <math.h>\n#include <float.h>\n#include <limits.h>\n"
      "#ifndef CUDA_VERSION\n#define CUDA_VERSION {0}\n#endif\n"
      "#ifndef CUDART_VERSION\n#define CUDART_VERSION {0}\n#endif\n",
      cuda_version);
  for (const std::string& header : headers) prologue += "#include <" + header + ">\n";
  return prologue;
}

}  // namespace regtune
