// A compilation database, and a command as a shell takes it apart.
#include "compile_commands.hpp"

#include <string>

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  from_nvcc(shell_words(text));
  accepts([&] { from_compile_commands_text(text, "/nowhere/compile_commands.json", "/nowhere/k.cu"); });
  return 0;
}
