#pragma once
// What a study without a launch is about: which architectures, which kernels of the file, and with which blocks
// their occupancy is counted. All of it can be left out by the user, and then comes from the compiler, the compiled
// file and the kernel's own launch bounds. Launches nothing, and never needs a grid, a size or an argument.
#include <optional>
#include <string>
#include <vector>

#include "compile.hpp"
#include "cubin.hpp"
#include "description.hpp"
#include "gpu_limits.hpp"
#include "record.hpp"
#include "signature.hpp"
#include "workload.hpp"

namespace regtune {

// What a machine without a GPU compiles for unless --arch says otherwise.
inline constexpr const char* kDefaultArchitecture = "sm_90";

// "sm_90" or "sm_90a". Throws Error(unknown_architecture) with those that the compiler has.
GpuLimits limits_of_target(const std::string& architecture, const CompilerIdentity& compiler);

// `list`: "sm_75,sm_90", or "all" that the compiler has; empty: that of GPU `device`, or kDefaultArchitecture
// without one. Each once, in the order given. Throws Error(unknown_architecture), and Error(usage) for an empty item.
std::vector<std::string> architectures_meant(const std::optional<std::string>& list, int device,
                                             const CompilerIdentity& compiler);

// True for "all" and for names with * or ?, unless they are a template-id: 'f<int*>' is one kernel.
bool is_kernel_pattern(const std::string& wanted);

// Takes a pattern out of the flags: the description's kernel, if any, is then still compiled.
std::optional<std::string> take_kernel_pattern(DescriptionFlags& flags);

// Every kernel whose name, with or without its namespaces, matches. Throws Error(no_kernel) that lists them.
std::vector<KernelSignature> kernels_matching(const Cubin& cubin, const Source& source, const std::string& pattern);

// Where the description says which kernel it is about, it says nothing of the others.
LaunchDescription description_for(const LaunchDescription& description, const DescriptionFlags& flags,
                                  const KernelSignature& signature);

// The blocks of the description, else the bound compiled into the author's code, else 256 threads.
std::vector<Dim3> study_blocks(const LaunchDescription& description, const StaticFacts& author);

// Threads per block that the author's own code is compiled for; 0: no bound. The code that a sweep compiles first has
// none of its author's bounds, so a source that may have some is compiled as it stands, by plain NVRTC.
int authors_launch_bound(CompilePool& pool, const CompileUnit& unit, const KernelSignature& signature);

// The grid stays 1: no occupancy depends on it. Throws Error for dynamic shared memory that has no value.
LaunchShape study_shape(const LaunchDescription& description, const LaunchCase& launch);

}  // namespace regtune
