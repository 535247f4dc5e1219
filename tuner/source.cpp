#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>

#include "key.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"
#include "template_arguments.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_text(const fs::path& path) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The name between quotes or angle brackets where the line is an #include of a literal name.
std::optional<std::string> included_name(std::string_view line) {
  const auto skip_blanks = [&line] {
    const auto first = line.find_first_not_of(" \t");
    line.remove_prefix(first == std::string_view::npos ? line.size() : first);
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  if (line.empty() || (line[0] != '"' && line[0] != '<')) return {};
  const auto end = line.find(line[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return {};
  return std::string(line.substr(1, end - 1));
}

// Adds the text of every file that `text` includes and that is the author's own: found beside the including
// file or in an author's include folder. Toolkit headers come with the compiler, whose build is in the key.
void hash_includes(FieldHash& hash, const std::string& text, const fs::path& folder,
                   const std::vector<std::string>& include_folders, std::set<fs::path>& seen) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto name = included_name(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (!name) continue;
    std::vector<fs::path> candidates{folder / *name};
    for (const std::string& include : include_folders) candidates.push_back(fs::path(include) / *name);
    for (const fs::path& candidate : candidates) {
      const auto included = read_text(candidate);
      if (!included) continue;
      if (seen.insert(fs::weakly_canonical(candidate)).second) {
        hash.add("included", *name).add("text", *included);
        hash_includes(hash, *included, candidate.parent_path(), include_folders, seen);
      }
      break;
    }
  }
}

// What the options say for an option of these names: "-Idir", "-I=dir", or "-I" and then "dir".
std::vector<std::string> values_of(const std::vector<std::string>& options, std::initializer_list<std::string> names) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const std::string& name : names) {
      const std::string& option = options[i];
      if (option == name && i + 1 < options.size())
        values.push_back(options[i + 1]);
      else if (option.starts_with(name + "="))
        values.push_back(option.substr(name.size() + 1));
      else if (name == "-I" && option.starts_with(name) && option.size() > name.size())
        values.push_back(option.substr(name.size()));
    }
  }
  return values;
}

int parse_cap(const std::string& text, const std::string& option) {
  int cap = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), cap);
  if (failure != std::errc() || end != text.data() + text.size() || cap < 0)
    throw Error(ErrorKind::usage,
                fmt::format("compiler option {}: '{}' is not a number of registers; write -maxrregcount=64, say",
                            option, text));
  return cap;
}

// Options that regtune decides itself, each with what to write instead.
void refuse_own_options(const std::string& option) {
  for (const std::string_view name : {"-arch", "--gpu-architecture", "-gencode", "--generate-code"})
    if (option == name || option.starts_with(std::string(name) + "="))
      throw Error(ErrorKind::usage,
                  fmt::format("compiler option {}: the architecture is the GPU's, or --arch sm_XX names it", option));
  for (const std::string_view name :
       {"-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dlto", "--dlink-time-opt"})
    if (option == name || option.starts_with(std::string(name) + "="))
      throw Error(
          ErrorKind::usage,
          fmt::format("compiler option {}: a kernel is tuned as a whole program; leave the option out", option));
}

// True when the kernel that is wanted stands in the text itself and not in a header.
bool holds_kernel(std::string_view text, const std::optional<std::string>& wanted) {
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  return std::any_of(kernels.begin(), kernels.end(), [&](const ScannedKernel& kernel) {
    return !wanted || wanted->find(kernel.name) != std::string::npos;
  });
}

// True when the wanted kernel declares a third launch bound, the blocks of a cluster, and the text can keep it: the
// preprocessor counts the arguments, so that no bound of the file may have commas of its own in a template's.
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

Source read_source(const fs::path& path) {
  std::optional<std::string> text = read_text(path);
  if (!text)
    throw Error(ErrorKind::file_not_found,
                fmt::format("{}: {}", path.string(),
                            fs::is_directory(path) ? "is a folder; name the .cu file in it"
                                                   : "cannot be read; is the path right, and may you read the file?"));
  return {path, std::move(*text)};
}

LaunchDescription launch_description(const Source& source, const DescriptionFlags& flags) {
  LaunchDescription written =
      flags.file ? read_description_file(*flags.file) : read_description(source.path, source.text);
  return with_authors_instance(with_flags(std::move(written), flags), source.text);
}

LaunchDescription launch_description(const Source& source, LaunchDescription stored) {
  return with_authors_instance(with_flags(std::move(stored), {}), source.text);
}

std::string_view to_string(FrontEnd front_end) {
  return front_end == FrontEnd::nvcc ? "nvcc" : "NVRTC";
}

std::vector<std::string> options_given(const LaunchDescription& description, FrontEnd front_end) {
  std::vector<std::string> options = description.options;
  if (front_end == FrontEnd::nvcc)
    options.insert(options.end(), description.nvcc_options.begin(), description.nvcc_options.end());
  return options;
}

CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler) {
  CompileUnit unit;
  unit.front_end = compiler.front_end;
  unit.source = source;
  unit.architecture = architecture;
  const std::vector<std::string> given = options_given(description, unit.front_end);
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string name = given[i].substr(0, given[i].find('='));
    if (name == "-maxrregcount" || name == "--maxrregcount") {
      const bool joined = name.size() < given[i].size();
      if (!joined && i + 1 == given.size())
        throw Error(ErrorKind::usage, "compiler option -maxrregcount: the number of registers is missing");
      unit.author_cap = parse_cap(joined ? given[i].substr(name.size() + 1) : given[i + 1], name);
      if (!joined) ++i;
    } else {
      refuse_own_options(given[i]);
      unit.options.push_back(given[i]);
    }
  }
  const fs::path folder = source.path.parent_path().empty() ? fs::path(".") : source.path.parent_path();
  unit.include_folders.push_back(folder.string());
  for (const fs::path& include : description.include_folders)
    unit.include_folders.push_back(include.is_absolute() ? include.string() : (folder / include).string());
  unit.toolkit_folders = compiler.include_folders;
  unit.fixed_options = compiler.fixed_options;
  if (description.kernel && description.kernel->find('<') != std::string::npos)
    unit.name_expressions.push_back(*description.kernel);
  unit.precompiles_headers = compiler.precompiles_headers;
  set_device_text(unit, "", description.kernel);
  return unit;
}

std::vector<std::string> pre_included_files(const CompileUnit& unit) {
  return values_of(unit.options, {"-include", "--pre-include"});
}

const std::string& compiled_text(const CompileUnit& unit) {
  return unit.device_text.empty() ? unit.source.text : unit.device_text;
}

void set_device_text(CompileUnit& unit, std::string text, const std::optional<std::string>& wanted_kernel) {
  unit.device_text = std::move(text);
  const std::string& compiled = compiled_text(unit);
  unit.header_end = holds_kernel(compiled, wanted_kernel) ? end_of_headers(compiled) : 0;
  unit.keeps_cluster = declares_cluster(compiled, wanted_kernel);
}

std::string source_hash(const CompileUnit& unit) {
  if (!unit.known_hash.empty()) return unit.known_hash;
  FieldHash hash;
  hash.add("text", unit.source.text);
  std::set<fs::path> seen;
  std::vector<std::string> folders = unit.include_folders;
  for (std::string& folder : values_of(unit.options, {"-I", "--include-path"})) folders.push_back(std::move(folder));
  hash_includes(hash, unit.source.text, unit.source.path.parent_path(), folders, seen);
  for (const std::string& file : pre_included_files(unit))
    hash_includes(hash, fmt::format("#include \"{}\"", file), "", folders, seen);
  for (const std::string& option : unit.options) hash.add("option", option);
  hash.add("author cap", std::to_string(unit.author_cap));
  for (const std::string& expression : unit.name_expressions) hash.add("name expression", expression);
  return hash.hex();
}

}  // namespace regtune
