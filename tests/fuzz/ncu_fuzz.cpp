// A profiler's report: never refused, whatever it holds.
#include "ncu.hpp"

#include <cstdlib>

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const NcuReport report = read_ncu_report(text_of(data, size));
  if (report.launches.empty() && report.failure.empty()) std::abort();  // then it has to say why
  return 0;
}
