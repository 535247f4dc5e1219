#include "elf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "regtune/error.hpp"

namespace regtune {

static_assert(std::endian::native == std::endian::little, "cubins are little-endian and read in place");

void malformed_cubin(const std::string& what) {
  throw Error(ErrorKind::source_not_compiled,
              fmt::format("not a well-formed cubin: {}. Compile for a real architecture, sm_75 or newer, with CUDA 12 "
                          "or 13",
                          what));
}

std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || bytes.size() - offset < size) {
    malformed_cubin(fmt::format("{} lies outside ({} bytes at {} of {})", what, size, offset, bytes.size()));
  }
  return bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

namespace {

constexpr std::uint32_t section_nobits = 8, section_rela = 4, section_rel = 9;

std::string_view text_at(std::string_view table, std::uint64_t offset, const char* what) {
  // The longest mangled names are a few KiB. The limit keeps the time linear where no name ends.
  constexpr std::size_t longest = 1 << 16;
  if (offset > table.size()) malformed_cubin(fmt::format("{} lies outside", what));
  const std::string_view tail = table.substr(static_cast<std::size_t>(offset), longest);
  const auto end = tail.find('\0');
  if (end == std::string_view::npos) malformed_cubin(fmt::format("{} does not end", what));
  return tail.substr(0, end);
}

}  // namespace

ElfFile::ElfFile(std::string_view bytes) {
  constexpr std::uint16_t machine_cuda = 190;
  if (bytes.size() < 64 || !bytes.starts_with("\x7f"
                                              "ELF\x02\x01"))
    malformed_cubin("no 64-bit ELF header");
  if (load_number<std::uint16_t>(bytes, 18, "the machine") != machine_cuda) malformed_cubin("the machine is not CUDA");
  // A relocatable file cannot be loaded, and its stack and registers are not yet those of the whole.
  if (load_number<std::uint16_t>(bytes, 16, "the type") != 2) {
    malformed_cubin("it is not linked (leave out -rdc=true and -dc)");
  }
  // ABI version 8 (CUDA 13) holds the architecture in the second byte of e_flags; 7 (CUDA 12) in the first.
  const auto flags = load_number<std::uint32_t>(bytes, 48, "the flags");
  sm = static_cast<int>((bytes[8] >= 8 ? flags >> 8 : flags) & 0xff);
  if (sm < 75) malformed_cubin(fmt::format("it is for sm_{}", sm));
  read_sections(bytes);
  read_symbols();
  read_relocations();
  read_calls();
}

void ElfFile::read_sections(std::string_view bytes) {
  constexpr std::uint64_t entry = 64;
  const auto table = load_number<std::uint64_t>(bytes, 40, "the section table");
  const auto count = load_number<std::uint16_t>(bytes, 60, "the section count");
  const auto names = load_number<std::uint16_t>(bytes, 62, "the section of names");
  const std::string_view headers = slice(bytes, table, count * entry, "the section table");
  std::uint64_t total = 0;
  std::vector<std::uint32_t> name_offsets;
  for (std::uint64_t at = 0; at < headers.size(); at += entry) {
    ElfSection section;
    name_offsets.push_back(load_number<std::uint32_t>(headers, at, "a section"));
    section.type = load_number<std::uint32_t>(headers, at + 4, "a section");
    const bool executable = (load_number<std::uint64_t>(headers, at + 8, "a section") & 4) != 0;
    section.holds_code = executable && section.type != section_nobits;
    section.size = load_number<std::uint64_t>(headers, at + 32, "a section");
    section.link = load_number<std::uint32_t>(headers, at + 40, "a section");
    section.info = load_number<std::uint32_t>(headers, at + 44, "a section");
    if (section.type != section_nobits && section.type != 0) {
      section.data = slice(bytes, load_number<std::uint64_t>(headers, at + 24, "a section"), section.size, "a section");
      total += section.size;
    }
    sections.push_back(section);
  }
  // Sections that overlap could make a small file cost the square of its size. Some do: from sm_100 on
  // .nv.merc.nv.constant.pic, .nv.merc.nv.global.init and others view the bytes of the section they mirror.
  if (total > 2 * std::uint64_t{bytes.size()}) malformed_cubin("sections overlap");
  if (names >= sections.size()) malformed_cubin("there is no section of names");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    sections[i].name = text_at(sections[names].data, name_offsets[i], "a section's name");
    by_name_.try_emplace(sections[i].name, i);
  }
}

void ElfFile::read_symbols() {
  constexpr std::uint64_t entry = 24;
  const ElfSection* table = find(".symtab");
  if (table == nullptr || table->link >= sections.size()) malformed_cubin("there is no symbol table");
  const std::string_view names = sections[table->link].data;
  for (std::uint64_t at = 0; at + entry <= table->data.size(); at += entry) {
    ElfSymbol symbol;
    symbol.name = text_at(names, load_number<std::uint32_t>(table->data, at, "a symbol"), "a symbol's name");
    symbol.is_function = (load_number<std::uint8_t>(table->data, at + 4, "a symbol") & 0xf) == 2;
    symbol.is_kernel = symbol.is_function && (load_number<std::uint8_t>(table->data, at + 5, "a symbol") & 0x10) != 0;
    symbol.is_object = (load_number<std::uint8_t>(table->data, at + 4, "a symbol") & 0xf) == 1;
    symbol.section = load_number<std::uint16_t>(table->data, at + 6, "a symbol");
    symbol.value = load_number<std::uint64_t>(table->data, at + 8, "a symbol");
    symbol.size = load_number<std::uint64_t>(table->data, at + 16, "a symbol");
    symbols.push_back(symbol);
  }
}

void ElfFile::read_relocations() {
  for (const ElfSection& section : sections) {
    if (section.type != section_rela && section.type != section_rel) continue;
    const bool has_addend = section.type == section_rela;
    const std::uint64_t entry = has_addend ? 24 : 16;
    auto& list = relocations[section.info];
    for (std::uint64_t at = 0; at + entry <= section.data.size(); at += entry) {
      const auto info = load_number<std::uint64_t>(section.data, at + 8, "a relocation");
      ElfRelocation relocation{load_number<std::uint64_t>(section.data, at, "a relocation"),
                               static_cast<std::uint32_t>(info), static_cast<std::uint32_t>(info >> 32), 0};
      if (has_addend) relocation.addend = load_number<std::int64_t>(section.data, at + 16, "a relocation");
      if (relocation.symbol >= symbols.size()) malformed_cubin("a relocation names no symbol");
      list.push_back(relocation);
    }
  }
  for (auto& [section, list] : relocations) {
    std::sort(list.begin(), list.end(), [](const ElfRelocation& a, const ElfRelocation& b) {
      return std::tie(a.offset, a.type, a.symbol, a.addend) < std::tie(b.offset, b.type, b.symbol, b.addend);
    });
  }
}

// Through relocations to a function of another section, through .nv.callgraph (calls and functions whose
// address is taken), and through both at once.
void ElfFile::read_calls() {
  const auto add = [&](std::uint32_t caller, const ElfSymbol& callee) {
    if (!callee.is_function || callee.section >= sections.size()) return;
    if (callee.section != caller && sections[callee.section].holds_code) calls_[caller].push_back(callee.section);
  };
  for (const auto& [section, list] : relocations) {
    for (const ElfRelocation& relocation : list) add(section, symbols[relocation.symbol]);
  }
  if (const ElfSection* graph = find(".nv.callgraph")) {
    // Rows (0, -1), (0, -2), ... open the parts; -1 holds calls, -4 functions whose address is taken.
    std::uint32_t part = 0;
    for (std::uint64_t at = 0; at + 8 <= graph->data.size(); at += 8) {
      const auto caller = load_number<std::uint32_t>(graph->data, at, "the call graph");
      const auto callee = load_number<std::uint32_t>(graph->data, at + 4, "the call graph");
      if (caller == 0) part = callee;
      if (caller == 0 || (part != 0xffffffff && part != 0xfffffffc)) continue;
      if (caller >= symbols.size() || callee >= symbols.size()) malformed_cubin("the call graph names no symbol");
      add(symbols[caller].section, symbols[callee]);
    }
  }
  for (auto& [section, list] : calls_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

std::vector<std::uint32_t> ElfFile::reached_from(std::uint32_t section) const {
  std::vector<std::uint32_t> reached = {section};
  std::unordered_map<std::uint32_t, bool> seen = {{section, true}};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto callees = calls_.find(reached[i]);
    if (callees == calls_.end()) continue;
    for (const std::uint32_t callee : callees->second) {
      if (seen.try_emplace(callee, true).second) reached.push_back(callee);
    }
  }
  return reached;
}

}  // namespace regtune
