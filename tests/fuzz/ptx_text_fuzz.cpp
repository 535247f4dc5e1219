// PTX as a program or a compiler hands it over: what is taken out of it leaves every line and every kernel in its
// place.
#include "ptx_text.hpp"

#include <algorithm>
#include <cstdlib>

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(text_of(data, size));
  is_ptx(text);
  if (const auto target = ptx_target(text)) target->runs_on(90);
  const std::vector<std::string> kernels = ptx_kernels(text);
  const std::string without = without_register_bounds(text);
  if (without.size() != text.size()) std::abort();
  if (std::count(without.begin(), without.end(), '\n') != std::count(text.begin(), text.end(), '\n')) std::abort();
  if (ptx_kernels(without) != kernels || without_register_bounds(without) != without) std::abort();
  if (ptx_kernels(with_max_registers(text, 40)) != kernels) std::abort();
  for (const std::string& kernel : kernels) best_ptx({text, text}, kernel, 90);
  return 0;
}
