#pragma once
// What ptxas says of each kernel under -v, read from an NVRTC log or from the output of nvcc or ptxas. The
// cubin is the truth (cubin.hpp); this is the second witness, and the only one to say that a budget was
// ignored. Entries come in any order and are matched by name; lines that are not understood are left out.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

struct PtxasFunction {
  std::string name;  // mangled
  int stack_frame_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};

struct PtxasEntry {
  PtxasFunction own;                     // the kernel without what it calls
  std::vector<PtxasFunction> functions;  // those it calls and that were not inlined
  std::string architecture;              // "sm_90"
  int registers_per_thread = 0;
  std::optional<int> cumulative_stack_bytes;  // callees included; not in every version's report
  int static_shared_bytes = 0;
  std::vector<std::string> notes;  // warnings, and remarks on overridden budgets, that name this kernel

  int spill_store_bytes() const;  // of the kernel and all it calls
  int spill_load_bytes() const;
};

struct PtxasReport {
  std::vector<PtxasEntry> entries;
  std::vector<std::string> notes;  // those that name no kernel: they may be about any of them

  // nullptr when the log has no entry of that mangled name: a cache hit of NVRTC leaves the log empty.
  const PtxasEntry* find(std::string_view kernel) const;
};

PtxasReport read_ptxas_report(std::string_view log);

}  // namespace regtune
