#include "nvcc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "child_program.hpp"
#include "scratch_folder.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr double kQuestionLimitS = 30;
constexpr const char* kInstance = "regtune_instance";

std::string read_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "12" and "2" of "12.2.0".
int number_at(const std::string& text, std::size_t part) {
  std::size_t begin = 0;
  for (; part > 0; --part) begin = std::min(text.find('.', begin), text.size() - 1) + 1;
  int number = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return number;
}

std::string digits_behind(const std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + mark.size();
  const std::size_t end = text.find_first_not_of("0123456789.", begin);
  return text.substr(begin, end == std::string::npos ? end : end - begin);
}

// 120200 -> "12.2.0", as cicc is told it.
std::string spell_version(const std::string& number) {
  int version = 0;
  std::from_chars(number.data(), number.data() + number.size(), version);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

std::string nvcc_release(const std::string& version_text) {
  return digits_behind(version_text, ", V");
}

std::string host_compiler(const std::string& dry_run) {
  if (const std::string gnu = digits_behind(dry_run, "--gnu_version="); !gnu.empty())
    return "GCC " + spell_version(gnu);
  if (const std::string clang = digits_behind(dry_run, "--clang_version="); !clang.empty())
    return "Clang " + spell_version(clang);
  return "";
}

std::optional<Nvcc> Nvcc::open(const std::string& file, std::string& why_not) {
  const std::vector<fs::path> candidates =
      file.empty() ? program_candidates(nvcc_program()) : std::vector<fs::path>{file};
  if (candidates.empty()) {
    why_not =
        "nvcc is not there: it was looked for in PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda*; --nvcc FILE names it";
    return {};
  }
  Nvcc nvcc;
  nvcc.file_ = candidates.front().string();
  const ProgramRun run = run_program({{nvcc.file_, "--version"}, kQuestionLimitS});
  nvcc.release_ = nvcc_release(run.output);
  if (!run.succeeded || nvcc.release_.empty()) {
    why_not = fmt::format("{} is no nvcc that can be used: it {}{}", nvcc.file_, run.how,
                          run.succeeded ? " and tells no version" : "");
    return {};
  }
  nvcc.major_ = number_at(nvcc.release_, 0);
  nvcc.minor_ = number_at(nvcc.release_, 1);
  // What it would do with a file is told without one. Its choice of a host compiler is the user's own.
  const ScratchFolder folder;
  if (!folder.path().empty()) {
    const fs::path empty = folder.path() / "empty.cu";
    std::ofstream(empty) << '\n';
    nvcc.host_ =
        host_compiler(run_program({{nvcc.file_, "--dryrun", "-cubin", empty.string()}, kQuestionLimitS}).output);
  }
  return nvcc;
}

std::string Nvcc::version() const {
  return host_.empty() ? release_ : fmt::format("{} with {}", release_, host_);
}

std::vector<int> Nvcc::architectures() const {
  return architectures_in(run_program({{file_, "--list-gpu-arch"}, kQuestionLimitS}).output, "compute_");
}

std::vector<int> architectures_in(const std::string& text, std::string_view mark) {
  std::vector<int> numbers;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    int number = 0;
    std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), number);
    if (number > 0) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

CompilerReply compile_by_nvcc(const NvccRequest& request) {
  CompilerReply reply;
  const ScratchFolder folder(request.scratch_folder);
  if (folder.path().empty()) {
    reply.log = "no folder for nvcc's files can be made; set TMPDIR to one that is writable";
    return reply;
  }
  // The author's name is part of some mangled names, so the text goes by it too.
  const fs::path text = folder.path() / fs::path(request.file).filename();
  if (!request.text.empty()) std::ofstream(text, std::ios::binary) << request.text;
  const fs::path output = folder.path() / "regtune-output";
  ProgramRequest program{{request.program}, request.limit_s, {{"TMPDIR", folder.path().string()}}};
  program.words.insert(program.words.end(), request.options.begin(), request.options.end());
  if (request.lto_ir)
    program.words.insert(program.words.end(), {"-dlto", "-ltoir"});
  else
    program.words.emplace_back("-cubin");
  program.words.insert(program.words.end(),
                       {"-x", "cu", "-o", output.string(), request.text.empty() ? request.file : text.string()});
  const ProgramRun run = run_program(program);
  reply.log = run.output;
  std::string code = run.succeeded ? read_whole(output) : "";
  reply.compiled = !code.empty();
  if (!reply.compiled) reply.log += (reply.log.empty() || reply.log.back() == '\n' ? "nvcc " : "\nnvcc ") + run.how;
  (request.lto_ir ? reply.lto_ir : reply.cubin) = std::move(code);
  return reply;
}

std::string instances_text(const std::vector<std::string>& name_expressions) {
  if (name_expressions.empty()) return "";
  // A variable's template arguments are in its name, and its address is nobody's constant.
  std::string text = fmt::format(
      "\ntemplate <int regtune_i, class regtune_f, regtune_f regtune_k> __device__ char {} = 0;\n", kInstance);
  for (std::size_t i = 0; i < name_expressions.size(); ++i)
    text +=
        fmt::format("template __device__ char {0}<{1}, decltype(&{2}), &{2}>;\n", kInstance, i, name_expressions[i]);
  return text;
}

std::vector<std::string> instance_names(const std::string& cubin, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    // _Z16regtune_instanceILi0EPFvPfiEXadL_Z2sgILi128EfEvPT0_iEEE: the kernel's name stands between "XadL" and "EEE".
    const std::string begin = fmt::format("{}ILi{}E", kInstance, i);
    const std::size_t at = cubin.find(begin);
    if (at == std::string::npos) return {};
    const std::string symbol = cubin.substr(at, cubin.find('\0', at) - at);
    constexpr std::string_view kAddress = "XadL";
    constexpr std::string_view kEnd = "EEE";
    const std::size_t name = symbol.find(kAddress);
    if (name == std::string::npos || !symbol.ends_with(kEnd)) return {};
    const std::size_t first = name + kAddress.size();
    names.push_back(symbol.substr(first, symbol.size() - kEnd.size() - first));
  }
  return names;
}

void fix_anonymous_names(std::string& cubin) {
  constexpr std::string_view kMark = "_GLOBAL__N__";
  constexpr std::size_t kDigits = 8;
  for (std::size_t at = cubin.find(kMark); at != std::string::npos; at = cubin.find(kMark, at + 1)) {
    const std::size_t begin = at + kMark.size();
    if (begin + kDigits >= cubin.size() || cubin[begin + kDigits] != '_') continue;
    const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    if (std::all_of(cubin.begin() + static_cast<std::ptrdiff_t>(begin),
                    cubin.begin() + static_cast<std::ptrdiff_t>(begin + kDigits), is_digit))
      cubin.replace(begin, kDigits, kDigits, '0');
  }
}

}  // namespace regtune
