#pragma once
// Whether two cubins hold the same machine code for one kernel, though other kernels and variables of their
// files lie elsewhere. The same source through NVRTC and through nvJitLink, or beside other kernels, gives code
// that differs in constant-bank offsets alone: such an operand is followed to what it names, a variable or its
// address, and must name the same on both sides. The hash of cubin.hpp knows equal bytes only.
#include <optional>
#include <string>
#include <string_view>

namespace regtune {

// Empty when the kernel of that mangled name is the same code in both: instructions of the kernel and of all it
// calls, the constants it owns, the initial values of the variables whose place differs, registers, stack frame
// and static shared memory. Launch limits and the ceiling are not compared. Else a sentence that names the first
// difference. What cannot be shown to be equal counts as different. Throws Error(source_not_compiled) on a
// malformed cubin.
std::optional<std::string> difference(std::string_view cubin_a, std::string_view cubin_b, const std::string& kernel);

}  // namespace regtune
