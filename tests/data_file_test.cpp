// Files of data, compressed: what was written comes back, and whatever else they hold is an answer in little memory.
#include "data_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "npy.hpp"
#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string numbers(std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += static_cast<char>(i * i / 1000);
  return all;
}

fs::path compressed(const fs::path& path, const std::string& data) {
  CompressedFile file(path, static_cast<std::int64_t>(data.size()));
  for (std::size_t at = 0; at < data.size(); at += 70000) file.write(std::string_view(data).substr(at, 70000));
  const auto written = file.finish();
  EXPECT_TRUE(written);
  EXPECT_EQ(static_cast<std::uintmax_t>(written.value_or(0)), fs::file_size(path));
  return path;
}

std::string all_of(const fs::path& path, std::int64_t step = 10007) {
  DataFile file(path);
  std::string all;
  std::string piece(static_cast<std::size_t>(step), '\0');
  while (const std::int64_t got = file.read(piece.data(), step)) all.append(piece, 0, static_cast<std::size_t>(got));
  return all;
}

std::string refusal(const fs::path& path, ErrorKind kind = ErrorKind::bad_description) {
  try {
    all_of(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << path << " was taken";
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kMagic = "\x28\xb5\x2f\xfd";

// A frame that does not tell its size, of `blocks` blocks of 128 KiB of one byte each (RFC 8878, section 3.1.1.2).
std::string bomb(std::size_t blocks) {
  std::string frame = std::string(kMagic) + std::string("\x00\x38", 2);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t header = (i + 1 == blocks ? 1 : 0) | 1u << 1 | (128u << 10) << 3;
    for (int byte = 0; byte < 3; ++byte) frame += static_cast<char>(header >> (8 * byte) & 0xff);
    frame += 'x';
  }
  return frame;
}

TEST(DataFile, ComesBackCompressedOrNot) {
  const TemporaryFolder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{3000001}}) {
    const std::string data = numbers(size);
    const fs::path packed = compressed(folder.path() / "a.bin.zst", data);
    const fs::path plain = folder.write("a.bin", data);
    for (const fs::path& path : {packed, plain}) {
      EXPECT_EQ(DataFile(path).bytes(), static_cast<std::int64_t>(size)) << path;
      EXPECT_EQ(all_of(path), data) << path;
    }
  }
  EXPECT_LT(fs::file_size(folder.path() / "a.bin.zst"), 300000U);
}

TEST(DataFile, ItsKindIsToldWithoutTheCompression) {
  EXPECT_EQ(data_extension("a/x.npy"), ".npy");
  EXPECT_EQ(data_extension("a/x.npy.zst"), ".npy");
  EXPECT_EQ(data_extension("x.bin.zst"), ".bin");
  EXPECT_EQ(data_extension("x.zst"), "");
}

TEST(DataFile, WhatCannotBeReadIsSaid) {
  const TemporaryFolder folder;
  for (const char* name : {"none.bin", "none.bin.zst", "."})
    EXPECT_TRUE(holds(refusal(folder.path() / name, ErrorKind::file_not_found), "cannot be read"));
  EXPECT_TRUE(holds(refusal(folder.write("a.bin.zst", numbers(100))), "not compressed by Zstandard"));
  EXPECT_TRUE(holds(refusal(folder.write("b.bin.zst", "")), "not compressed by Zstandard"));
}

TEST(DataFile, ACutFileIsToldWhereverItEnds) {
  const TemporaryFolder folder;
  const std::string whole = bytes_of_file(compressed(folder.path() / "a.bin.zst", numbers(300000)));
  for (std::size_t end = 0; end < whole.size(); end += 1 + whole.size() / 200)
    refusal(folder.write("cut.bin.zst", whole.substr(0, end)));
  EXPECT_TRUE(holds(refusal(folder.write("cut.bin.zst", whole.substr(0, whole.size() - 1))), "cut off"));
}

TEST(DataFile, ADamagedFileIsNeverTakenForWhatItWas) {
  const TemporaryFolder folder;
  const std::string data = numbers(200000);
  const std::string whole = bytes_of_file(compressed(folder.path() / "a.bin.zst", data));
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    const fs::path path = folder.write("damaged.bin.zst", damaged);
    try {
      EXPECT_EQ(all_of(path), data) << "the bit means nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_description);
      ++refused;
    }
  }
  EXPECT_GT(refused, 290);
}

TEST(DataFile, MoreThanOneCompressedFileIsRefused) {
  const TemporaryFolder folder;
  const std::string once = bytes_of_file(compressed(folder.path() / "a.bin.zst", numbers(3000)));
  EXPECT_TRUE(holds(refusal(folder.write("b.bin.zst", once + once)), "something follows"));
  EXPECT_TRUE(holds(refusal(folder.write("c.bin.zst", once + "x")), "something follows"));
}

TEST(DataFile, GivesNoMoreThanIsAskedFor) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("a.bin.zst", bomb(8000));  // 1 GB in 32 KB
  EXPECT_FALSE(DataFile(path).bytes());
  EXPECT_EQ(read_buffer_file(folder.write("b.bin.zst", bomb(4)), 1 << 20).size(), 4U * (128U << 10));
  try {
    read_buffer_file(path, 1 << 20);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_TRUE(holds(error.what(), "holds more than 1048576 bytes")) << error.what();
  }
  // 2 GiB of what was decompressed before would have to be kept.
  EXPECT_TRUE(holds(refusal(folder.write("c.bin.zst", std::string(kMagic) + std::string("\x00\xa8\x01\x00\x00", 5))),
                    "too much memory"));
}

TEST(DataFile, OfNumpyIsReadFromBehindItsHeader) {
  const TemporaryFolder folder;
  const std::string data = numbers(400000);
  const fs::path path = compressed(folder.path() / "a.npy.zst", npy_header("f4", 100000) + data);
  EXPECT_EQ(read_npy_header(path).count, 100000);
  EXPECT_EQ(read_buffer_file(path, 400000), data);
  try {
    read_npy_header(compressed(folder.path() / "b.npy.zst", npy_header("f4", 100001) + data));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_TRUE(holds(error.what(), "holds 400000 bytes of data where its header promises 100001")) << error.what();
  }
}

}  // namespace
}  // namespace regtune
