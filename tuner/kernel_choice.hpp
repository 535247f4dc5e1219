#pragma once
// Which kernel of the compiled file is meant. The compiled code says which there are; the author's text only
// helps to explain why one is missing.
#include <optional>
#include <string>
#include <string_view>

#include "cubin.hpp"
#include "signature.hpp"

namespace regtune {

// `wanted`: what --kernel says; empty: the file's only kernel. `lowered_name`: the mangled name of a
// template-id, which the compiler gave; else empty. Throws Error(no_kernel) and Error(several_kernels), both
// listing the kernels there are.
KernelSignature choose_kernel(const Cubin& cubin, std::string_view source_text, const std::string& file,
                              const std::optional<std::string>& wanted, const std::string& lowered_name);

// The kernel of that mangled name; nullptr when the cubin has none.
const CubinKernel* find_kernel(const Cubin& cubin, std::string_view mangled_name);

}  // namespace regtune
