#include "nvcc_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace regtune {
namespace {

struct Spelling {
  std::string_view nvcc;
  std::string_view nvrtc;  // empty: left out
};

// With a value: apart ("-I inc"), behind "=", or, of one letter, joined to it.
constexpr std::array<Spelling, 51> kWithValue = {{{"-I", "--include-path"},
                                                  {"--include-path", "--include-path"},
                                                  {"-isystem", "--include-path"},
                                                  {"--system-include", "--include-path"},
                                                  {"-D", "--define-macro"},
                                                  {"--define-macro", "--define-macro"},
                                                  {"-U", "--undefine-macro"},
                                                  {"--undefine-macro", "--undefine-macro"},
                                                  {"-include", "--pre-include"},
                                                  {"--pre-include", "--pre-include"},
                                                  {"-std", "--std"},
                                                  {"--std", "--std"},
                                                  {"-maxrregcount", "--maxrregcount"},
                                                  {"--maxrregcount", "--maxrregcount"},
                                                  {"-Xptxas", "--ptxas-options"},
                                                  {"--ptxas-options", "--ptxas-options"},
                                                  {"-fmad", "--fmad"},
                                                  {"--fmad", "--fmad"},
                                                  {"-ftz", "--ftz"},
                                                  {"--ftz", "--ftz"},
                                                  {"-prec-div", "--prec-div"},
                                                  {"--prec-div", "--prec-div"},
                                                  {"-prec-sqrt", "--prec-sqrt"},
                                                  {"--prec-sqrt", "--prec-sqrt"},
                                                  {"-diag-suppress", "--diag-suppress"},
                                                  {"--diag-suppress", "--diag-suppress"},
                                                  {"-arch", ""},
                                                  {"--gpu-architecture", ""},
                                                  {"-code", ""},
                                                  {"--gpu-code", ""},
                                                  {"-gencode", ""},
                                                  {"--generate-code", ""},
                                                  {"-o", ""},
                                                  {"--output-file", ""},
                                                  {"-Xcompiler", ""},
                                                  {"--compiler-options", ""},
                                                  {"-Xlinker", ""},
                                                  {"--linker-options", ""},
                                                  {"-ccbin", ""},
                                                  {"--compiler-bindir", ""},
                                                  {"-x", ""},
                                                  {"-L", ""},
                                                  {"-l", ""},
                                                  {"-MF", ""},
                                                  {"-MT", ""},
                                                  {"-MQ", ""},
                                                  {"-t", ""},
                                                  {"--threads", ""},
                                                  {"-cudart", ""},
                                                  {"--cudart", ""},
                                                  {"--default-stream", ""}}};

// Alone.
constexpr std::array<Spelling, 34> kAlone = {{{"-use_fast_math", "--use_fast_math"},
                                              {"--use_fast_math", "--use_fast_math"},
                                              {"-lineinfo", "-lineinfo"},
                                              {"--generate-line-info", "-lineinfo"},
                                              {"-restrict", "--restrict"},
                                              {"--restrict", "--restrict"},
                                              {"-G", "-G"},
                                              {"-g", ""},
                                              {"-pg", ""},
                                              {"-O", ""},
                                              {"-O0", ""},
                                              {"-O1", ""},
                                              {"-O2", ""},
                                              {"-O3", ""},
                                              {"-c", ""},
                                              {"--compile", ""},
                                              {"-cubin", ""},
                                              {"--cubin", ""},
                                              {"-ptx", ""},
                                              {"-shared", ""},
                                              {"--shared", ""},
                                              {"-MD", ""},
                                              {"-MMD", ""},
                                              {"-MP", ""},
                                              {"-m64", ""},
                                              {"-w", ""},
                                              {"-v", ""},
                                              {"-keep", ""},
                                              {"--keep", ""},
                                              {"-extended-lambda", ""},
                                              {"--extended-lambda", ""},
                                              {"--expt-extended-lambda", ""},
                                              {"-expt-relaxed-constexpr", ""},
                                              {"--expt-relaxed-constexpr", ""}}};

template <std::size_t N>
std::optional<Spelling> find(const std::array<Spelling, N>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Spelling& one) { return one.nvcc == name; });
  return found == table.end() ? std::nullopt : std::optional(*found);
}

// The host's part of a file is nvcc's to read too: its dialect and headers can reach device code.
constexpr std::array<std::string_view, 9> kOfNvcc = {"-Xcompiler",
                                                     "--compiler-options",
                                                     "-ccbin",
                                                     "--compiler-bindir",
                                                     "-extended-lambda",
                                                     "--extended-lambda",
                                                     "--expt-extended-lambda",
                                                     "-expt-relaxed-constexpr",
                                                     "--expt-relaxed-constexpr"};

bool is_of_nvcc(std::string_view name) {
  return std::find(kOfNvcc.begin(), kOfNvcc.end(), name) != kOfNvcc.end();
}

void keep(CompilerArguments& result, const Spelling& option, std::string value, const std::string& written) {
  // NVRTC knows no GNU dialects; ptxas's report is always asked for.
  if (option.nvrtc == "--std" && value.starts_with("gnu")) value.replace(0, 3, "c");
  const bool repeats = option.nvrtc == "--ptxas-options" && value == "-v";
  if (is_of_nvcc(option.nvcc)) result.of_nvcc.push_back(fmt::format("{}={}", option.nvcc, value));
  if (option.nvrtc.empty() || repeats)
    result.left_out.push_back(written);
  else
    result.kept.push_back(std::string(option.nvrtc) + "=" + value);
}

}  // namespace

bool is_nvcc(const std::string& word) {
  return word == "nvcc" || word.ends_with("/nvcc");
}

CompilerArguments from_nvcc(const std::vector<std::string>& arguments) {
  CompilerArguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& written = arguments[i];
    if (!written.starts_with('-')) {
      // The source itself is named already.
      if (!written.ends_with(".cu")) result.left_out.push_back(written);
      continue;
    }
    const std::size_t equals = written.find('=');
    const auto joined = find(kWithValue, written.substr(0, equals));
    const auto letter = find(kWithValue, written.substr(0, 2));
    if (const auto alone = find(kAlone, written)) {
      if (is_of_nvcc(alone->nvcc)) result.of_nvcc.push_back(written);
      if (alone->nvrtc.empty())
        result.left_out.push_back(written);
      else
        result.kept.emplace_back(alone->nvrtc);
    } else if (joined && equals != std::string::npos) {
      keep(result, *joined, written.substr(equals + 1), written);
    } else if (joined && i + 1 < arguments.size()) {
      keep(result, *joined, arguments[i + 1], written + " " + arguments[i + 1]);
      ++i;
    } else if (letter && !written.starts_with("--") && written.size() > 2 && !joined) {
      keep(result, *letter, written.substr(2), written);
    } else if (written.starts_with("-W") || written.starts_with("-rdc") ||
               written.starts_with("--relocatable-device-code")) {
      result.left_out.push_back(written);
    } else {
      result.kept.push_back(written);
    }
  }
  return result;
}

}  // namespace regtune
