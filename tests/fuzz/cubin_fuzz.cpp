// Machine code as a compiler or a cache hands it over: its container, its kernels, and their comparison.
#include "cubin.hpp"

#include <cstdlib>

#include "code_equality.hpp"
#include "elf.hpp"
#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = text_of(data, size);
  accepts([&] {
    const ElfFile file(bytes);
    for (const ElfSection& section : file.sections)
      if (section.holds_code) file.reached_from(file.index_of(section));
  });
  Cubin cubin;
  if (!accepts([&] { cubin = read_cubin(bytes); })) return 0;
  for (const CubinKernel& kernel : cubin.kernels) {
    if (kernel.code_hash.size() != 32) std::abort();
    accepts([&] { difference(bytes, bytes, kernel.name); });
  }
  return 0;
}
