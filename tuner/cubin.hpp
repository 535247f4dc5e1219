#pragma once
// Reads a cubin (an ELF file of CUDA machine code): its kernels, what they take, where they spill, and a
// hash that is equal exactly when two kernels are the same code. Needs no GPU, no driver and no
// disassembler. Refuses whatever is not a well-formed cubin of sm_75 or newer.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

struct CubinParameter {
  int ordinal = 0;
  int offset_bytes = 0;
  int size_bytes = 0;
};

struct CubinKernel {
  std::string name;              // mangled
  int registers_per_thread = 0;  // EIATTR_REGCOUNT; the most of the kernel and all it calls
  int register_ceiling = 255;    // EIATTR_MAXREG_COUNT; 255 when absent
  int stack_frame_bytes = 0;     // the greater of EIATTR_MIN_STACK_SIZE and FRAME_SIZE: callees included
  int spill_store_bytes = 0;     // to local memory: attribute 0x55, summed over the kernel and all it calls
  int spill_load_bytes = 0;
  int shared_spill_store_bytes = 0;  // likewise to shared memory
  int shared_spill_load_bytes = 0;
  int static_shared_bytes = 0;         // without the 1 KiB reserve that sm_90 and later add
  int max_threads_per_block = 0;       // EIATTR_MAX_THREADS, product of x, y, z; 0: no bound
  int required_threads_per_block = 0;  // EIATTR_REQNTID, likewise
  // EIATTR_CTA_PER_CLUSTER, what __cluster_dims__ declares: blocks along x, y and z; all 0: nothing.
  std::array<int, 3> blocks_per_cluster = {0, 0, 0};
  int max_blocks_per_cluster = 0;          // EIATTR_MAX_CLUSTER_RANK, the third launch bound; 0: none
  std::vector<CubinParameter> parameters;  // by ordinal
  // 32 hex digits: XXH3-128 over the code of the kernel and all it calls, relocations, constants, registers,
  // frame and static shared memory. The kernel's own name, the ceiling and the launch limits (max and required
  // threads) are not in it: a cap and a bound that give the same code are one, where both can be launched.
  std::string code_hash;
};

// A variable of the module that outlives a launch.
struct CubinVariable {
  std::string name;
  std::int64_t bytes = 0;
  bool is_constant = false;  // __constant__: no kernel writes it
};

struct Cubin {
  int sm = 0;                        // 90 for sm_90
  std::vector<CubinKernel> kernels;  // in order of name
  std::vector<CubinVariable> variables;
};

// Throws Error(source_not_compiled) that says which part of the file is malformed. Bounded in time and
// memory by the size of `bytes`, whatever they hold.
Cubin read_cubin(std::string_view bytes);

}  // namespace regtune
