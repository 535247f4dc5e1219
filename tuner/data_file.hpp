#pragma once
// A file of plain data, as it is or compressed by Zstandard (its name ends in .zst then): read one piece after the
// other and written so, in a few hundred KiB of memory whatever it holds. Refuses a compressed file that is cut off,
// damaged, or more than one. What the bytes mean is the reader's to know.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace regtune {

// "x.npy", "x.npy.zst" -> ".npy"
std::filesystem::path data_extension(const std::filesystem::path& path);

class DataFile {
 public:
  // Throws Error(file_not_found) for what cannot be read or is no regular file, Error(bad_description) for one that is
  // named .zst and begins otherwise.
  explicit DataFile(const std::filesystem::path& path);
  DataFile(DataFile&&) noexcept;
  ~DataFile();

  // Of the data as it is read; empty: it is compressed, by something that did not know how much would come.
  std::optional<std::int64_t> bytes() const;
  // The next bytes; fewer than asked for only where the data ends. Throws as above.
  std::int64_t read(char* target, std::int64_t bytes);

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
};

// Writes a compressed file.
class CompressedFile {
 public:
  // `bytes`: how many will be written in all.
  CompressedFile(const std::filesystem::path& path, std::int64_t bytes);
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;
  ~CompressedFile();

  void write(std::string_view piece);
  // The file's size. Empty: it could not be written. Requires: all bytes were.
  std::optional<std::int64_t> finish();

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace regtune
