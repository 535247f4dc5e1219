#pragma once
// PTX as a text, as far as regtune reads it: that it is PTX, for which GPUs, which kernels it holds, and the directives
// at their heads that keep a register cap from its work. What sets a block or a cluster is never touched, and no
// instruction is read. Any text may be given: what is not understood stays as it is.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

// ".target sm_90a".
struct PtxTarget {
  int number = 0;    // 90
  char variant = 0;  // 'a': for that GPU alone; 'f': for those of its family from it on; 0: for it and all later ones

  // `architecture`: 90 of a GPU of compute capability 9.0.
  bool runs_on(int architecture) const;
  std::string name() const;  // "sm_90a"
  friend bool operator==(const PtxTarget&, const PtxTarget&) = default;
};

// Whether it begins as every PTX does, with its version: comments and blanks may stand before.
bool is_ptx(std::string_view text);
// Empty where it tells none.
std::optional<PtxTarget> ptx_target(std::string_view text);
// The mangled names of the kernels that it defines.
std::vector<std::string> ptx_kernels(std::string_view text);

// Without .maxntid, .minnctapersm, .maxnctapersm and .maxnreg on any kernel: beside each of them ptxas ignores
// -maxrregcount (measured with CUDA 13.0; beside .maxntid it does not even say so). Beside .reqntid it does too, and
// that is the program's block, so it stays: there `with_max_registers` binds.
std::string without_register_bounds(std::string_view text);
// The same, with .maxnreg on every kernel.
std::string with_max_registers(std::string_view text, int registers_per_thread);

// Of the texts that hold the kernel's code and that GPU can run, the one for the latest architecture; of two for the
// same, the one that is for it alone. Empty: there is none.
std::optional<std::size_t> best_ptx(const std::vector<std::string>& texts, std::string_view kernel, int architecture);

}  // namespace regtune
