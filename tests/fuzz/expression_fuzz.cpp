// Arithmetic of a launch description, over two sizes.
#include "expression.hpp"

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  const Expression expression{text, {"fuzz"}};
  const Sizes names{{"n", 1 << 24}, {"block", 256}};
  accepts([&] { evaluate_integers(expression, names); });
  accepts([&] { evaluate_size(expression, names); });
  accepts([&] { evaluate_number(expression, names); });
  why_not_a_size_name(text);
  in_quotes(text);
  return 0;
}
