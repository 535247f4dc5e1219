#include "case_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>

#include "buffer_init.hpp"
#include "description_text.hpp"
#include "key.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPieceBytes = 16 << 20;
constexpr std::size_t kAddressBytes = 8;

// The bytes of a buffer, piece by piece; `visit` gets each with where it begins.
void read_pieces(const SnapshotPlan& memory, const CaseBuffer& buffer,
                 const std::function<void(std::int64_t, std::string_view)>& visit) {
  std::string piece;
  for (std::int64_t at = 0; at < buffer.bytes; at += static_cast<std::int64_t>(piece.size())) {
    piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, buffer.bytes - at)));
    for (std::size_t have = 0; have < piece.size();) {
      const ssize_t got = pread(memory.descriptor, piece.data() + have, piece.size() - have,
                                static_cast<off_t>(buffer.file_offset + at) + static_cast<off_t>(have));
      if (got <= 0)
        throw Error(ErrorKind::internal, fmt::format("the copy of the program's memory ends within {}: report this, "
                                                     "with regtune doctor --json",
                                                     buffer.name));
      have += static_cast<std::size_t>(got);
    }
    visit(at, piece);
  }
}

// The first word of a piece that is an address of the program's; -1: there is none. Where the piece begins in memory
// tells which bytes are a word.
std::int64_t address_in(const SnapshotPlan& memory, std::uint64_t begin, std::string_view piece) {
  for (std::size_t at = (kAddressBytes - begin % kAddressBytes) % kAddressBytes; at + kAddressBytes <= piece.size();
       at += kAddressBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, piece.data() + at, sizeof word);
    if (word != 0 && allocation_of(memory, word)) return static_cast<std::int64_t>(at);
  }
  return -1;
}

// A hash of what the file of this buffer will hold.
std::string content_of(const SnapshotPlan& memory, const CaseBuffer& buffer) {
  FieldHash hash;
  hash.add("type", numpy_type(buffer.type)).add("bytes", buffer.bytes);
  read_pieces(memory, buffer, [&](std::int64_t begin, std::string_view piece) {
    const std::int64_t found =
        buffer.may_hold_addresses ? address_in(memory, buffer.address + static_cast<std::uint64_t>(begin), piece) : -1;
    if (found >= 0)
      throw Error(ErrorKind::bad_launch,
                  fmt::format("{} points to memory that holds addresses itself, the first at byte {}, and no "
                              "description can follow them; tune it inside the program: regtune run",
                              buffer.name, begin + found));
    hash.add("piece", content_hash(piece));
  });
  return hash.hex();
}

// "p.8" -> "p.8.npy"; whatever a file's name should not hold is an underscore.
std::string file_name(std::string name, const std::string& extension, std::set<std::string>& taken) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  std::string file = name + extension;
  for (int i = 2; !taken.insert(file).second; ++i) file = fmt::format("{}-{}{}", name, i, extension);
  return file;
}

[[noreturn]] void refuse_file(const fs::path& file) {
  throw Error(ErrorKind::usage, fmt::format("{} cannot be written; name a folder with room by -o", file.string()));
}

void write_buffer(const SnapshotPlan& memory, const CaseBuffer& buffer, const fs::path& file) {
  std::ofstream out(file, std::ios::binary);
  out << npy_header(numpy_type(buffer.type), buffer.bytes / size_bytes(buffer.type));
  read_pieces(memory, buffer, [&](std::int64_t, std::string_view piece) {
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  });
  if (!out.flush()) refuse_file(file);
}

}  // namespace

void require_new_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return;
  if (!fs::is_directory(folder, ignored) || !fs::is_empty(folder, ignored))
    throw Error(ErrorKind::usage,
                fmt::format("-o {}: is there already, and no empty folder; name a new one", folder.string()));
}

void write_case_file(const fs::path& file, std::string_view bytes) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) refuse_file(file);
}

CaseFiles write_case_data(CapturedCase& captured, const SnapshotPlan& memory, const fs::path& folder) {
  std::vector<std::string> contents;
  for (const CaseBuffer& buffer : captured.buffers) contents.push_back(content_of(memory, buffer));
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  CaseFiles files;
  std::set<std::string> taken;
  std::map<std::string, std::string> file_of;  // by content
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const CaseBuffer& buffer = captured.buffers[i];
    std::string& file = file_of[contents[i]];
    if (file.empty()) {
      file = file_name(buffer.name, ".npy", taken);
      write_buffer(memory, buffer, folder / file);
      ++files.count;
      files.bytes += buffer.bytes;
    }
    described(captured.description, buffer).init = "file:" + file;
  }
  for (const CaseBytes& value : captured.bytes) {
    const std::string file = file_name(value.name, ".bin", taken);
    write_case_file(folder / file, value.bytes);
    ++files.count;
    files.bytes += static_cast<std::int64_t>(value.bytes.size());
    LaunchDescription& description = captured.description;
    (value.of_variable ? description.globals : description.arguments).at(value.argument).file = file;
  }
  return files;
}

std::string case_text(const CapturedCase& captured, const std::string& head) {
  std::map<std::string, std::string> comments;
  for (const CaseBuffer& buffer : captured.buffers) {
    if (buffer.ends_at.empty() || buffer.field >= 0) continue;
    const LaunchDescription& all = captured.description;
    const ArgumentDescription& argument = (buffer.of_variable ? all.globals : all.arguments).at(buffer.argument);
    comments[(buffer.of_variable ? "globals." : "args.") + argument.parameter] =
        fmt::format("ends where {} begins, in the same allocation", buffer.ends_at);
  }
  return "# " + head + "\n" + description_text(captured.description, comments, {});
}

}  // namespace regtune
