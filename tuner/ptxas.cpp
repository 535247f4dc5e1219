#include "ptxas.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string_view>

#include "child_program.hpp"
#include "nvcc.hpp"
#include "scratch_folder.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr double kQuestionLimitS = 30;

std::string read_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::optional<Ptxas> Ptxas::open(std::string& why_not) {
  const std::vector<fs::path> candidates = program_candidates(ptxas_program());
  if (candidates.empty()) {
    why_not =
        "ptxas is not there, and PTX needs it: it was looked for in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* and "
        "NVIDIA's wheels; REGTUNE_PTXAS names it";
    return {};
  }
  Ptxas ptxas;
  ptxas.file_ = candidates.front().string();
  const ProgramRun run = run_program({{ptxas.file_, "--version"}, kQuestionLimitS});
  ptxas.version_ = nvcc_release(run.output);  // it speaks as nvcc does
  if (!run.succeeded || ptxas.version_.empty()) {
    why_not = fmt::format("{} is no ptxas that can be used: it {}{}", ptxas.file_, run.how,
                          run.succeeded ? " and tells no version" : "");
    return {};
  }
  return ptxas;
}

std::vector<int> Ptxas::architectures() const {
  return architectures_in(run_program({{file_, "--help"}, kQuestionLimitS}).output, "'sm_");
}

CompilerReply compile_by_ptxas(const PtxasRequest& request) {
  CompilerReply reply;
  const ScratchFolder folder(request.scratch_folder);
  if (folder.path().empty()) {
    reply.log = "no folder for ptxas's files can be made; set TMPDIR to one that is writable";
    return reply;
  }
  const fs::path text = folder.path() / fs::path(request.file).filename();
  std::ofstream(text, std::ios::binary) << request.text;
  const fs::path output = folder.path() / "regtune-output";
  ProgramRequest program{{request.program}, request.limit_s, {{"TMPDIR", folder.path().string()}}};
  program.words.insert(program.words.end(), request.options.begin(), request.options.end());
  program.words.insert(program.words.end(), {"-v", "-o", output.string(), text.string()});
  const ProgramRun run = run_program(program);
  reply.log = run.output;
  replace_all(reply.log, text.string(), request.file);
  if (run.succeeded) reply.cubin = read_whole(output);
  reply.compiled = !reply.cubin.empty();
  if (!reply.compiled) reply.log += (reply.log.empty() || reply.log.back() == '\n' ? "ptxas " : "\nptxas ") + run.how;
  return reply;
}

std::vector<std::string> ptxas_options(const std::vector<std::string>& options) {
  std::vector<std::string> bare;
  const auto add_list = [&](std::string_view list) {
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      if (end > begin) bare.emplace_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string_view option = options[i];
    const bool is_apart = option == "-Xptxas" || option == "--ptxas-options";
    const bool is_joined = option.starts_with("-Xptxas=") || option.starts_with("--ptxas-options=");
    if (is_apart && i + 1 < options.size())
      add_list(options[++i]);
    else if (is_joined)
      add_list(option.substr(option.find('=') + 1));
    else
      bare.emplace_back(option);
  }
  return bare;
}

}  // namespace regtune
