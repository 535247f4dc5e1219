#include "source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "budget_text.hpp"
#include "macros.hpp"
#include "regtune/error.hpp"
#include "source_tag.hpp"
#include "template_arguments.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

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
  return with_authors_instance(with_flags(read_description(source.path, source.text), flags), source.text);
}

CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler) {
  CompileUnit unit;
  unit.source = source;
  unit.architecture = architecture;
  AuthorOptions author = author_options(description.options);
  unit.options = std::move(author.options);
  unit.author_cap = author.cap;
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
  AuthorText author{compiled_text(unit), request.file_name, unit.header_end != 0, unit.keeps_cluster,
                    build.choice.macros};
  if (build.choice.renamed) author.renamed = unit.kernel_name;
  const BudgetText text = budget_text(author, build.policy);
  // NVRTC precompiles no headers behind a #line, and without anything in front none is needed.
  request.source = text.headers + (text.headers.empty() ? "" : "\n#pragma nv_hdrstop\n") + text.rest;
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
  if (unit.precompiles_headers && !text.headers.empty() && !header_folder.empty()) {
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
  return source_tag({unit.source.text,
                     unit.source.path,
                     unit.include_folders,
                     {unit.options, unit.author_cap},
                     unit.name_expressions});
}

}  // namespace regtune
