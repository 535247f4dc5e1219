#include "compile_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "budget_text.hpp"
#include "macros.hpp"
#include "ptx_text.hpp"

namespace regtune {
namespace {

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

BudgetText build_text(const CompileUnit& unit, const Build& build) {
  AuthorText author{compiled_text(unit), unit.source.path.string(), unit.header_end != 0, unit.keeps_cluster,
                    build.choice.macros};
  if (build.choice.renamed) author.renamed = unit.kernel_name;
  if (build.choice.spills_to_shared) author.spills_to_shared = unit.kernel_name;
  return budget_text(author, build.policy);
}

std::vector<std::string> renamed(const CompileUnit& unit, const Build& build, std::vector<std::string> expressions) {
  if (build.choice.renamed)
    for (std::string& expression : expressions)
      if (last_name(expression) == unit.kernel_name) expression.insert(begin_of_last_name(expression), "cutlass_");
  return expressions;
}

// The instance that is tuned; none where no template is named.
std::vector<std::string> name_expressions(const CompileUnit& unit, const Build& build) {
  if (!build.choice.instance.empty()) return renamed(unit, build, {build.choice.instance});
  return renamed(unit, build, unit.name_expressions);
}

// What the file itself launches: NVRTC, which is not given the host's code, has to be told.
std::vector<std::string> instances_to_make(const CompileUnit& unit, const Build& build) {
  return renamed(unit, build, unit.launched_instances);
}

}  // namespace

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
  const BudgetText text = build_text(unit, build);
  // NVRTC precompiles no headers behind a #line, and without anything in front none is needed.
  request.source = text.headers + (text.headers.empty() ? "" : "\n#pragma nv_hdrstop\n") + text.rest;
  request.name_expressions = name_expressions(unit, build);
  if (request.name_expressions.empty()) request.name_expressions = instances_to_make(unit, build);
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

NvccRequest nvcc_request(const CompileUnit& unit, const Build& build, NvrtcOutput output) {
  NvccRequest request;
  request.file = unit.source.path.string();
  request.lto_ir = output == NvrtcOutput::lto_ir;
  request.name_expressions = name_expressions(unit, build);
  const bool untouched = build == Build{AuthorsOwn{}} && request.name_expressions.empty();
  if (!untouched) {
    const BudgetText text = build_text(unit, build);
    request.text = text.headers + (text.headers.empty() ? "" : "\n") + text.rest;
    request.text += instances_text(request.name_expressions);
  }
  request.options = {"-arch=" + unit.architecture};
  if (!request.lto_ir) request.options.emplace_back("--ptxas-options=-v");
  for (std::size_t i = 0; i < unit.include_folders.size(); ++i) {
    // The first is the source's own, where a text that stands elsewhere still finds what it includes in quotes.
    const std::string folder = std::filesystem::absolute(unit.include_folders[i]).lexically_normal().string();
    if (i > 0 || folder.find_first_of(", \\") != std::string::npos)
      request.options.push_back("-I" + folder);
    else if (!untouched)
      request.options.push_back("-Xcompiler=-iquote," + folder);
  }
  const std::vector<std::string> options = options_of(unit, build);
  request.options.insert(request.options.end(), options.begin(), options.end());
  const int cap = cap_of(unit, build.policy);
  if (!request.lto_ir && cap != 0) request.options.push_back(fmt::format("-maxrregcount={}", cap));
  return request;
}

PtxasRequest ptxas_request(const CompileUnit& unit, const Build& build) {
  PtxasRequest request;
  request.file = unit.source.path.string();
  const std::string& text = unit.source.text;
  if (std::holds_alternative<AuthorsOwn>(build.policy))
    request.text = text;
  else if (const auto* most = std::get_if<MaxRegisters>(&build.policy))
    request.text = with_max_registers(text, most->registers_per_thread);
  else
    request.text = without_register_bounds(text);
  // PTX of one GPU alone, or of its family, is assembled for no other name of that GPU.
  const std::optional<PtxTarget> target = ptx_target(text);
  const bool is_bare = !unit.architecture.empty() && unit.architecture.back() >= '0' && unit.architecture.back() <= '9';
  const std::string variant = target && target->variant != 0 && is_bare ? std::string(1, target->variant) : "";
  request.options = {"-arch=" + unit.architecture + variant};
  const std::vector<std::string> options = ptxas_options(options_of(unit, build));
  request.options.insert(request.options.end(), options.begin(), options.end());
  const int cap = cap_of(unit, build.policy);
  if (cap != 0) request.options.push_back(fmt::format("-maxrregcount={}", cap));
  return request;
}

CompilerRequest request_for(const CompileUnit& unit, const Build& build, NvrtcOutput output,
                            const std::string& header_folder) {
  if (unit.front_end == FrontEnd::nvcc) return nvcc_request(unit, build, output);
  if (unit.front_end == FrontEnd::ptxas) return ptxas_request(unit, build);
  return compile_request(unit, build, output, header_folder);
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

}  // namespace regtune
