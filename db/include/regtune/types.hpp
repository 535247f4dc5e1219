#pragma once
// The vocabulary shared by the tuner and by programs that only look results up: which GPU, which kernel,
// which register budget. Plain values without behaviour beyond comparison.
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace regtune {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

struct GpuId {
  std::string name;       // as the driver spells it: "NVIDIA H200"
  int compute_major = 0;  // compute capability, major.minor
  int compute_minor = 0;
  int sm_count = 0;          // streaming multiprocessors
  int memory_clock_mhz = 0;  // at its highest; 0: not known. Tells cards of one name and other memory apart
  friend bool operator==(const GpuId&, const GpuId&) = default;
};

// Problem sizes by name, as the launch description calls them: {"n": 16777216}.
using Sizes = std::map<std::string, std::int64_t>;

// The source and the options exactly as the author gave them: own bounds, own -maxrregcount.
struct AuthorsOwn {
  friend bool operator==(const AuthorsOwn&, const AuthorsOwn&) = default;
};
// No budget at all: declared bounds stripped, no cap. Not the same code as a cap of 255.
struct CompilerDefault {
  friend bool operator==(const CompilerDefault&, const CompilerDefault&) = default;
};
// --maxrregcount=N, for the whole file.
struct RegisterCap {
  int registers_per_thread = 0;
  friend bool operator==(const RegisterCap&, const RegisterCap&) = default;
};
// __launch_bounds__(T) or __launch_bounds__(T, B).
struct LaunchBounds {
  int max_threads_per_block = 0;
  int min_blocks_per_sm = 0;  // 0: not given
  friend bool operator==(const LaunchBounds&, const LaunchBounds&) = default;
};
// __maxnreg__(N), which travels with the kernel.
struct MaxRegisters {
  int registers_per_thread = 0;
  friend bool operator==(const MaxRegisters&, const MaxRegisters&) = default;
};

using RegisterPolicy = std::variant<AuthorsOwn, CompilerDefault, RegisterCap, LaunchBounds, MaxRegisters>;

}  // namespace regtune
