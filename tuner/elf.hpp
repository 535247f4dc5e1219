#pragma once
// The container of a cubin: sections, symbols, relocations and calls of a 64-bit CUDA ELF file, checked once
// and viewed in place. Knows nothing of kernels (cubin.hpp does). Refuses what lies outside the file, sections
// that overlap, relocatable files and architectures before sm_75; the bytes must outlive the object.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace regtune {

// Throws Error(source_not_compiled): "not a well-formed cubin: <what>".
[[noreturn]] void malformed_cubin(const std::string& what);

// Every read of the file goes through load_number or slice, which refuse what lies outside. `what` names
// the part for the message.
std::string_view slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size, const char* what);

template <typename Number>
Number load_number(std::string_view bytes, std::uint64_t offset, const char* what) {
  Number number;
  std::memcpy(&number, slice(bytes, offset, sizeof number, what).data(), sizeof number);
  return number;
}

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  std::string_view data;  // empty for NOBITS
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  bool holds_code = false;  // executable, with bytes
};

struct ElfSymbol {
  std::string_view name;
  bool is_function = false;
  bool is_kernel = false;  // STO_CUDA_ENTRY
  bool is_object = false;  // a variable
  std::uint16_t section = 0;
  std::uint64_t value = 0;  // its offset in the section
  std::uint64_t size = 0;
};

struct ElfRelocation {
  std::uint64_t offset = 0;
  std::uint32_t type = 0;
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

class ElfFile {
 public:
  explicit ElfFile(std::string_view bytes);

  int sm = 0;
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;
  // By the section they apply to, in order of offset.
  std::unordered_map<std::uint32_t, std::vector<ElfRelocation>> relocations;

  // The first section of that name; nullptr when there is none.
  const ElfSection* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found != by_name_.end() ? &sections[found->second] : nullptr;
  }
  std::uint32_t index_of(const ElfSection& section) const {
    return static_cast<std::uint32_t>(&section - sections.data());
  }
  // That code section first, then all code sections that it can call. In a whole-program compile the functions
  // a kernel calls are copied into the kernel's own section, after its code; linked code may have them in
  // sections of their own.
  std::vector<std::uint32_t> reached_from(std::uint32_t section) const;

 private:
  void read_sections(std::string_view bytes);
  void read_symbols();
  void read_relocations();
  void read_calls();

  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> calls_;  // code sections, by the one that calls
};

}  // namespace regtune
