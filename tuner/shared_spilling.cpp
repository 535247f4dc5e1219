#include "shared_spilling.hpp"

#include <algorithm>
#include <vector>

#include "record.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

// Itanium ABI: an identifier is written behind its length.
bool is_named(const ScannedKernel& kernel, std::string_view name) {
  if (kernel.name == name) return true;
  return name.starts_with("_Z") &&
         name.find(std::to_string(kernel.name.size()) + kernel.name) != std::string_view::npos;
}

std::string_view trimmed_line(std::string_view text, std::size_t at) {
  const std::size_t before = text.rfind('\n', at);
  std::string_view line = text.substr(before == std::string_view::npos ? 0 : before + 1);
  line = line.substr(0, line.find('\n'));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::optional<std::string> with_shared_spilling(std::string_view text, std::string_view kernel) {
  std::vector<std::size_t> places;
  for (const ScannedKernel& scanned : scan_kernels(text))
    if (scanned.is_definition && is_named(scanned, kernel)) places.push_back(scanned.body);
  if (places.empty()) return {};
  std::sort(places.begin(), places.end(), std::greater<>());
  std::string changed(text);
  for (const std::size_t place : places) changed.insert(place, std::string(" ") + shared_spilling_statement);
  return changed;
}

std::optional<std::string> why_no_shared_spilling(std::string_view failure) {
  // (C7800) is said of functions that use the ABI, and does not name the pragma. In ptxas's words, since a compiler's
  // message may quote the source, too.
  for (const std::string_view mark : {"Pragma 'enable_smem_spilling'", "C7800"}) {
    const std::size_t at = failure.find(mark);
    if (at == std::string_view::npos) continue;
    std::string_view line = trimmed_line(failure, at);
    // "ptxas fatal   : Pragma ..."; the severity is ptxas's, and not regtune's.
    const std::size_t colon = line.find(" : ");
    if (line.starts_with("ptxas") && colon != std::string_view::npos) line.remove_prefix(colon + 3);
    return "ptxas: " + std::string(line);
  }
  return {};
}

}  // namespace regtune
