// Launch descriptions, as a comment of a source, as a side file, and as flags.
#include "description.hpp"

#include "fuzz_input.hpp"

using namespace regtune;

namespace {

void read_flags(const std::string& text) {
  const auto refused_or_read = [](const DescriptionFlags& flags) {
    accepts([&] { with_flags(LaunchDescription{}, flags); });
  };
  DescriptionFlags flags;
  flags.sizes = {text};
  refused_or_read(flags);
  flags = {};
  flags.arguments = {text};
  refused_or_read(flags);
  flags = {};
  flags.tune = {text};
  refused_or_read(flags);
  flags = {};
  flags.metrics = {text};
  refused_or_read(flags);
  flags = {};
  flags.block = text;
  flags.kernel = text;
  refused_or_read(flags);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  accepts([&] { with_flags(read_description("k.cu", text), {}); });
  accepts([&] { with_flags(read_description("k.cu", "/*regtune\n" + text + "\n*/\n"), {}); });
  if (size < 256) read_flags(text);
  return 0;
}
