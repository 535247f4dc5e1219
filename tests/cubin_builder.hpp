#pragma once
// For the tests that need a cubin without a compiler: builds one byte by byte. Knows the container and the
// attributes' formats; what they mean is the tests'.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace regtune {

template <typename Number>
inline std::string packed(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

template <typename... Numbers>
inline std::string words(Numbers... numbers) {
  return (std::string{} + ... + packed(static_cast<std::uint32_t>(numbers)));
}

inline std::string sized(std::uint8_t attribute, const std::string& payload) {
  return packed(std::uint8_t{4}) + packed(attribute) + packed(static_cast<std::uint16_t>(payload.size())) + payload;
}

inline std::string short_value(std::uint8_t attribute, std::uint16_t value) {
  return packed(std::uint8_t{3}) + packed(attribute) + packed(value);
}

// Builds a 64-bit ELF file. Sections are numbered from 1 in the order they are added; symbols likewise.
class CubinBuilder {
 public:
  explicit CubinBuilder(std::uint32_t sm = 90) : sm_(sm) {}

  std::uint32_t section(const std::string& name, const std::string& data, std::uint32_t type = 1,
                        std::uint64_t flags = 0, std::uint32_t info = 0, std::uint64_t nobits_size = 0) {
    sections_.push_back({name, data, type, flags, info, nobits_size});
    return static_cast<std::uint32_t>(sections_.size());
  }
  std::uint32_t code(const std::string& function, const std::string& data) {
    return section(".text." + function, data, 1, 6);
  }
  std::uint32_t function(const std::string& name, std::uint32_t section_index, bool kernel) {
    return symbol(name, section_index, 0x12, kernel ? 0x10 : 0, 0, 0);
  }
  // A variable of `size` bytes at an offset of the section.
  std::uint32_t variable(const std::string& name, std::uint32_t section_index, std::uint64_t offset,
                         std::uint64_t size) {
    return symbol(name, section_index, 0x11, 0, offset, size);
  }
  void relocation(std::uint32_t section_index, std::uint64_t offset, std::uint32_t symbol_index,
                  std::uint64_t addend = 0) {
    const std::string entry = packed(offset) + packed((std::uint64_t{symbol_index} << 32) | 0x4b) + packed(addend);
    section(".rela" + std::to_string(sections_.size()), entry, 4, 0, section_index);
  }

  std::string bytes() const {
    auto sections = sections_;
    sections.push_back({".symtab", std::string(24, '\0') + symbols_, 2, 0, 0, 0});
    const auto strtab = sections.size() + 1;
    sections.push_back({".strtab", names_, 3, 0, 0, 0});
    std::string section_names(1, '\0'), body, headers(64, '\0');
    sections.push_back({".shstrtab", "", 3, 0, 0, 0});
    for (const auto& section : sections) section_names += section.name + '\0';
    sections.back().data = section_names;
    std::uint32_t name = 1;
    for (const auto& section : sections) {
      headers += words(name, section.type) + packed(section.flags) + packed(std::uint64_t{0}) +
                 packed(std::uint64_t{64 + body.size()}) +
                 packed(std::uint64_t{section.type == 8 ? section.nobits_size : section.data.size()}) +
                 words(section.type == 2 ? strtab : 0, section.info) + packed(std::uint64_t{1}) +
                 packed(std::uint64_t{0});
      if (section.type != 8) body += section.data;
      name += static_cast<std::uint32_t>(section.name.size()) + 1;
    }
    const auto count = static_cast<std::uint16_t>(sections.size() + 1);
    std::string header =
        "\x7f"
        "ELF\x02\x01\x01\x41\x08";
    header.resize(16);
    header += packed(std::uint16_t{2}) + packed(std::uint16_t{190}) + words(1) + packed(std::uint64_t{0}) +
              packed(std::uint64_t{0}) + packed(std::uint64_t{64 + body.size()}) + words(sm_ << 8) +
              packed(std::uint16_t{64}) + packed(std::uint16_t{0}) + packed(std::uint16_t{0}) +
              packed(std::uint16_t{64}) + packed(count) + packed(static_cast<std::uint16_t>(count - 1));
    return header + body + headers;
  }

 private:
  std::uint32_t symbol(const std::string& name, std::uint32_t section_index, std::uint8_t type, std::uint8_t other,
                       std::uint64_t value, std::uint64_t size) {
    names_ += name + '\0';
    symbols_ += words(names_.size() - name.size() - 1) + packed(type) + packed(other) +
                packed(static_cast<std::uint16_t>(section_index)) + packed(value) + packed(size);
    return symbol_count_++;
  }

  struct Section {
    std::string name, data;
    std::uint32_t type;
    std::uint64_t flags;
    std::uint32_t info;
    std::uint64_t nobits_size;
  };
  std::uint32_t sm_;
  std::vector<Section> sections_;
  std::string names_ = std::string(1, '\0');
  std::string symbols_;
  std::uint32_t symbol_count_ = 1;
};

}  // namespace regtune
