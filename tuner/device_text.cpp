#include "device_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "gnu_extensions.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"
#include "stand_ins.hpp"

namespace regtune {
namespace {

constexpr int kMostTries = 25;
constexpr std::size_t kMostErrorsTold = 12;
const std::string kNewerStandard = "-std=c++20";

// "NVRTC 13.0.88" -> 13000, as CUDA_VERSION says it.
int cuda_version(const std::string& compiler) {
  int major = 0;
  int minor = 0;
  const std::size_t at = compiler.find_first_of("0123456789");
  if (at == std::string::npos) return 0;
  const char* const end = compiler.data() + compiler.size();
  const auto [dot, failure] = std::from_chars(compiler.data() + at, end, major);
  if (failure == std::errc() && dot != end && *dot == '.') std::from_chars(dot + 1, end, minor);
  return major * 1000 + minor * 10;
}

std::vector<std::string> words_of(const std::optional<std::string>& template_id) {
  std::vector<std::string> words;
  if (!template_id) return words;
  for (const Token& token : tokenize(*template_id))
    if (token.kind == TokenKind::identifier) words.push_back(spelling(*template_id, token));
  return words;
}

std::vector<std::string> project_folders(const CompileUnit& unit) {
  std::vector<std::string> folders = unit.include_folders;
  for (std::size_t i = 0; i < unit.options.size(); ++i) {
    const std::string& option = unit.options[i];
    if ((option == "-I" || option == "--include-path" || option == "-isystem") && i + 1 < unit.options.size())
      folders.push_back(unit.options[i + 1]);
    else if (option.starts_with("-I"))
      folders.push_back(option.substr(option.starts_with("-I=") ? 3 : 2));
    else if (option.starts_with("--include-path="))
      folders.push_back(option.substr(15));
  }
  return folders;
}

bool says_standard(const CompileUnit& unit) {
  return std::any_of(unit.options.begin(), unit.options.end(), [](const std::string& option) {
    return option.starts_with("-std") || option.starts_with("--std");
  });
}

CompiledCode try_to_compile(const CompileUnit& unit, CompilePool& pool) {
  // LTO-IR where it can be had: the front end's word is what counts, and machine code takes longer.
  const bool linked = pool.identity().why_no_linker.empty() && !pool.identity().linker.empty();
  CompileJob job;
  job.request = compile_request(unit, {AuthorsOwn{}}, linked ? NvrtcOutput::lto_ir : NvrtcOutput::cubin, "");
  job.others_link_it = false;
  return pool.prepare(std::move(job));
}

// The name in "cannot open source file "x.h"".
std::optional<std::string> missing_header(const std::string& complaint) {
  const std::string words = "open source file \"";
  const std::size_t at = complaint.find(words);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + words.size();
  return complaint.substr(begin, complaint.find('"', begin) - begin);
}

// The name in "identifier "uint32_t" is undefined", "namespace "std" has no member "common_type"".
std::optional<std::string> missing_name(const std::string& complaint) {
  const std::string_view member = "has no member \"";
  std::size_t begin = complaint.find("identifier \"");
  if (const std::size_t at = complaint.find(member); at != std::string::npos)
    begin = at + member.size();
  else if (begin != std::string::npos && complaint.find("is undefined", begin) != std::string::npos)
    begin += 12;
  else
    return {};
  return complaint.substr(begin, complaint.find('"', begin) - begin);
}

std::vector<std::string> missing_names(const std::vector<Complaint>& complaints) {
  std::vector<std::string> names;
  for (const Complaint& complaint : complaints)
    if (auto name = missing_name(complaint.text)) names.push_back(std::move(*name));
  return names;
}

bool says_word(const std::string& text, const std::string& word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

// The kernels that the compiler names as those whose instance it was making when it met an error.
bool refuse_guesses(const std::string& log, DeviceSlice& slice) {
  std::set<std::string> refused;
  for (std::size_t at = log.find("instantiation of \""); at != std::string::npos;
       at = log.find("instantiation of \"", at + 1)) {
    const std::string line = log.substr(at, log.find('\n', at) - at);
    for (const LaunchedInstance& instance : slice.instances())
      if (instance.is_guess && says_word(line, instance.kernel)) refused.insert(instance.kernel);
  }
  for (const std::string& kernel : refused) slice.refuse_instance(kernel);
  return !refused.empty();
}

// Where nothing else helps: the instances of all kernels that the compiler's log names.
bool refuse_instances(const std::string& log, DeviceSlice& slice) {
  std::set<std::string> guessed;
  std::set<std::string> launched;
  for (const LaunchedInstance& instance : slice.instances())
    if (says_word(log, instance.kernel)) (instance.is_guess ? guessed : launched).insert(instance.kernel);
  const std::set<std::string>& refused = guessed.empty() ? launched : guessed;
  for (const std::string& kernel : refused) slice.refuse_instance(kernel);
  return !refused.empty();
}

// What can be given beside the text: headers that the toolkit's headers miss, stand-ins for names that the author had
// from a header of the host's, a newer C++ for what the host's compiler takes in an older one. True where one was.
bool supply(const std::vector<Complaint>& complaints, CompileUnit& unit, std::vector<std::string>& headers) {
  bool any = false;
  const auto add = [&any](std::vector<std::string>& list, const std::optional<std::string>& entry) {
    if (!entry || std::count(list.begin(), list.end(), *entry) > 0) return;
    list.push_back(*entry);
    any = true;
  };
  for (const Complaint& complaint : complaints) {
    add(unit.empty_headers, missing_header(complaint.text));
    if (const auto name = missing_name(complaint.text)) add(headers, stand_in_that_declares(*name));
    const bool is_expression = complaint.text.find("expected an expression") != std::string::npos;
    if (is_expression && !says_standard(unit) && has_designated_initialisers(unit.device_text))
      add(unit.fixed_options, kNewerStandard);
  }
  return any;
}

std::vector<std::string> notes_of(const DeviceSlice& slice, const CompileUnit& unit) {
  std::vector<std::string> notes = slice.notes();
  for (const std::string& header : unit.empty_headers)
    notes.push_back(fmt::format("<{}>: not found, and taken to be empty; -I names its folder", header));
  if (std::count(unit.fixed_options.begin(), unit.fixed_options.end(), kNewerStandard) > 0)
    notes.push_back(fmt::format("compiled with {}, for its designated initialisers", kNewerStandard));
  return notes;
}

// The errors, without the warnings between them.
std::string errors_of(const std::string& log, const std::vector<Complaint>& complaints) {
  if (complaints.empty()) return log;
  std::string lines;
  for (std::size_t i = 0; i < complaints.size() && i < kMostErrorsTold; ++i)
    lines += fmt::format("{}({}): {}\n", complaints[i].file, complaints[i].line, complaints[i].text);
  return lines;
}

}  // namespace

std::vector<Complaint> complaints_in(const std::string& log) {
  std::vector<Complaint> complaints;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(at, end - at);
    at = end + 1;
    std::size_t mark = line.find("): error");
    if (mark == std::string::npos) mark = line.find("): catastrophic error");
    const std::size_t open = mark == std::string::npos ? mark : line.rfind('(', mark);
    if (open == std::string::npos) continue;
    Complaint complaint{line.substr(0, open), 0, line.substr(mark + 3)};
    std::from_chars(line.data() + open + 1, line.data() + mark, complaint.line);
    if (complaint.line > 0) complaints.push_back(std::move(complaint));
  }
  return complaints;
}

CompileUnit unit_for_device(CompileUnit unit, const LaunchDescription& description, CompilePool& pool) {
  CompileUnit sliced = unit;
  DeviceSlice slice(unit.source.path, unit.source.text, {project_folders(unit), unit.toolkit_folders},
                    pre_included_files(unit), words_of(description.kernel));
  if (!slice.holds_host_code()) return unit;
  // The text as it is, where that compiles; with the instances that it launches, where it launches any.
  CompileUnit as_it_is = unit;
  for (const LaunchedInstance& instance : slice.instances()) as_it_is.launched_instances.push_back(instance.name);
  if (try_to_compile(as_it_is, pool).compiled) {
    for (const LaunchedInstance& instance : slice.instances())
      if (instance.is_guess) as_it_is.source_notes.push_back(instance.name + ": its template arguments are a guess");
    return as_it_is;
  }

  const int version = cuda_version(pool.identity().name);
  std::vector<std::string> headers;
  std::string log;
  for (int tries = 0; tries < kMostTries; ++tries) {
    set_device_text(sliced, stand_in_prologue(version, headers) + slice.text(), description.kernel);
    sliced.launched_instances.clear();
    for (const LaunchedInstance& instance : slice.instances()) sliced.launched_instances.push_back(instance.name);
    const CompiledCode code = try_to_compile(sliced, pool);
    if (code.compiled) {
      sliced.source_notes = notes_of(slice, sliced);
      return sliced;
    }
    log = code.failure;
    const std::vector<Complaint> complaints = complaints_in(log);
    // From what changes least to what changes most.
    const bool changed = supply(complaints, sliced, headers) || slice.bring_back(missing_names(complaints)) ||
                         refuse_guesses(log, slice) || slice.take_out(complaints) || refuse_instances(log, slice);
    if (!changed) break;
  }
  std::string told = fmt::format("{}: {} takes neither the file as it is nor its device part:\n{}",
                                 unit.source.path.string(), pool.identity().name, errors_of(log, complaints_in(log)));
  for (const std::string& note : slice.notes())
    if (note.find("does not compile") != std::string::npos) told += note + "\n";
  throw Error(ErrorKind::source_not_compiled, told);
}

}  // namespace regtune
