#include "data_file.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr std::string_view kCompressed = ".zst";
// The program waits while its memory is compressed: the fastest level, at which a disk is the slower of the two.
constexpr int kLevel = 1;
constexpr std::size_t kLongestFrameHeader = 18;  // RFC 8878, section 3.1.1

[[noreturn]] void refuse_unreadable(const std::filesystem::path& path) {
  throw Error(ErrorKind::file_not_found,
              fmt::format("{}: cannot be read; check the path and its permissions", path.string()));
}

[[noreturn]] void refuse_compressed(const std::filesystem::path& path, std::string_view what) {
  throw Error(ErrorKind::bad_description,
              fmt::format("{}: {}; copy the file again, or write it anew with zstd FILE", path.string(), what));
}

}  // namespace

std::filesystem::path data_extension(const std::filesystem::path& path) {
  return path.extension() == kCompressed ? path.stem().extension() : path.extension();
}

struct DataFile::Reader {
  explicit Reader(const std::filesystem::path& file) : path(file) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    // Only a regular file has a size here; opening a pipe would wait for ever.
    if (!error) stream.open(path, std::ios::binary);
    if (!stream.is_open()) refuse_unreadable(path);
    bytes = static_cast<std::int64_t>(size);
    if (path.extension() == kCompressed) begin_compressed();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { ZSTD_freeDCtx(context); }

  void begin_compressed() {
    bytes.reset();
    taken.resize(std::max(ZSTD_DStreamInSize(), kLongestFrameHeader));
    take_more();
    const unsigned long long stated = ZSTD_getFrameContentSize(taken.data(), input.size);
    if (stated == ZSTD_CONTENTSIZE_ERROR) refuse_compressed(path, "not compressed by Zstandard");
    if (stated <= static_cast<unsigned long long>(std::numeric_limits<std::int64_t>::max()))
      bytes = static_cast<std::int64_t>(stated);
    context = ZSTD_createDCtx();
    if (context == nullptr) throw std::bad_alloc();
  }

  void take_more() {
    input = {taken.data(), read_plain(taken.data(), taken.size()), 0};
    file_ended = input.size < taken.size();
  }

  std::size_t read_plain(char* target, std::size_t wanted) {
    if (stream.read(target, static_cast<std::streamsize>(wanted)).bad()) refuse_unreadable(path);
    return static_cast<std::size_t>(stream.gcount());
  }

  std::size_t read_compressed(char* target, std::size_t wanted) {
    ZSTD_outBuffer output{target, wanted, 0};
    while (output.pos < output.size) {
      if (input.pos == input.size && !file_ended) take_more();
      if (frame_ended) {
        if (input.pos < input.size) refuse_compressed(path, "something follows behind the end of its data");
        break;
      }
      const std::size_t before = output.pos;
      const std::size_t left = ZSTD_decompressStream(context, &output, &input);
      if (ZSTD_isError(left) != 0)
        refuse_compressed(path, fmt::format("its compressed data is damaged ({})", ZSTD_getErrorName(left)));
      frame_ended = left == 0;
      const bool goes_on = frame_ended || output.pos > before || input.pos < input.size || !file_ended;
      if (!goes_on) refuse_compressed(path, "its compressed data is cut off");
    }
    return output.pos;
  }

  std::filesystem::path path;
  std::ifstream stream;
  std::optional<std::int64_t> bytes;
  ZSTD_DCtx* context = nullptr;  // nullptr: the file is as it is
  std::vector<char> taken;       // from a compressed file
  ZSTD_inBuffer input{nullptr, 0, 0};
  bool file_ended = false;
  bool frame_ended = false;
};

DataFile::DataFile(const std::filesystem::path& path) : reader_(std::make_unique<Reader>(path)) {}
DataFile::DataFile(DataFile&&) noexcept = default;
DataFile::~DataFile() = default;

std::optional<std::int64_t> DataFile::bytes() const {
  return reader_->bytes;
}

std::int64_t DataFile::read(char* target, std::int64_t bytes) {
  const auto wanted = static_cast<std::size_t>(bytes);
  return static_cast<std::int64_t>(reader_->context == nullptr ? reader_->read_plain(target, wanted)
                                                               : reader_->read_compressed(target, wanted));
}

struct CompressedFile::Writer {
  Writer(const std::filesystem::path& path, std::int64_t bytes) : stream(path, std::ios::binary) {
    context = ZSTD_createCCtx();
    if (context == nullptr) throw std::bad_alloc();
    made.resize(ZSTD_CStreamOutSize());
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    // Into the file's first bytes, so that a reader knows the size without decompressing it.
    ZSTD_CCtx_setPledgedSrcSize(context, static_cast<unsigned long long>(bytes));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { ZSTD_freeCCtx(context); }

  void write(std::string_view piece, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{piece.data(), piece.size(), 0};
    for (std::size_t left = 1; !failed && (input.pos < input.size || (directive == ZSTD_e_end && left > 0));) {
      ZSTD_outBuffer output{made.data(), made.size(), 0};
      left = ZSTD_compressStream2(context, &output, &input, directive);
      failed = ZSTD_isError(left) != 0 || !stream.write(made.data(), static_cast<std::streamsize>(output.pos));
      written += static_cast<std::int64_t>(output.pos);
    }
  }

  std::ofstream stream;
  ZSTD_CCtx* context = nullptr;
  std::vector<char> made;
  std::int64_t written = 0;
  bool failed = false;
};

CompressedFile::CompressedFile(const std::filesystem::path& path, std::int64_t bytes)
    : writer_(std::make_unique<Writer>(path, bytes)) {}
CompressedFile::~CompressedFile() = default;

void CompressedFile::write(std::string_view piece) {
  writer_->write(piece, ZSTD_e_continue);
}

std::optional<std::int64_t> CompressedFile::finish() {
  writer_->write({}, ZSTD_e_end);
  if (writer_->failed || !writer_->stream.flush()) return {};
  return writer_->written;
}

}  // namespace regtune
