// The author's text: whatever it holds, every byte lies in at most one token, and the kernels lie in the text.
#include "source_scan.hpp"

#include <cstdlib>

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  std::size_t end = 0;
  for (const Token& token : tokenize(text)) {
    if (token.offset < end || token.length == 0 || token.offset + token.length > size) std::abort();
    end = token.offset + token.length;
    spelling(text, token);
  }
  for (const ScannedKernel& kernel : scan_kernels(text))
    if (kernel.begin > kernel.end || kernel.end > size) std::abort();
  return 0;
}
