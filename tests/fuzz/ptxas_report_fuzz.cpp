// A compiler's log: never refused, whatever it holds.
#include "ptxas_report.hpp"

#include "fuzz_input.hpp"

using namespace regtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const PtxasReport report = read_ptxas_report(text_of(data, size));
  for (const PtxasEntry& entry : report.entries) {
    entry.spill_store_bytes();
    entry.spill_load_bytes();
    report.find(entry.own.name);
  }
  return 0;
}
