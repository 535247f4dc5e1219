#include "npy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";

std::string npy(std::string dictionary, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const std::size_t begin = version == 1 ? 10 : 12;
  while ((begin + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  for (std::size_t i = 0; i < begin - 8; ++i) text += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  return text + dictionary;
}

NpyHeader parsed(const std::string& dictionary, std::int64_t data_bytes, int version = 1) {
  const std::string head = npy(dictionary, version);
  return parse_npy_header(head, static_cast<std::int64_t>(head.size()) + data_bytes, "in.npy");
}

void expect_refusal(const std::string& dictionary, std::int64_t data_bytes, const std::string& part) {
  try {
    parsed(dictionary, data_bytes);
    ADD_FAILURE() << dictionary;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("in.npy: ")) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Npy, ReadsVersions1To3) {
  for (const int version : {1, 2, 3}) {
    const NpyHeader header = parsed(plain, 48, version);
    EXPECT_EQ(header.type, "f4");
    EXPECT_EQ(header.element_bytes, 4);
    EXPECT_EQ(header.count, 12);
    EXPECT_EQ(header.data_offset, 128);
  }
}

TEST(Npy, ReadsEveryShape) {
  EXPECT_EQ(parsed("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1).count, 1);
  EXPECT_EQ(parsed("{'descr': '|u1', 'fortran_order': False, 'shape': (7,), }", 7).count, 7);
  EXPECT_EQ(parsed("{'shape': (2,3,4), 'fortran_order': False, \"descr\": \"<i8\"}", 192).count, 24);
  EXPECT_EQ(parsed("{'descr': '<f8', 'fortran_order': True, 'shape': (5,), }", 40).count, 5);
  EXPECT_EQ(parsed("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }", 0).count, 0);
}

TEST(Npy, RefusesWhatItCannotRead) {
  expect_refusal("{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }", 48, "big-endian");
  expect_refusal("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", 48, "Fortran");
  expect_refusal("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3, 4), }", 48, "structured");
  expect_refusal("{'descr': '<f4x', 'fortran_order': False, 'shape': (3, 4), }", 48, "not understood");
  expect_refusal("{'descr': '', 'fortran_order': False, 'shape': (3, 4), }", 48, "not understood");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4), }", 48, "shape");
  expect_refusal("{'descr': '<f4', 'shape': (3, 4), }", 48, "lacks");
  expect_refusal("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3, 4), }", 48, "True nor False");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }", 48, "64 bits");
  expect_refusal("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }", 48, "promises");
  expect_refusal("{'descr': '<f4", 48, "within a string");
  expect_refusal("", 48, "dictionary");
}

TEST(Npy, RefusesAFileOfAnotherSize) {
  expect_refusal(plain, 47, "holds 47 bytes");
  expect_refusal(plain, 49, "holds 49 bytes");
}

TEST(Npy, RefusesWhatIsNotNpy) {
  for (const std::string& head : {std::string(), std::string("\x93NUMPY"), std::string(100, '\0'),
                                  std::string("\x93NUMPY\x09\x00\x10\x00{}          ", 20)}) {
    EXPECT_THROW(parse_npy_header(head, 100, "in.npy"), Error);
  }
}

// Whatever the bytes, the answer is a header or an Error; the sanitizers watch the reads.
TEST(Npy, SurvivesMutatedHeaders) {
  std::mt19937 random(1);
  const std::string head = npy(plain);
  for (int i = 0; i < 20000; ++i) {
    std::string mutated = head.substr(0, random() % 4 == 0 ? random() % head.size() : head.size());
    for (unsigned flips = random() % 4; flips > 0 && !mutated.empty(); --flips)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    try {
      EXPECT_GE(parse_npy_header(mutated, 112, "in.npy").count, 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    }
  }
}

TEST(Npy, ReadsDataWithoutTheHeader) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("regtune_npy_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.npy", std::ios::binary)
      << npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }") << "abc";
  std::ofstream(folder / "a.bin", std::ios::binary) << "defg";
  EXPECT_EQ(read_buffer_file(folder / "a.npy", 3), "abc");
  EXPECT_EQ(read_buffer_file(folder / "a.bin", 4), "defg");
  for (const std::filesystem::path& path : {folder / "none.npy", folder / "none.bin", folder}) {
    try {
      read_buffer_file(path, 4);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file_not_found);
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos);
    }
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace regtune
