#pragma once
// Spilling registers to shared memory, which ptxas does from CUDA 13 on where a kernel's body opens with a pragma:
// where that goes in an author's text, and which of the compiler's errors say that it is refused there. It is for
// kernels with both launch bounds alone: without them ptxas assumes 1,024 threads and takes the block's whole 48 KB.
#include <optional>
#include <string>
#include <string_view>

namespace regtune {

// The first compilers whose ptxas knows the pragma.
inline constexpr int kFirstCudaThatSpillsToShared = 13;

// The text with the statement right behind the opening brace of each definition of that kernel; no line moves.
// `kernel`: unqualified, or mangled. Empty where the text writes out no such body.
std::optional<std::string> with_shared_spilling(std::string_view text, std::string_view kernel);

// The compiler's own reason where it failed because it refuses the pragma: dynamic shared memory, -G, relocatable
// device code, functions that are called and not inlined. Empty: it failed for another reason.
std::optional<std::string> why_no_shared_spilling(std::string_view failure);

}  // namespace regtune
