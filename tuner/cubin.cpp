#include "cubin.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>

#include "elf.hpp"

namespace regtune {
namespace {

int to_int(std::uint64_t number, const char* what) {
  if (number > std::uint64_t{std::numeric_limits<int>::max()}) malformed_cubin(fmt::format("{} is {}", what, number));
  return static_cast<int>(number);
}

// Attributes of .nv.info and .nv.info.<kernel>. The numbers are those of cubins of CUDA 13.0.
enum Attribute : std::uint8_t {
  max_threads = 0x05,
  required_threads = 0x10,
  frame_size = 0x11,
  min_stack_size = 0x12,
  parameter = 0x17,
  max_registers = 0x1b,
  register_count = 0x2f,
  cluster_dims = 0x3d,
  max_cluster_rank = 0x3f,
  large_parameter = 0x45,  // in kernels whose parameters exceed 4 KiB
  spill_offsets = 0x55,
};

// Calls visit(attribute, short_value, payload) for each: the short value of the formats without a payload,
// the payload of the sized one.
template <typename Visit>
void for_each_attribute(std::string_view info, Visit visit) {
  std::uint64_t at = 0;
  while (at < info.size()) {
    const auto format = load_number<std::uint8_t>(info, at, "an attribute");
    const auto attribute = load_number<std::uint8_t>(info, at + 1, "an attribute");
    const auto value = load_number<std::uint16_t>(info, at + 2, "an attribute");
    at += 4;
    if (format < 1 || format > 4) malformed_cubin(fmt::format("an attribute of format {}", format));
    const std::uint64_t size = format == 4 ? value : 0;
    visit(attribute, value, slice(info, at, size, "an attribute's value"));
    at += size;
  }
}

// What .nv.info says of each function, by symbol.
struct FunctionResources {
  std::uint32_t registers = 0;
  std::uint32_t frame_bytes = 0;
  std::uint32_t stack_bytes = 0;
};

std::unordered_map<std::uint32_t, FunctionResources> function_resources(const ElfFile& elf) {
  std::unordered_map<std::uint32_t, FunctionResources> resources;
  const ElfSection* info = elf.find(".nv.info");
  if (info == nullptr) return resources;
  for_each_attribute(info->data, [&](std::uint8_t attribute, std::uint16_t, std::string_view payload) {
    if (attribute != register_count && attribute != frame_size && attribute != min_stack_size) return;
    FunctionResources& function = resources[load_number<std::uint32_t>(payload, 0, "a resource")];
    const auto value = load_number<std::uint32_t>(payload, 4, "a resource");
    if (attribute == register_count) function.registers = value;
    if (attribute == frame_size) function.frame_bytes = value;
    if (attribute == min_stack_size) function.stack_bytes = value;
  });
  return resources;
}

struct SpillBytes {
  std::uint64_t stores = 0;
  std::uint64_t loads = 0;
  std::uint64_t shared_stores = 0;
  std::uint64_t shared_loads = 0;
};

// Width of the access of a 16-byte instruction: bits 73 to 75.
unsigned access_bytes(std::uint64_t high_word) {
  constexpr unsigned bytes[] = {1, 1, 2, 2, 4, 8, 16, 0};
  return bytes[(high_word >> 9) & 7];
}

// ptxas's spill bytes, to the byte: it lists every spilling instruction as (1, offset in the section), and
// counts the width of each. Accesses to local arrays are not listed. With shared-memory spilling the list
// holds LDS and STS too, which ptxas does not count among its spills, and which are kept apart here.
void add_spills(std::string_view offsets, std::string_view code, SpillBytes& spills) {
  constexpr std::uint64_t opcode_ldl = 0x983, opcode_stl = 0x387, opcode_lds = 0x984, opcode_sts = 0x388;
  for (std::uint64_t at = 0; at + 8 <= offsets.size(); at += 8) {
    const auto offset = load_number<std::uint32_t>(offsets, at + 4, "a spill");
    const auto opcode = load_number<std::uint64_t>(code, offset, "a spilling instruction") & 0xfff;
    const unsigned bytes =
        access_bytes(load_number<std::uint64_t>(code, std::uint64_t{offset} + 8, "a spilling instruction"));
    if (opcode == opcode_stl) spills.stores += bytes;
    if (opcode == opcode_ldl) spills.loads += bytes;
    if (opcode == opcode_sts) spills.shared_stores += bytes;
    if (opcode == opcode_lds) spills.shared_loads += bytes;
  }
}

// x * y * z; never overflows, because the result is bounded on the way.
int thread_count(std::string_view payload) {
  std::uint64_t threads = 1;
  for (std::uint64_t at = 0; at < 12; at += 4) {
    threads *= load_number<std::uint32_t>(payload, at, "a thread count");
    threads = static_cast<std::uint64_t>(to_int(threads, "a thread count"));
  }
  return static_cast<int>(threads);
}

CubinParameter read_parameter(std::string_view payload, bool large) {
  CubinParameter result;
  result.ordinal = load_number<std::uint16_t>(payload, 4, "a parameter");
  result.offset_bytes = load_number<std::uint16_t>(payload, 6, "a parameter");
  const auto last = load_number<std::uint32_t>(payload, 8, "a parameter");
  // The other bits are flags: from sm_100 on they mark pointers.
  result.size_bytes = static_cast<int>(large ? last & 0xffff : last >> 18);
  return result;
}

// A stream of tagged fields, each with its length, so that no two different lists of fields run together.
class CodeHash {
 public:
  CodeHash() { XXH3_128bits_reset(&state_); }

  void add(std::string_view tag, std::string_view field) {
    add_text(tag);
    add_text(field);
  }
  void add(std::string_view tag, std::uint64_t number) {
    add(tag, std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
  }
  std::string digits() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  void add_text(std::string_view text) {
    const std::uint64_t size = text.size();
    XXH3_128bits_update(&state_, &size, sizeof size);
    XXH3_128bits_update(&state_, text.data(), text.size());
  }

  XXH3_state_t state_;
};

// Symbols are hashed by name, because their numbers depend on the other kernels of the file. The kernel's
// own name, and the prefix it lends its copies of the functions it calls ("$kernel$function"), are left out.
void add_symbol(CodeHash& hash, std::string_view name, std::string_view kernel) {
  if (name == kernel) return hash.add("this kernel", std::string_view{});
  if (name.size() > kernel.size() + 1 && name.front() == '$' && name.substr(1).starts_with(kernel) &&
      name[kernel.size() + 1] == '$') {
    return hash.add("own function", name.substr(kernel.size() + 2));
  }
  if (name.size() > kernel.size() && name.ends_with(kernel) && name.front() == '.' &&
      name[name.size() - kernel.size() - 1] == '.') {
    return hash.add("own section", name.substr(0, name.size() - kernel.size()));
  }
  hash.add("symbol", name);
}

void add_section(CodeHash& hash, const ElfFile& elf, std::uint32_t index, std::string_view kernel) {
  const ElfSection& section = elf.sections[index];
  hash.add("bytes", section.data);
  const auto list = elf.relocations.find(index);
  if (list == elf.relocations.end()) return;
  for (const ElfRelocation& relocation : list->second) {
    hash.add("offset", relocation.offset);
    hash.add("type", relocation.type);
    hash.add("addend", static_cast<std::uint64_t>(relocation.addend));
    add_symbol(hash, elf.symbols[relocation.symbol].name, kernel);
  }
}

constexpr std::string_view constant_prefix = ".nv.constant";

// Constant banks and initial data that belong to the file, not to one kernel: ".nv.constant3", not
// ".nv.constant0.kernel". One digest for all kernels keeps the time linear.
std::string file_wide_data(const ElfFile& elf) {
  CodeHash hash;
  for (std::uint32_t i = 0; i < elf.sections.size(); ++i) {
    const ElfSection& section = elf.sections[i];
    const bool bank = section.name.starts_with(constant_prefix) &&
                      section.name.find('.', constant_prefix.size()) == std::string_view::npos;
    if (!bank && section.name != ".nv.global.init") continue;
    hash.add("name", section.name);
    add_section(hash, elf, i, {});
  }
  return hash.digits();
}

// Reads the kernels one by one over what is common to the file.
class KernelReader {
 public:
  explicit KernelReader(const ElfFile& elf)
      : elf_(elf), resources_(function_resources(elf)), file_wide_data_(file_wide_data(elf)) {
    for (const auto& [symbol, resources] : resources_) {
      if (symbol >= elf.symbols.size()) malformed_cubin("a resource names no symbol");
      std::uint32_t& most = registers_of_section_[elf.symbols[symbol].section];
      most = std::max(most, resources.registers);
    }
  }

  CubinKernel read(std::uint32_t symbol) const {
    CubinKernel kernel;
    kernel.name = elf_.symbols[symbol].name;
    const std::vector<std::uint32_t> sections = elf_.reached_from(elf_.symbols[symbol].section);
    read_resources(symbol, sections, kernel);
    read_spills(sections, kernel);
    if (const ElfSection* info = elf_.find(".nv.info." + kernel.name)) read_attributes(info->data, kernel);
    if (const ElfSection* shared = elf_.find(".nv.shared." + kernel.name)) {
      const std::uint64_t reserve = elf_.sm >= 90 ? 1024 : 0;
      kernel.static_shared_bytes = to_int(shared->size - std::min(shared->size, reserve), "static shared memory");
    }
    kernel.code_hash = hash(kernel, sections);
    return kernel;
  }

 private:
  void read_resources(std::uint32_t symbol, const std::vector<std::uint32_t>& sections, CubinKernel& kernel) const {
    std::uint32_t registers = 0;
    for (const std::uint32_t section : sections) {
      const auto found = registers_of_section_.find(section);
      if (found != registers_of_section_.end()) registers = std::max(registers, found->second);
    }
    kernel.registers_per_thread = to_int(registers, "a register count");
    const auto own = resources_.find(symbol);
    if (own == resources_.end()) return;
    kernel.stack_frame_bytes = to_int(std::max(own->second.frame_bytes, own->second.stack_bytes), "a stack frame");
  }

  void read_spills(const std::vector<std::uint32_t>& sections, CubinKernel& kernel) const {
    SpillBytes spills;
    for (const std::uint32_t index : sections) {
      const ElfSection& section = elf_.sections[index];
      constexpr std::string_view prefix = ".text.";
      if (!section.name.starts_with(prefix)) continue;
      const ElfSection* info = elf_.find(".nv.info." + std::string(section.name.substr(prefix.size())));
      if (info == nullptr) continue;
      for_each_attribute(info->data, [&](std::uint8_t attribute, std::uint16_t, std::string_view payload) {
        if (attribute == spill_offsets) add_spills(payload, section.data, spills);
      });
    }
    kernel.spill_store_bytes = to_int(spills.stores, "spill stores");
    kernel.spill_load_bytes = to_int(spills.loads, "spill loads");
    kernel.shared_spill_store_bytes = to_int(spills.shared_stores, "spill stores");
    kernel.shared_spill_load_bytes = to_int(spills.shared_loads, "spill loads");
  }

  static void read_attributes(std::string_view info, CubinKernel& kernel) {
    for_each_attribute(info, [&](std::uint8_t attribute, std::uint16_t value, std::string_view payload) {
      switch (attribute) {
        case max_registers:
          kernel.register_ceiling = value;
          break;
        case max_threads:
          kernel.max_threads_per_block = thread_count(payload);
          break;
        case cluster_dims:
          for (std::size_t axis = 0; axis < kernel.blocks_per_cluster.size(); ++axis)
            kernel.blocks_per_cluster[axis] =
                to_int(load_number<std::uint32_t>(payload, 4 * axis, "blocks of a cluster"), "blocks of a cluster");
          break;
        case max_cluster_rank:
          kernel.max_blocks_per_cluster =
              to_int(load_number<std::uint32_t>(payload, 0, "blocks of a cluster"), "blocks of a cluster");
          break;
        case required_threads:
          kernel.required_threads_per_block = thread_count(payload);
          break;
        case parameter:
        case large_parameter:
          kernel.parameters.push_back(read_parameter(payload, attribute == large_parameter));
          break;
        default:
          break;
      }
    });
    std::sort(kernel.parameters.begin(), kernel.parameters.end(),
              [](const CubinParameter& a, const CubinParameter& b) { return a.ordinal < b.ordinal; });
  }

  // Registers, frame and shared memory stand beside the bytes because the bytes are not enough: a kernel
  // with setmaxnreg had one text and 27 register counts over 29 caps.
  std::string hash(const CubinKernel& kernel, const std::vector<std::uint32_t>& sections) const {
    CodeHash hash;
    hash.add("sm", static_cast<std::uint64_t>(elf_.sm));
    hash.add("registers", static_cast<std::uint64_t>(kernel.registers_per_thread));
    hash.add("stack frame", static_cast<std::uint64_t>(kernel.stack_frame_bytes));
    hash.add("static shared", static_cast<std::uint64_t>(kernel.static_shared_bytes));
    for (const std::uint32_t section : sections) {
      hash.add("code", section == sections.front() ? "kernel" : "callee");
      add_section(hash, elf_, section, kernel.name);
    }
    for (int bank = 0; bank < 32; ++bank) {
      const ElfSection* own = elf_.find(fmt::format("{}{}.{}", constant_prefix, bank, kernel.name));
      if (own == nullptr) continue;
      hash.add("constant bank", static_cast<std::uint64_t>(bank));
      add_section(hash, elf_, elf_.index_of(*own), kernel.name);
    }
    hash.add("file-wide data", file_wide_data_);
    return hash.digits();
  }

  const ElfFile& elf_;
  std::unordered_map<std::uint32_t, FunctionResources> resources_;  // by symbol
  std::unordered_map<std::uint32_t, std::uint32_t> registers_of_section_;
  std::string file_wide_data_;
};

// Constants that the author declared lie in bank 3. What begins with a dollar is the compiler's own: texts of printf.
std::vector<CubinVariable> variables_of(const ElfFile& elf) {
  std::vector<CubinVariable> variables;
  for (const ElfSymbol& symbol : elf.symbols) {
    if (!symbol.is_object || symbol.size == 0 || symbol.section >= elf.sections.size()) continue;
    const std::string_view section = elf.sections[symbol.section].name;
    const bool is_constant = section.starts_with(".nv.constant3");
    if ((!is_constant && !section.starts_with(".nv.global")) || symbol.name.starts_with("$")) continue;
    variables.push_back({std::string(symbol.name), static_cast<std::int64_t>(symbol.size), is_constant});
  }
  return variables;
}

}  // namespace

Cubin read_cubin(std::string_view bytes) {
  const ElfFile elf(bytes);
  const KernelReader reader(elf);
  // By name, so that a name that stands twice is read once.
  std::map<std::string_view, std::uint32_t> kernels;
  for (std::uint32_t i = 0; i < elf.symbols.size(); ++i) {
    const ElfSymbol& symbol = elf.symbols[i];
    if (!symbol.is_kernel) continue;
    if (symbol.section >= elf.sections.size() || !elf.sections[symbol.section].holds_code) {
      malformed_cubin(fmt::format("kernel {} has no code", symbol.name));
    }
    kernels.try_emplace(symbol.name, i);
  }
  Cubin cubin;
  cubin.sm = elf.sm;
  for (const auto& [name, symbol] : kernels) cubin.kernels.push_back(reader.read(symbol));
  cubin.variables = variables_of(elf);
  return cubin;
}

}  // namespace regtune
