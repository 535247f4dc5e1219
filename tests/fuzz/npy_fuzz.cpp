// The header of a .npy file: what is accepted must fit the file that it is said to head.
#include "npy.hpp"

#include <cstdlib>

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  NpyHeader header;
  const auto file_bytes = static_cast<std::int64_t>(size);
  if (!accepts([&] { header = parse_npy_header(text_of(data, size), file_bytes, "fuzz.npy"); })) return 0;
  if (header.count < 0 || header.element_bytes <= 0) std::abort();
  if (header.data_offset + header.count * header.element_bytes != file_bytes) std::abort();
  return 0;
}
