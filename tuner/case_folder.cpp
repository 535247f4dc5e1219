#include "case_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "buffer_init.hpp"
#include "data_file.hpp"
#include "description_text.hpp"
#include "key.hpp"
#include "npy.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPieceBytes = 16 << 20;
constexpr std::size_t kAddressBytes = 8;
// What is smaller saves no disk worth a file that NumPy cannot open by itself.
constexpr std::int64_t kWorthCompressing = 64 << 10;

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

[[noreturn]] void refuse_file(const fs::path& file) {
  throw Error(ErrorKind::usage, fmt::format("{} cannot be written; name a folder with room by -o", file.string()));
}

using PieceVisitor = std::function<void(std::string_view)>;

// What goes into one file: whoever reads it says it piece by piece, as often as he is asked.
struct FileContent {
  std::string name;  // "in"
  std::string extension;
  std::int64_t bytes = 0;  // with the header
  std::function<void(const PieceVisitor&)> read;
};

struct WrittenFile {
  std::string name;
  std::int64_t bytes = 0;
};

// Empty: that would be no smaller, and nothing is left behind.
std::optional<WrittenFile> write_compressed(const FileContent& content, const fs::path& folder) {
  const std::string name = content.name + content.extension + ".zst";
  std::optional<std::int64_t> written;
  {
    CompressedFile file(folder / name, content.bytes);
    content.read([&](std::string_view piece) { file.write(piece); });
    written = file.finish();
  }
  if (!written) refuse_file(folder / name);
  if (*written < content.bytes) return WrittenFile{name, *written};
  fs::remove(folder / name);
  return {};
}

WrittenFile write_content(const FileContent& content, const fs::path& folder) {
  if (content.bytes >= kWorthCompressing)
    if (auto compressed = write_compressed(content, folder)) return *compressed;
  const fs::path file = folder / (content.name + content.extension);
  std::ofstream out(file, std::ios::binary);
  content.read([&](std::string_view piece) { out.write(piece.data(), static_cast<std::streamsize>(piece.size())); });
  if (!out.flush()) refuse_file(file);
  return {content.name + content.extension, content.bytes};
}

FileContent content_of_file(const SnapshotPlan& memory, const CaseBuffer& buffer) {
  const std::string header = npy_header(numpy_type(buffer.type), buffer.bytes / size_bytes(buffer.type));
  return {buffer.name, ".npy", static_cast<std::int64_t>(header.size()) + buffer.bytes,
          [&memory, &buffer, header](const PieceVisitor& visit) {
            visit(header);
            read_pieces(memory, buffer, [&](std::int64_t, std::string_view piece) { visit(piece); });
          }};
}

FileContent content_of_file(const CaseBytes& value) {
  return {value.name, ".bin", static_cast<std::int64_t>(value.bytes.size()),
          [&value](const PieceVisitor& visit) { visit(value.bytes); }};
}

// The files of a folder, one for each content.
class DataFiles {
 public:
  explicit DataFiles(const fs::path& folder) : folder_(folder) {}

  // `hash`: of the content. The file's name.
  std::string put(const std::string& hash, FileContent content, std::int64_t data_bytes) {
    std::string& file = file_of_[content.extension + hash];
    if (!file.empty()) return file;
    content.name = free_name(content.name);
    const WrittenFile written = write_content(content, folder_);
    ++files_.count;
    files_.bytes += data_bytes;
    files_.stored_bytes += written.bytes;
    return file = written.name;
  }

  CaseFiles files() const { return files_; }

 private:
  // "p.8" -> "p.8"; whatever a file's name should not hold is an underscore.
  std::string free_name(std::string name) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
    std::string free = name;
    for (int i = 2; !taken_.insert(free).second; ++i) free = fmt::format("{}-{}", name, i);
    return free;
  }

  const fs::path& folder_;
  std::map<std::string, std::string> file_of_;
  std::set<std::string> taken_;
  CaseFiles files_;
};

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
  DataFiles files(folder);
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const CaseBuffer& buffer = captured.buffers[i];
    const std::string file = files.put(contents[i], content_of_file(memory, buffer), buffer.bytes);
    described(captured.description, buffer).init = "file:" + file;
  }
  LaunchDescription& description = captured.description;
  for (const CaseBytes& value : captured.bytes)
    (value.of_variable ? description.globals : description.arguments).at(value.argument).file =
        files.put(content_hash(value.bytes), content_of_file(value), static_cast<std::int64_t>(value.bytes.size()));
  return files.files();
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
