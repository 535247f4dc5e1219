#include "compiled_code.hpp"

#include <filesystem>

#include "budget_text.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

bool is_template_id(const std::string& kernel) {
  return kernel.find('<') != std::string::npos;
}

// What NVRTC is asked to name: the kernel without its parameters; nothing where it is named as it will be called.
std::string name_expression(const std::string& kernel) {
  if (kernel.starts_with("_Z")) return "";
  int depth = 0;
  std::size_t end = kernel.size();
  for (std::size_t at = 0; at < kernel.size(); ++at) {
    if (kernel[at] == '(' && depth == 0 && at > 0) {
      end = at;
      break;
    }
    if (kernel[at] == '<' || kernel[at] == '(') ++depth;
    if (kernel[at] == '>' || kernel[at] == ')') --depth;
  }
  return kernel.substr(0, end);
}

}  // namespace

std::string tag_of(const JitSource& source) {
  TaggedSource tagged{source.text, source.path, {folder_of(source.path)}, source.options, {}};
  if (is_template_id(source.kernel)) tagged.name_expressions.push_back(source.kernel);
  return source_tag(tagged);
}

JitCode JitCompiler::compile(const JitSource& source, const std::string& architecture, const TunedBudget* budget) {
  if (!nvrtc_) {
    nvrtc_ = Nvrtc::open();
    // The names of anonymous namespaces as the tuner had them, and nothing left in a folder of NVRTC's own.
    const bool recent = nvrtc_->major() >= 13;  // asking costs a compilation
    if (recent || nvrtc_->accepts_option("--frandom-seed=regtune"))
      fixed_options_.emplace_back("--frandom-seed=regtune");
    if (nvrtc_->has_own_cache()) fixed_options_.emplace_back("--no-cache");
  }
  const RegisterPolicy policy = budget ? budget->policy : RegisterPolicy(AuthorsOwn{});
  AuthorText author{source.text, source.path};
  author.splits_headers = holds_kernel(source.text, last_name(source.kernel));
  author.keeps_cluster = declares_cluster(source.text, source.kernel);
  if (budget) author.macros = budget->macros;
  if (budget && budget->spills_to_shared) author.spills_to_shared = last_name(source.kernel);
  const BudgetText text = budget_text(author, policy);

  NvrtcRequest request;
  request.file_name = source.path;
  request.source = text.headers + (text.headers.empty() ? "" : "\n") + text.rest;
  request.options = {"--gpu-architecture=" + architecture};
  request.options.insert(request.options.end(), fixed_options_.begin(), fixed_options_.end());
  request.options.push_back("--include-path=" + folder_of(source.path));
  for (const fs::path& folder : include_folders(nvrtc_->library_path()))
    request.options.push_back("--include-path=" + folder.string());
  for (std::string& option : without_macros(source.options.options, author.macros))
    request.options.push_back(std::move(option));
  if (budget && budget->register_usage_level >= 0)
    request.options.push_back("--ptxas-options=--register-usage-level=" + std::to_string(budget->register_usage_level));
  int cap = source.options.cap;
  if (!std::holds_alternative<AuthorsOwn>(policy)) cap = 0;
  if (const auto* asked = std::get_if<RegisterCap>(&policy)) cap = asked->registers_per_thread;
  if (cap != 0) request.options.push_back("--maxrregcount=" + std::to_string(cap));
  std::string expression = source.entry.empty() ? name_expression(source.kernel) : "";
  if (budget && !budget->instance.empty()) expression = budget->instance;
  if (!expression.empty()) request.name_expressions.push_back(expression);

  const CompilerReply reply = nvrtc_->compile(request);
  JitCode code;
  code.log = reply.log;
  if (!reply.compiled) return code;
  code.cubin = reply.cubin;
  code.entry = source.entry.empty() ? source.kernel : source.entry;
  if (!reply.lowered_names.empty()) code.entry = reply.lowered_names.front();
  return code;
}

}  // namespace regtune
