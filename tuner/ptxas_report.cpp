#include "ptxas_report.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

namespace regtune {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The number right before `unit`: 512 of "..., 512 bytes smem" for " bytes smem".
std::optional<int> number_before(std::string_view line, std::string_view unit) {
  const auto end = line.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = end;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  int number = 0;
  const auto [stop, error] = std::from_chars(line.data() + begin, line.data() + end, number);
  if (error != std::errc() || stop != line.data() + end) return std::nullopt;
  return number;
}

// What stands between `before` and `after`; empty when either is missing.
std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const auto at = line.find(before);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + before.size());
  const auto end = line.find(after);
  return end == std::string_view::npos ? std::string_view{} : line.substr(0, end);
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view message_of(std::string_view line) {
  const auto colon = line.find(" : ");
  return colon == std::string_view::npos ? line : trimmed(line.substr(colon + 3));
}

bool is_note(std::string_view line) {
  if (line.starts_with("ptxas warning")) return true;
  if (!line.starts_with("ptxas info")) return false;
  return line.find("Overriding") != std::string_view::npos || line.find("ignored") != std::string_view::npos;
}

// "for 'k' with", "for entry k is", "For entry k adjusting", "in function 'k',".
std::string_view kernel_named_in(std::string_view note) {
  if (const auto name = between(note, "'", "'"); !name.empty()) return name;
  return between(note, "or entry ", " ");
}

int saturating_sum(int a, int b) {
  return a > std::numeric_limits<int>::max() - b ? std::numeric_limits<int>::max() : a + b;
}

}  // namespace

int PtxasEntry::spill_store_bytes() const {
  int bytes = own.spill_store_bytes;
  for (const auto& function : functions) bytes = saturating_sum(bytes, function.spill_store_bytes);
  return bytes;
}

int PtxasEntry::spill_load_bytes() const {
  int bytes = own.spill_load_bytes;
  for (const auto& function : functions) bytes = saturating_sum(bytes, function.spill_load_bytes);
  return bytes;
}

const PtxasEntry* PtxasReport::find(std::string_view kernel) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const PtxasEntry& entry) { return entry.own.name == kernel; });
  return found != entries.end() ? &*found : nullptr;
}

// ptxas reports a kernel, then the copies of the functions it calls, then the next kernel. The line of a
// frame follows the line that names the function; NVRTC prefixes it with "ptxas         .", nvcc with blanks.
PtxasReport read_ptxas_report(std::string_view log) {
  PtxasReport report;
  std::vector<std::string_view> notes;
  PtxasFunction* function = nullptr;  // that the next frame line is about
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    const std::string_view line = trimmed(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const auto kernel = between(line, "Compiling entry function '", "'"); !kernel.empty()) {
      PtxasEntry& entry = report.entries.emplace_back();
      entry.own.name = kernel;
      entry.architecture = between(line, "' for '", "'");
      function = &entry.own;
    } else if (const auto at = line.find("Function properties for "); at != std::string_view::npos) {
      if (report.entries.empty()) continue;
      PtxasEntry& entry = report.entries.back();
      const std::string_view name = line.substr(at + 24);
      function = name == entry.own.name ? &entry.own : &entry.functions.emplace_back();
      function->name = name;
    } else if (const auto frame = number_before(line, " bytes stack frame"); frame && function != nullptr) {
      function->stack_frame_bytes = *frame;
      function->spill_store_bytes = number_before(line, " bytes spill stores").value_or(0);
      function->spill_load_bytes = number_before(line, " bytes spill loads").value_or(0);
      function = nullptr;
    } else if (line.find("Used ") != std::string_view::npos && !report.entries.empty()) {
      const auto used = number_before(line, " registers");
      if (!used) continue;
      PtxasEntry& entry = report.entries.back();
      entry.registers_per_thread = *used;
      entry.cumulative_stack_bytes = number_before(line, " bytes cumulative stack size");
      entry.static_shared_bytes = number_before(line, " bytes smem").value_or(0);
    } else if (is_note(line)) {
      notes.push_back(line);
    }
  }
  // Remarks on budgets come before the entries they are about.
  std::map<std::string_view, PtxasEntry*> by_name;
  for (auto& entry : report.entries) by_name[entry.own.name] = &entry;
  for (const auto line : notes) {
    const auto found = by_name.find(kernel_named_in(line));
    (found != by_name.end() ? found->second->notes : report.notes).emplace_back(message_of(line));
  }
  return report;
}

}  // namespace regtune
