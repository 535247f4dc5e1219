#include "code_equality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cubin.hpp"
#include "elf.hpp"

namespace regtune {
namespace {

// An operand c[bank][offset], or c[bank][register + offset].
struct ConstantOperand {
  unsigned bank = 0;
  std::uint64_t offset = 0;
  std::uint64_t mask = 0;         // the bits of the offset in the low word
  std::optional<unsigned> index;  // the register
  bool index_is_uniform = false;
};

// One instruction of sm_75 and later: 16 bytes, opcode in bits 0 to 11, the form of its operands in bits 9 to
// 11. The encodings below are measured: kernels that read __constant__ arrays at known offsets, and the cubins of
// all of regtune's kernels, CUDA 13.0, sm_75 to sm_120.
struct Instruction {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool operator==(const Instruction& other) const { return low == other.low && high == other.high; }
  unsigned opcode() const { return field(0, 12); }
  unsigned destination() const { return field(16, 8); }

  std::optional<ConstantOperand> constant_operand() const {
    constexpr unsigned ldc = 0xb82, uldc = 0xab9, uldc_indexed = 0xabb, ldcu = 0x7ac, barrier = 0xb1d;
    constexpr unsigned no_register = 0xff;
    const unsigned bank = field(54, 5), index = field(24, 8);
    switch (opcode()) {
      case ldc:
        return ConstantOperand{bank, field(38, 16), bits(38, 16), index_of(index != no_register, index), false};
      case uldc:
        return ConstantOperand{bank, field(38, 16), bits(38, 16), std::nullopt, true};
      case uldc_indexed:
        return ConstantOperand{bank, field(38, 16), bits(38, 16), index, true};
      case ldcu:
        return ConstantOperand{bank, field(37, 17), bits(37, 17), index_of(index != no_register, index), true};
      case barrier:  // has the form of a constant operand, and a barrier's number where the bank would be
        return std::nullopt;
      default:
        break;
    }
    const unsigned form = field(9, 3);
    if (form != 3 && form != 5) return std::nullopt;
    return ConstantOperand{bank, std::uint64_t{field(40, 14)} * 4, bits(40, 14), std::nullopt, false};
  }

  // True where bits 16 to 23 are a register that it writes. Stores and barriers have something else there.
  bool writes(unsigned target, bool uniform) const {
    constexpr std::array no_destination = {0x387u, 0x386u, 0x986u, 0x388u, 0x988u, 0x385u, 0x985u, 0xb1du};
    if (destination() != target) return false;
    if (is_move()) return is_uniform_move() == uniform;
    const bool is_control = opcode() >= 0x940 && opcode() <= 0x95f;
    return !is_control && std::find(no_destination.begin(), no_destination.end(), opcode()) == no_destination.end();
  }

  // MOV and UMOV of a 32-bit immediate, which stands in bits 32 to 63.
  bool is_move() const { return opcode() == 0x802 || opcode() == 0x882; }
  bool is_uniform_move() const { return opcode() == 0x882; }
  unsigned immediate() const { return field(32, 32); }

 private:
  unsigned field(unsigned first, unsigned width) const {
    return static_cast<unsigned>((low & bits(first, width)) >> first);
  }
  static std::uint64_t bits(unsigned first, unsigned width) { return ((std::uint64_t{1} << width) - 1) << first; }
  static std::optional<unsigned> index_of(bool present, unsigned index) {
    return present ? std::optional(index) : std::nullopt;
  }
};

Instruction instruction_at(std::string_view code, std::uint64_t at) {
  return {load_number<std::uint64_t>(code, at, "an instruction"),
          load_number<std::uint64_t>(code, at + 8, "an instruction")};
}

// An offset may go through a register: MOV R2, 0x20b0; STL [R1], R5; LDC R2, c[4][R2]. The two stand close
// together; no more than this many bytes of code are searched.
constexpr std::uint64_t reach = 64 * 16;

// The move that the load at `at` has its index from: the last instruction before it that writes the register.
std::optional<std::uint64_t> feeding_move(std::string_view code, std::uint64_t at) {
  const auto load = instruction_at(code, at).constant_operand();
  if (!load || !load->index) return std::nullopt;
  const std::uint64_t first = at - std::min(at, reach);
  for (std::uint64_t before = at; before > first; before -= 16) {
    const Instruction instruction = instruction_at(code, before - 16);
    if (!instruction.writes(*load->index, load->index_is_uniform)) continue;
    return instruction.is_move() ? std::optional(before - 16) : std::nullopt;
  }
  return std::nullopt;
}

// The first load after `at` that has its index from the move at `at`.
std::optional<std::uint64_t> fed_load(std::string_view code, std::uint64_t at) {
  const std::uint64_t end = std::min<std::uint64_t>(code.size() / 16 * 16, at + reach);
  for (std::uint64_t next = at + 16; next < end; next += 16) {
    if (feeding_move(code, next) == at) return next;
  }
  return std::nullopt;
}

constexpr std::uint64_t immediate_mask = 0xffffffff00000000;
constexpr unsigned banks = 32;

// Functions that the compiler brings along are numbered over the whole file: "$__internal_3_$__cuda_sm20_div".
std::string unnumbered(std::string_view name) {
  constexpr std::string_view prefix = "$__internal_";
  if (!name.starts_with(prefix)) return std::string(name);
  const std::size_t end = name.find_first_not_of("0123456789", prefix.size());
  return std::string(prefix) + std::string(end == std::string_view::npos ? "" : name.substr(end));
}

// What a place in a constant bank of the file holds: a part of a variable, or of the address of one.
struct Referent {
  bool is_address = false;
  const ElfSymbol* symbol = nullptr;
  std::int64_t addend = 0;
  std::uint64_t displacement = 0;  // in the variable, or in the address
};

// One of the two files.
class Side {
 public:
  Side(std::string_view bytes, const std::string& kernel) : elf_(bytes), cubin_(read_cubin(bytes)) {
    for (const CubinKernel& candidate : cubin_.kernels) {
      if (candidate.name == kernel) kernel_ = &candidate;
    }
    if (kernel_ == nullptr) return;
    const auto symbol = std::find_if(elf_.symbols.begin(), elf_.symbols.end(),
                                     [&](const ElfSymbol& s) { return s.is_kernel && s.name == kernel; });
    sections_ = elf_.reached_from(symbol->section);
    std::sort(sections_.begin() + 1, sections_.end(), [&](std::uint32_t left, std::uint32_t right) {
      return elf_.sections[left].name < elf_.sections[right].name;
    });
    for (unsigned bank = 0; bank < banks; ++bank) bank_section_[bank] = elf_.find(fmt::format(".nv.constant{}", bank));
    for (std::uint32_t i = 0; i < elf_.symbols.size(); ++i) {
      if (elf_.symbols[i].is_object && elf_.symbols[i].size > 0)
        objects_[elf_.symbols[i].section].emplace(elf_.symbols[i].value, i);
    }
  }

  const ElfFile& elf() const { return elf_; }
  const Cubin& cubin() const { return cubin_; }
  const CubinKernel* kernel() const { return kernel_; }                     // nullptr: not in the file
  const std::vector<std::uint32_t>& sections() const { return sections_; }  // the kernel's, then by name

  bool has_bank(unsigned bank) const { return bank_section_[bank] != nullptr; }

  // Empty where nothing is known of that place.
  std::optional<Referent> referent(unsigned bank, std::uint64_t offset) const {
    const ElfSection* section = bank_section_[bank];
    if (section == nullptr) return std::nullopt;
    const std::uint32_t index = elf_.index_of(*section);
    constexpr std::uint64_t address_bytes = 8;
    if (const auto list = elf_.relocations.find(index); list != elf_.relocations.end()) {
      auto after = std::upper_bound(list->second.begin(), list->second.end(), offset,
                                    [](std::uint64_t at, const ElfRelocation& r) { return at < r.offset; });
      if (after != list->second.begin() && offset - std::prev(after)->offset < address_bytes) {
        const ElfRelocation& relocation = *std::prev(after);
        return Referent{true, &elf_.symbols[relocation.symbol], relocation.addend, offset - relocation.offset};
      }
    }
    const auto objects = objects_.find(index);
    if (objects == objects_.end()) return std::nullopt;
    auto after = objects->second.upper_bound(offset);
    if (after == objects->second.begin()) return std::nullopt;
    const ElfSymbol& symbol = elf_.symbols[std::prev(after)->second];
    if (offset - symbol.value >= symbol.size) return std::nullopt;
    return Referent{false, &symbol, 0, offset - symbol.value};
  }

  // Empty for functions, for variables without one, and for those that other files hold.
  std::string_view initial_value(const ElfSymbol& symbol) const {
    if (!symbol.is_object || symbol.section >= elf_.sections.size()) return {};
    const std::string_view data = elf_.sections[symbol.section].data;
    if (symbol.value > data.size() || data.size() - symbol.value < symbol.size) return {};
    return data.substr(static_cast<std::size_t>(symbol.value), static_cast<std::size_t>(symbol.size));
  }

 private:
  ElfFile elf_;
  Cubin cubin_;
  const CubinKernel* kernel_ = nullptr;
  std::vector<std::uint32_t> sections_;
  std::array<const ElfSection*, banks> bank_section_{};
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint32_t>> objects_;  // section, offset: symbol
};

class Comparison {
 public:
  Comparison(const Side& a, const Side& b) : a_(a), b_(b) {}

  std::optional<std::string> difference() {
    if (auto found = resources_difference()) return found;
    if (a_.sections().size() != b_.sections().size())
      return fmt::format("it calls {} functions against {}", a_.sections().size() - 1, b_.sections().size() - 1);
    for (std::size_t i = 0; i < a_.sections().size(); ++i) {
      if (auto found = code_difference(a_.sections()[i], b_.sections()[i])) return found;
    }
    return own_constants_difference();
  }

 private:
  std::optional<std::string> resources_difference() const {
    const auto compare = [](const char* what, int a, int b) -> std::optional<std::string> {
      if (a == b) return std::nullopt;
      return fmt::format("{} {} against {}", a, what, b);
    };
    if (a_.cubin().sm != b_.cubin().sm)
      return fmt::format("it is for sm_{} against sm_{}", a_.cubin().sm, b_.cubin().sm);
    const CubinKernel& a = *a_.kernel();
    const CubinKernel& b = *b_.kernel();
    if (auto found = compare("registers", a.registers_per_thread, b.registers_per_thread)) return found;
    if (auto found = compare("bytes of stack frame", a.stack_frame_bytes, b.stack_frame_bytes)) return found;
    return compare("bytes of static shared memory", a.static_shared_bytes, b.static_shared_bytes);
  }

  std::optional<std::string> code_difference(std::uint32_t index_a, std::uint32_t index_b) {
    const ElfSection& a = a_.elf().sections[index_a];
    const ElfSection& b = b_.elf().sections[index_b];
    if (a.name != b.name) return fmt::format("it calls {} against {}", a.name, b.name);
    if (a.data.size() != b.data.size())
      return fmt::format("{} has {} bytes of code against {}", a.name, a.data.size(), b.data.size());
    if (auto found = relocations_difference(index_a, index_b)) return found;
    for (std::uint64_t at = 0; at + 16 <= a.data.size(); at += 16) {
      if (same(a.data, b.data, at, relocated(index_a, at))) continue;
      const Instruction left = instruction_at(a.data, at), right = instruction_at(b.data, at);
      return fmt::format("{} at {:#x}: {:016x} {:016x} against {:016x} {:016x}", a.name, at, left.high, left.low,
                         right.high, right.low);
    }
    const std::size_t whole = a.data.size() / 16 * 16;
    if (a.data.substr(whole) != b.data.substr(whole)) return fmt::format("the end of {}", a.name);
    return std::nullopt;
  }

  // Equal bits are not enough: where the files lay out a bank differently, they name different variables.
  bool same(std::string_view code_a, std::string_view code_b, std::uint64_t at, bool is_relocated) {
    const Instruction a = instruction_at(code_a, at), b = instruction_at(code_b, at);
    if (a.high != b.high) return false;
    const bool same_but_immediate = ((a.low ^ b.low) & ~immediate_mask) == 0;
    if (is_relocated) return same_but_immediate;
    const auto left = a.constant_operand(), right = b.constant_operand();
    if (left && right) {
      if (((a.low ^ b.low) & ~left->mask) != 0) return false;
      const auto move_a = feeding_move(code_a, at), move_b = feeding_move(code_b, at);
      if (!move_a || move_a != move_b) return same_place(left->bank, left->offset, right->offset, a == b);
      return same_place(left->bank, left->offset + instruction_at(code_a, *move_a).immediate(),
                        right->offset + instruction_at(code_b, *move_b).immediate(), a == b);
    }
    if (a == b) return true;
    if (!a.is_move() || !same_but_immediate) return false;
    const auto load = fed_load(code_a, at);
    return load && load == fed_load(code_b, at) && same(code_a, code_b, *load, false);
  }

  // Banks that are not the file's hold what is the kernel's own: they are compared as bytes.
  bool same_place(unsigned bank, std::uint64_t offset_a, std::uint64_t offset_b, bool equal_bits) {
    if (!a_.has_bank(bank) && !b_.has_bank(bank)) return equal_bits;
    const auto left = a_.referent(bank, offset_a), right = b_.referent(bank, offset_b);
    if (left && right) return same_referent(*left, *right);
    // A place outside all variables, such as table[i - 1] gives: the same only in banks that are the same.
    return !left && !right && equal_bits && same_layout(bank);
  }

  bool same_referent(const Referent& a, const Referent& b) {
    return a.is_address == b.is_address && a.addend == b.addend && a.displacement == b.displacement &&
           same_symbol(*a.symbol, *b.symbol);
  }

  // Remembered by pair, so that a long table is compared once.
  bool same_symbol(const ElfSymbol& a, const ElfSymbol& b) {
    const auto [known, is_new] = same_symbols_.try_emplace({&a, &b}, false);
    if (!is_new) return known->second;
    // String literals are numbered over the whole file ($str, $str1): what they say counts.
    const bool same_name =
        unnumbered(a.name) == unnumbered(b.name) || (a.name.starts_with("$str") && b.name.starts_with("$str"));
    known->second = same_name && a.size == b.size && a_.initial_value(a) == b_.initial_value(b);
    return known->second;
  }

  bool same_layout(unsigned bank) {
    if (same_layout_[bank]) return *same_layout_[bank];
    const std::string name = fmt::format(".nv.constant{}", bank);
    const ElfSection* a = a_.elf().find(name);
    const ElfSection* b = b_.elf().find(name);
    bool same = a != nullptr && b != nullptr && a->data == b->data;
    for (std::uint64_t at = 0; same && at < a->data.size(); at += 4) {
      const auto left = a_.referent(bank, at), right = b_.referent(bank, at);
      same = left.has_value() == right.has_value() && (!left || same_referent(*left, *right));
    }
    same_layout_[bank] = same;
    return same;
  }

  static const std::vector<ElfRelocation>& relocations(const Side& side, std::uint32_t section) {
    static const std::vector<ElfRelocation> none;
    const auto list = side.elf().relocations.find(section);
    return list != side.elf().relocations.end() ? list->second : none;
  }

  bool relocated(std::uint32_t section_of_a, std::uint64_t at) const {
    const auto& list = relocations(a_, section_of_a);
    const auto first = std::lower_bound(list.begin(), list.end(), at,
                                        [](const ElfRelocation& r, std::uint64_t offset) { return r.offset < offset; });
    return first != list.end() && first->offset < at + 16;
  }

  std::optional<std::string> relocations_difference(std::uint32_t index_a, std::uint32_t index_b) const {
    const auto& a = relocations(a_, index_a);
    const auto& b = relocations(b_, index_b);
    const std::string_view section = a_.elf().sections[index_a].name;
    if (a.size() != b.size()) return fmt::format("{} has {} relocations against {}", section, a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::string name_a = unnumbered(a_.elf().symbols[a[i].symbol].name);
      const std::string name_b = unnumbered(b_.elf().symbols[b[i].symbol].name);
      if (a[i].offset == b[i].offset && a[i].type == b[i].type && a[i].addend == b[i].addend && name_a == name_b)
        continue;
      return fmt::format("{} at {:#x}: {} is relocated against {}", section, a[i].offset, name_a, name_b);
    }
    return std::nullopt;
  }

  std::optional<std::string> own_constants_difference() const {
    for (unsigned bank = 0; bank < banks; ++bank) {
      const std::string name = fmt::format(".nv.constant{}.{}", bank, a_.kernel()->name);
      const ElfSection* a = a_.elf().find(name);
      const ElfSection* b = b_.elf().find(name);
      if (a == nullptr && b == nullptr) continue;
      if (a == nullptr || b == nullptr || a->data != b->data) return fmt::format("the constants in {}", name);
      if (auto found = relocations_difference(a_.elf().index_of(*a), b_.elf().index_of(*b))) return found;
    }
    return std::nullopt;
  }

  const Side& a_;
  const Side& b_;
  std::map<std::pair<const ElfSymbol*, const ElfSymbol*>, bool> same_symbols_;
  std::array<std::optional<bool>, banks> same_layout_{};
};

}  // namespace

std::optional<std::string> difference(std::string_view cubin_a, std::string_view cubin_b, const std::string& kernel) {
  const Side a(cubin_a, kernel), b(cubin_b, kernel);
  if (a.kernel() == nullptr || b.kernel() == nullptr)
    return fmt::format("{}: the kernel is not in {}", kernel, a.kernel() == nullptr ? "the first" : "the second");
  auto found = Comparison(a, b).difference();
  if (!found) return std::nullopt;
  return fmt::format("{}: {}", kernel, *found);
}

}  // namespace regtune
