#include "signature.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "source_scan.hpp"

namespace regtune {
namespace {

// Types nest no deeper in code that people write; a hostile text must not exhaust the stack.
constexpr int deepest_nesting = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

std::string without_anonymous_namespaces(std::string text) {
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  for (std::size_t at = text.find(anonymous); at != std::string::npos; at = text.find(anonymous, at)) {
    text.erase(at, anonymous.size());
  }
  return text;
}

// Splits at the commas outside all brackets; "" gives nothing.
std::vector<std::string_view> split_at_commas(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if ((c == '>' || c == ')' || c == ']') && depth > 0) --depth;
    if (c != ',' || depth != 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  if (text.find_first_not_of(" \t\n") != std::string_view::npos) parts.push_back(text.substr(begin));
  return parts;
}

// The one spelling of a fundamental integer type, however its words are ordered; empty when it is none.
std::string integer_type(const std::vector<std::string>& words) {
  int longs = 0;
  bool is_unsigned = false, is_signed = false, is_short = false, is_char = false;
  for (const std::string& word : words) {
    if (word == "long") {
      ++longs;
    } else if (word == "unsigned") {
      is_unsigned = true;
    } else if (word == "signed") {
      is_signed = true;
    } else if (word == "short") {
      is_short = true;
    } else if (word == "char") {
      is_char = true;
    } else if (word != "int") {
      return {};
    }
  }
  const std::string sign = is_unsigned ? "unsigned " : "";
  if (is_char) return is_signed ? "signed char" : sign + "char";
  if (is_short) return sign + "short";
  if (longs > 0) return sign + (longs == 1 ? "long" : "long long");
  return words.empty() ? std::string() : sign + "int";
}

std::string normalise_type(std::string_view text, bool is_parameter, int depth = 0);

// "Vec<float const*,4>" -> "Vec<const float*, 4>": each argument by the rules of a type.
std::string normalise_arguments(std::string_view text, int depth) {
  std::string result;
  for (const std::string_view argument : split_at_commas(text)) {
    if (!result.empty()) result += ", ";
    result += normalise_type(argument, false, depth + 1);
  }
  return result;
}

// One piece of a type: a word with its qualification and template arguments, or a mark.
struct TypeReader {
  std::string_view text;
  int depth;
  std::size_t at = 0;

  // The end of the bracket that opens at `at`; the end of the text where it stays open.
  std::size_t past_bracket() const {
    int open = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      if (text[i] == '<' || text[i] == '(' || text[i] == '[') ++open;
      if ((text[i] == '>' || text[i] == ')' || text[i] == ']') && --open == 0) return i + 1;
    }
    return text.size();
  }

  std::string word() {
    constexpr std::string_view anonymous = "(anonymous namespace)";
    std::string result;
    while (at < text.size()) {
      if (text.substr(at).starts_with(anonymous)) {
        result += anonymous;
        at += anonymous.size();
      } else if (text[at] == '<') {
        const std::size_t end = past_bracket();
        const std::size_t inside = end - at < 2 ? 0 : end - at - 2;
        result += '<' + normalise_arguments(text.substr(at + 1, inside), depth) + '>';
        at = end;
      } else if (is_word(text[at]) || text[at] == ':' || static_cast<unsigned char>(text[at]) >= 0x80) {
        result += text[at++];
      } else {
        break;
      }
    }
    return result;
  }
};

// "float const *__restrict__" -> "const float*". const comes first, and a parameter's own const goes, as in
// its mangled name; what follows a pointer to function or array stays as it is.
std::string normalise_type(std::string_view text, bool is_parameter, int depth) {
  if (depth > deepest_nesting) return std::string(text);
  static constexpr std::array<std::string_view, 9> dropped = {
      "restrict", "__restrict__", "__restrict", "struct", "class", "enum", "union", "typename", "__grid_constant__"};
  TypeReader reader{text, depth};
  std::vector<std::string> base;
  std::string marks;  // after the base: "*", "* const*", "&"
  bool is_const = false, is_volatile = false, is_plain = true;
  while (reader.at < text.size()) {
    const char c = text[reader.at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++reader.at;
      continue;
    }
    std::string word = reader.word();
    if (word.empty()) {
      is_plain = is_plain && (c == '*' || c == '&');
      if (!is_plain && marks.empty() && base.empty()) return std::string(text.substr(reader.at));  // "(Mode)1", "-1"
      marks += c;
      ++reader.at;
    } else if (std::find(dropped.begin(), dropped.end(), word) != dropped.end()) {
      continue;
    } else if (!marks.empty()) {
      if (marks.back() == '*' || marks.back() == '&' || is_word(marks.back())) marks += ' ';
      marks += word;
    } else if (word == "const") {
      is_const = true;
    } else if (word == "volatile") {
      is_volatile = true;
    } else {
      base.push_back(std::move(word));
    }
  }
  if (is_parameter && is_plain) {
    for (const std::string_view own : {" volatile", " const"}) {
      if (marks.ends_with(own)) marks.erase(marks.size() - own.size());
    }
    if (marks.empty()) is_const = is_volatile = false;
  }
  std::string name = integer_type(base);
  if (name.empty()) {
    for (const std::string& word : base) name += (name.empty() ? "" : " ") + word;
  }
  return (is_const ? "const " : "") + std::string(is_volatile ? "volatile " : "") + name + marks;
}

// The fixed-width names of an extern "C" kernel's text, as a mangled name would spell them under NVRTC.
std::string without_typedefs(std::string type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> known = {{
      {"int8_t", "signed char"},
      {"uint8_t", "unsigned char"},
      {"int16_t", "short"},
      {"uint16_t", "unsigned short"},
      {"int32_t", "int"},
      {"uint32_t", "unsigned int"},
      {"int64_t", "long long"},
      {"uint64_t", "unsigned long long"},
      {"size_t", "unsigned long"},
      {"ptrdiff_t", "long"},
      {"uint", "unsigned int"},
      {"ushort", "unsigned short"},
      {"uchar", "unsigned char"},
      {"ulong", "unsigned long"},
  }};
  const bool is_const = type.starts_with("const ");
  const std::size_t begin = is_const ? 6 : 0;
  const std::size_t end = std::min(type.find_first_of("*&", begin), type.size());
  std::string base = type.substr(begin, end - begin);
  for (const std::string_view space : {"std::", "cuda::std::", "::"}) {
    if (base.starts_with(space)) base.erase(0, space.size());
  }
  for (const auto& [name, meaning] : known) {
    if (base == name) return type.substr(0, begin) + std::string(meaning) + type.substr(end);
  }
  return type;
}

// A texture object is an unsigned long long to the compiler, and a tensor map has a tag beside its name.
std::string as_handle(const std::string& type, const std::string& written) {
  if (type == "CUtensorMap_st") return "CUtensorMap";
  return is_texture_type(written) && type == "unsigned long long" ? written : type;
}

struct FunctionName {
  std::string name;                // "ns::sgemm<128, float>"
  std::vector<std::string> types;  // normalised
  bool is_mangled = false;
};

// `demangled` is "void ns::sgemm<128, float>(float const*, int)"; only templates show what they return.
FunctionName split_demangled(std::string_view demangled) {
  FunctionName found;
  const std::size_t close = demangled.rfind(')');
  std::size_t open = close;
  int depth = 0;
  while (open != std::string_view::npos && open > 0) {
    if (demangled[open] == ')') ++depth;
    if (demangled[open] == '(' && --depth == 0) break;
    --open;
  }
  if (close == std::string_view::npos || open == 0) {
    found.name = std::string(demangled);
    return found;
  }
  std::size_t begin = 0;
  depth = 0;
  for (std::size_t i = 0; i < open; ++i) {
    if (demangled[i] == '<' || demangled[i] == '(') ++depth;
    if (demangled[i] == '>' || demangled[i] == ')') --depth;
    if (demangled[i] == ' ' && depth == 0) begin = i + 1;
  }
  std::string_view name = demangled.substr(begin, open - begin);
  const std::size_t angle = name.find('<');
  found.name = std::string(name.substr(0, angle));
  if (angle != std::string_view::npos) {
    TypeReader reader{name, 0, angle};
    found.name += reader.word();
  }
  found.name = without_anonymous_namespaces(found.name);
  const std::string_view inside = demangled.substr(open + 1, close - open - 1);
  if (inside != "void") {
    for (const std::string_view type : split_at_commas(inside)) {
      found.types.push_back(without_anonymous_namespaces(normalise_type(type, true)));
    }
  }
  found.is_mangled = true;
  return found;
}

FunctionName function_name(const std::string& mangled_name) {
  // The longest names of template libraries have some thousand bytes.
  constexpr std::size_t longest_name = 1 << 16;
  if (!mangled_name.starts_with("_Z") || mangled_name.size() > longest_name) return {mangled_name, {}, false};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled_name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return {mangled_name, {}, false};
  return split_demangled(text.get());
}

std::string display_of(const std::string& name, const std::vector<std::string>& types) {
  std::string result = name + '(';
  for (std::size_t i = 0; i < types.size(); ++i) result += (i == 0 ? "" : ", ") + types[i];
  return result + ')';
}

std::string_view without_template_arguments(std::string_view name) {
  return name.substr(0, name.find('<'));
}

std::string_view unqualified(std::string_view name) {
  const std::size_t colon = without_template_arguments(name).rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::vector<std::string> types_of(const ScannedKernel& kernel) {
  std::vector<std::string> types;
  for (const ScannedParameter& parameter : kernel.parameters) types.push_back(normalise_type(parameter.type, true));
  return types;
}

// The declaration whose parameters are named: same name, as many parameters, and among overloads the one
// that shares the most types; a definition before a mere declaration.
std::optional<ScannedKernel> declaration_of(const FunctionName& function, std::size_t parameter_count,
                                            std::string_view source_text) {
  const std::string_view wanted = unqualified(without_template_arguments(function.name));
  std::optional<ScannedKernel> best;
  std::size_t best_score = 0;
  for (ScannedKernel& kernel : scan_kernels(source_text)) {
    if (without_template_arguments(kernel.name) != wanted || kernel.parameters.size() != parameter_count) continue;
    const std::vector<std::string> types = types_of(kernel);
    std::size_t score = 1 + (kernel.is_definition ? 1 : 0);
    for (std::size_t i = 0; i < std::min(types.size(), function.types.size()); ++i) {
      if (types[i] == function.types[i]) score += 2;
    }
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(kernel);
  }
  return best;
}

// Without white space, anonymous namespaces and the suffixes of numbers: "f<128u, true>" -> "f<128,true>".
std::string comparable(std::string_view text) {
  std::string arguments(text);
  if (const std::size_t angle = text.find('<'); angle != std::string_view::npos) {
    const std::size_t close = text.rfind('>');
    if (close != std::string_view::npos && close > angle) {
      arguments = std::string(text.substr(0, angle + 1)) +
                  normalise_arguments(text.substr(angle + 1, close - angle - 1), 0) + std::string(text.substr(close));
    }
  }
  arguments = without_anonymous_namespaces(std::move(arguments));
  std::string result;
  bool number = false;
  for (const char c : arguments) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    const bool digit = c >= '0' && c <= '9';
    if (number && (c == 'u' || c == 'U' || c == 'l' || c == 'L')) continue;
    number = digit && (number || result.empty() || !is_word(result.back()));
    result += c;
  }
  return result;
}

}  // namespace

KernelSignature kernel_signature(const CubinKernel& kernel, std::string_view source_text) {
  const FunctionName function = function_name(kernel.name);
  const std::size_t count = kernel.parameters.size();
  const std::optional<ScannedKernel> declaration = declaration_of(function, count, source_text);

  std::vector<std::string> types = function.types;
  if (!function.is_mangled && declaration) {
    types = types_of(*declaration);
    for (std::string& type : types) type = without_typedefs(std::move(type));
  }
  KernelSignature signature;
  signature.mangled_name = kernel.name;
  signature.name = function.name;
  signature.display = function.is_mangled || declaration ? display_of(function.name, types) : function.name;
  if (declaration) signature.launch_bounds = declaration->launch_bounds;
  signature.blocks_per_cluster = kernel.blocks_per_cluster;
  signature.max_blocks_per_cluster = kernel.max_blocks_per_cluster;
  for (std::size_t i = 0; i < count; ++i) {
    KernelParameter parameter;
    parameter.name = declaration ? declaration->parameters[i].name : std::string();
    if (parameter.name.empty()) parameter.name = "arg" + std::to_string(i);
    // An empty pack or an empty class may leave the two counts apart; then no type is certain.
    if (types.size() == count)
      parameter.type = as_handle(types[i], declaration ? normalise_type(declaration->parameters[i].type, true) : "");
    parameter.offset_bytes = kernel.parameters[i].offset_bytes;
    parameter.size_bytes = kernel.parameters[i].size_bytes;
    signature.parameters.push_back(std::move(parameter));
  }
  return signature;
}

bool is_texture_type(std::string_view type) {
  if (type.starts_with("::")) type.remove_prefix(2);
  return type == "cudaTextureObject_t" || type == "CUtexObject" || type == "CUtexObject_v1";
}

bool is_tensor_map_type(std::string_view type) {
  if (type.starts_with("::")) type.remove_prefix(2);
  return type == "CUtensorMap" || type == "CUtensorMap_st";
}

std::string demangle(const std::string& mangled_name) {
  const FunctionName function = function_name(mangled_name);
  return function.is_mangled ? display_of(function.name, function.types) : function.name;
}

std::string unqualified_name(const KernelSignature& signature) {
  return std::string(unqualified(without_template_arguments(signature.name)));
}

bool names_kernel(const KernelSignature& signature, std::string_view wanted) {
  if (wanted == signature.mangled_name) return true;
  std::string asked = comparable(wanted);
  if (asked.starts_with("::")) asked.erase(0, 2);
  if (asked.empty()) return false;
  if (asked == comparable(signature.display)) return true;
  // "b::f" and "f" mean "a::b::f" too; template arguments may be left out.
  const std::string full = comparable(signature.name);
  const std::string plain(without_template_arguments(full));
  for (const std::string& name : {full, plain}) {
    if (name == asked) return true;
    const std::size_t scope = without_template_arguments(name).size() - unqualified(plain).size();
    for (std::size_t at = name.find("::"); at < scope; at = name.find("::", at + 2)) {
      if (std::string_view(name).substr(at + 2) == asked) return true;
    }
  }
  return false;
}

}  // namespace regtune
