#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>

#include "key.hpp"
#include "macros.hpp"
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

std::vector<std::string> without_pre_included(std::vector<std::string> options) {
  for (auto at = options.begin(); at != options.end();) {
    const bool apart = *at == "-include" || *at == "--pre-include";
    const bool joined = at->starts_with("-include=") || at->starts_with("--pre-include=");
    if (apart || joined)
      at = options.erase(at, at + (apart && at + 1 != options.end() ? 2 : 1));
    else
      ++at;
  }
  return options;
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

// The end of the leading run of directives and comments that holds all its includes, outside any #if. Nothing
// of it may declare a kernel: the prelude stands behind it.
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

// True when the kernel that is wanted stands in the text itself and not in a header.
bool holds_kernel(std::string_view text, const std::optional<std::string>& wanted) {
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  return std::any_of(kernels.begin(), kernels.end(), [&](const ScannedKernel& kernel) {
    return !wanted || wanted->find(kernel.name) != std::string::npos;
  });
}

// Where the name without its namespaces begins in "ns::sgemm<128, float>".
std::size_t begin_of_last_name(const std::string& name) {
  const auto colons = name.substr(0, name.find_first_of("<(")).rfind("::");
  const auto begin = name.find_first_not_of(" \t", colons == std::string::npos ? 0 : colons + 2);
  return begin == std::string::npos ? 0 : begin;
}

// What the wanted kernel's name is compared with: "ns::sgemm<128, float>" -> "sgemm".
std::string last_name(const std::string& wanted) {
  std::string name = wanted.substr(0, wanted.find_first_of("<("));
  name.erase(0, begin_of_last_name(name));
  std::erase(name, ' ');
  return name;
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

CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler) {
  CompileUnit unit;
  unit.source = source;
  unit.architecture = architecture;
  const std::vector<std::string>& given = description.options;
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

int cap_of(const CompileUnit& unit, const RegisterPolicy& policy) {
  if (std::holds_alternative<AuthorsOwn>(policy)) return unit.author_cap;
  const auto* asked = std::get_if<RegisterCap>(&policy);
  return asked ? asked->registers_per_thread : 0;
}

NvrtcRequest compile_request(const CompileUnit& unit, const Build& build, NvrtcOutput output,
                             const std::string& header_folder) {
  NvrtcRequest request;
  request.output = output;
  request.file_name = unit.source.path.string();
  const std::string file = quoted_literal(request.file_name);
  const std::string text = with_macros(compiled_text(unit), build.choice.macros);
  const std::size_t header_end = unit.header_end == 0 ? 0 : end_of_headers(text);
  const std::string headers = text.substr(0, header_end);
  const auto header_lines = std::count(headers.begin(), headers.end(), '\n');
  request.source = missing_macros(compiled_text(unit), build.choice.macros);
  // NVRTC precompiles no headers behind a #line, and without anything in front none is needed.
  if (!request.source.empty()) request.source += fmt::format("#line 1 {}\n", file);
  request.source += headers;
  if (header_end > 0) request.source += "\n#pragma nv_hdrstop\n";
  request.source += prelude(build.policy, unit.keeps_cluster);
  if (build.choice.renamed) request.source += fmt::format("#define {0} cutlass_{0}\n", unit.kernel_name);
  request.source += fmt::format("#line {} {}\n{}", header_lines + 1, file, text.substr(header_end));
  request.name_expressions = unit.name_expressions;
  if (!build.choice.instance.empty()) request.name_expressions = {build.choice.instance};
  if (request.name_expressions.empty()) request.name_expressions = unit.launched_instances;
  if (build.choice.renamed)
    for (std::string& expression : request.name_expressions)
      if (last_name(expression) == unit.kernel_name) expression.insert(begin_of_last_name(expression), "cutlass_");
  request.stand_ins = !unit.device_text.empty();
  request.empty_headers = unit.empty_headers;
  request.options = {"--gpu-architecture=" + unit.architecture};
  if (output == NvrtcOutput::cubin) request.options.emplace_back("--ptxas-options=-v");
  request.options.insert(request.options.end(), unit.fixed_options.begin(), unit.fixed_options.end());
  for (const std::vector<std::string>& folders : {unit.include_folders, unit.toolkit_folders})
    for (const std::string& folder : folders) request.options.push_back("--include-path=" + folder);
  // What has no qualifier and is still there is called by device code: constexpr functions, constants, lambdas.
  if (request.stand_ins) request.options.emplace_back("-default-device");
  std::vector<std::string> options = options_of(unit, build);
  if (request.stand_ins) options = without_pre_included(std::move(options));
  request.options.insert(request.options.end(), options.begin(), options.end());
  if (unit.precompiles_headers && header_end > 0 && !header_folder.empty()) {
    request.options.emplace_back("--pch");
    request.options.push_back("--pch-dir=" + header_folder);
  }
  const int cap = cap_of(unit, build.policy);
  if (output == NvrtcOutput::lto_ir)
    request.options.emplace_back("-dlto");
  else if (cap != 0)
    request.options.push_back(fmt::format("--maxrregcount={}", cap));
  return request;
}

std::vector<std::string> options_of(const CompileUnit& unit, const Build& build) {
  std::vector<std::string> options = without_macros(unit.options, build.choice.macros);
  if (build.choice.register_usage_level >= 0)
    options.push_back(fmt::format("--ptxas-options=--register-usage-level={}", build.choice.register_usage_level));
  return options;
}

std::string renamed_kernel(const std::string& mangled, const std::string& name) {
  // Itanium ABI: an identifier is written behind its length; extern "C" names stand as they are.
  const std::string own = fmt::format("{}{}", name.size(), name);
  const auto at = mangled.starts_with("_Z") ? mangled.find(own) : std::string::npos;
  if (at == std::string::npos) return "cutlass_" + mangled;
  return fmt::format("{}{}cutlass_{}{}", mangled.substr(0, at), name.size() + 8, name, mangled.substr(at + own.size()));
}

std::string source_hash(const CompileUnit& unit) {
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
