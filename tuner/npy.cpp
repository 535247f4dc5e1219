#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_head_bytes = 64 * 1024;

// The header's dictionary: a Python literal of three keys, in any order. Nothing else is understood.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  struct Fields {
    std::string descr;
    bool fortran_order = false;
    std::int64_t count = 1;
    int dimensions = 0;
  };

  Fields read() {
    Fields fields;
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        seen[0] = true;
        fields.descr = string();
      } else if (key == "fortran_order") {
        seen[1] = true;
        fields.fortran_order = truth();
      } else if (key == "shape") {
        seen[2] = true;
        shape(fields);
      } else {
        refuse("its header has an unknown key");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!seen[0] || !seen[1] || !seen[2]) refuse("its header lacks descr, fortran_order or shape");
    return fields;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorKind::bad_description, fmt::format("{}: {}; write it with numpy.save", name_, what));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) refuse("its header is not a dictionary of plain values (structured types are not read)");
  }

  std::string string() {
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"')
      refuse("its header holds something else where a string belongs (a structured type?)");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("its header ends within a string");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool truth() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    refuse("fortran_order is neither True nor False");
  }

  void shape(Fields& fields) {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t extent = 0;
      const char* begin = text_.data() + at_;
      const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
      if (error != std::errc{} || extent < 0) refuse("its shape holds something else than sizes");
      at_ += static_cast<std::size_t>(stop - begin);
      if (__builtin_mul_overflow(fields.count, extent, &fields.count)) refuse("its shape does not fit in 64 bits");
      ++fields.dimensions;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  const std::string& name_;
};

[[noreturn]] void refuse(const std::string& name, std::string_view what) {
  throw Error(ErrorKind::bad_description, fmt::format("{}: {}", name, what));
}

// "<f4" -> "f4", 4 bytes.
void read_type(const std::string& descr, const std::string& name, NpyHeader& header) {
  const std::string shown = descr.substr(0, 20);
  if (descr.size() < 3) refuse(name, "its element type is not understood; save plain numbers: a.astype('float32')");
  header.type = descr.substr(1);
  const char* begin = header.type.data() + 1;
  const char* end = header.type.data() + header.type.size();
  const auto [stop, error] = std::from_chars(begin, end, header.element_bytes);
  if (error != std::errc{} || stop != end || header.element_bytes < 1 || header.element_bytes > 16) {
    refuse(name,
           fmt::format("its element type '{}' is not understood; save plain numbers: a.astype('float32')", shown));
  }
  if (descr[0] == '>' && header.element_bytes > 1) {
    refuse(name, "big-endian data; save it as little-endian: a.astype(a.dtype.newbyteorder('<'))");
  }
  if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    refuse(name,
           fmt::format("its element type '{}' is not understood; save plain numbers: a.astype('float32')", shown));
  }
}

}  // namespace

NpyHeader parse_npy_header(std::string_view head, std::optional<std::int64_t> file_bytes, const std::string& name) {
  if (!head.starts_with(magic) || head.size() < 12)
    refuse(name, "not a .npy file; save it with numpy.save, or name raw data .bin");
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(head[at])}; };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3)
    refuse(name, fmt::format("version {} of the .npy format is not known; write it with numpy.save", version));
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::size_t length = byte(8) + byte(9) * 256 + (version == 1 ? 0 : byte(10) * 65536 + byte(11) * 16777216);
  if (length > head.size() - begin)
    refuse(name, "its header is cut off, or longer than any plain array needs; write it with numpy.save");
  const DictionaryReader::Fields fields = DictionaryReader(head.substr(begin, length), name).read();
  NpyHeader header;
  read_type(fields.descr, name, header);
  if (fields.fortran_order && fields.dimensions > 1) {
    refuse(name, "Fortran order; save it in C order: numpy.ascontiguousarray(a)");
  }
  header.count = fields.count;
  header.data_offset = static_cast<std::int64_t>(begin + length);
  std::int64_t expected = 0;
  if (__builtin_mul_overflow(header.count, header.element_bytes, &expected) ||
      __builtin_add_overflow(expected, header.data_offset, &expected) || file_bytes.value_or(expected) != expected) {
    refuse(name,
           fmt::format(
               "holds {} bytes of data where its header promises {} elements of {} bytes; write it with numpy.save",
               file_bytes ? std::to_string(*file_bytes - header.data_offset) : "fewer", header.count,
               header.element_bytes));
  }
  return header;
}

NpyHeader read_npy_header(const std::filesystem::path& path) {
  DataFile file(path);
  std::string head(max_head_bytes, '\0');
  head.resize(static_cast<std::size_t>(file.read(head.data(), static_cast<std::int64_t>(head.size()))));
  return parse_npy_header(head, file.bytes(), path.string());
}

std::string npy_header(std::string_view type, std::int64_t count) {
  const bool has_order = type.size() > 1 && type[0] != 'V' && type.substr(1) != "1";
  std::string dictionary =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({},), }}", has_order ? '<' : '|', type, count);
  // The data begins at a multiple of 64 bytes; a line feed ends the header.
  constexpr std::size_t alignment = 64;
  constexpr std::size_t before = 10;  // the magic word, the version and the length
  dictionary.append(alignment - 1 - (before + dictionary.size()) % alignment, ' ');
  dictionary += '\n';
  std::string header(magic);
  header += {'\1', '\0', static_cast<char>(dictionary.size() % 256), static_cast<char>(dictionary.size() / 256)};
  return header + dictionary;
}

DataFile buffer_file(const std::filesystem::path& path) {
  const std::int64_t offset = data_extension(path) == ".npy" ? read_npy_header(path).data_offset : 0;
  DataFile file(path);
  std::string skipped(static_cast<std::size_t>(offset), '\0');
  file.read(skipped.data(), offset);
  return file;
}

std::string read_buffer_file(const std::filesystem::path& path, std::int64_t most_bytes) {
  DataFile file = buffer_file(path);
  std::string data;
  std::string piece(max_head_bytes, '\0');
  while (const std::int64_t got = file.read(piece.data(), static_cast<std::int64_t>(piece.size()))) {
    if (got > most_bytes - static_cast<std::int64_t>(data.size()))
      refuse(path.string(), fmt::format("holds more than {} bytes of data; make it a buffer", most_bytes));
    data.append(piece, 0, static_cast<std::size_t>(got));
  }
  return data;
}

}  // namespace regtune
