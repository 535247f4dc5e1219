#pragma once
// PTX out of what a program loads: PTX text is itself, and a fat binary, whose format is nobody's but the toolkit's, is
// opened by the toolkit's cuobjdump. A cubin holds none.
#include <string>

namespace regtune {

struct CarriedPtx {
  std::string text;
  std::string target;            // "sm_80": the PTX's own
  bool is_all_there_is = false;  // the image was this text: the program's own code was made of it
};

// The kernel's PTX for a GPU ("sm_90"). Throws Error(no_toolkit) where a fat binary cannot be opened, and
// Error(no_kernel) where the image has no PTX of the kernel that the GPU can run; each says what to do.
CarriedPtx carried_ptx(const std::string& image, const std::string& kernel, const std::string& architecture);

}  // namespace regtune
