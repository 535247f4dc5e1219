#pragma once
// What a compiler is asked for one build: the author's text behind a prelude that strips the declared bounds and puts
// others on every kernel, the options, and the cap. One text for both compilers, so that a budget means the same to
// each; the author's own code under nvcc is the author's file itself. PTX has caps alone. It compiles nothing.
#include <string>
#include <variant>
#include <vector>

#include "nvcc.hpp"
#include "nvrtc.hpp"
#include "ptxas.hpp"
#include "source.hpp"

namespace regtune {

using CompilerRequest = std::variant<NvrtcRequest, NvccRequest, PtxasRequest>;

// What NVRTC is asked to do for one build. LTO-IR holds no cap: nvJitLink gets it. `header_folder`: where to
// keep and find precompiled headers of this kind of output; empty: nowhere.
NvrtcRequest compile_request(const CompileUnit& unit, const Build& build, NvrtcOutput output,
                             const std::string& header_folder);
NvccRequest nvcc_request(const CompileUnit& unit, const Build& build, NvrtcOutput output);
// Of PTX: the author's own code is the text as it is, and a cap the same without what its kernels declare of registers.
PtxasRequest ptxas_request(const CompileUnit& unit, const Build& build);

// Of the unit's own compiler. `header_folder` is NVRTC's.
CompilerRequest request_for(const CompileUnit& unit, const Build& build, NvrtcOutput output,
                            const std::string& header_folder);

// The author's compiler options, without what they say of the build's macros, and those that the build adds;
// without a cap.
std::vector<std::string> options_of(const CompileUnit& unit, const Build& build);

// The cap that the policy puts on the compiler's command line; 0: none.
int cap_of(const CompileUnit& unit, const RegisterPolicy& policy);

// The name that makes ptxas allocate otherwise: "cutlass_" in front of the kernel's own (DESIGN.md, "The
// name"). `mangled` is the kernel's; `name` its unqualified name in the source.
std::string renamed_kernel(const std::string& mangled, const std::string& name);

}  // namespace regtune
