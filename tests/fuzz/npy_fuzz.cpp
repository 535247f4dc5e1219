// The header of a .npy file: what is accepted must fit the file that it is said to head. What begins as compressed data
// does is read from a file, too, and never more of it than is asked for.
#include "npy.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz_input.hpp"

using namespace regtune;

namespace {

constexpr std::int64_t kMostBytes = 1 << 20;

void read_compressed(const std::string& bytes) {
  const auto file = std::filesystem::temp_directory_path() / ("npy_fuzz_" + std::to_string(getpid()) + ".npy.zst");
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  NpyHeader header;
  std::string data;
  const bool read = accepts([&] {
    header = read_npy_header(file);
    data = read_buffer_file(file, kMostBytes);
  });
  if (read && static_cast<std::int64_t>(data.size()) > kMostBytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (text_of(data, size).starts_with("\x28\xb5\x2f\xfd")) read_compressed(std::string(text_of(data, size)));
  NpyHeader header;
  const auto file_bytes = static_cast<std::int64_t>(size);
  if (!accepts([&] { header = parse_npy_header(text_of(data, size), file_bytes, "fuzz.npy"); })) return 0;
  if (header.count < 0 || header.element_bytes <= 0) std::abort();
  if (header.data_offset + header.count * header.element_bytes != file_bytes) std::abort();
  return 0;
}
