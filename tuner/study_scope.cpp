#include "study_scope.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "device.hpp"
#include "kernel_choice.hpp"
#include "regtune/error.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

constexpr unsigned kDefaultBlock = 256;
constexpr std::int64_t kMaxSharedBytes = 1 << 30;  // no GPU has a gigabyte per block

std::vector<std::string> split_at_commas(const std::string& list) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (std::size_t comma = list.find(','); comma != std::string::npos; comma = list.find(',', begin)) {
    pieces.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  pieces.push_back(list.substr(begin));
  return pieces;
}

bool matches(const std::string& pattern, const KernelSignature& signature) {
  if (pattern == "all") return true;
  const auto fits = [&](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; };
  return fits(signature.name) || fits(unqualified_name(signature));
}

std::int64_t dynamic_shared_bytes(const LaunchDescription& description, const LaunchCase& launch) {
  if (!description.dynamic_shared_bytes) return 0;
  Sizes sizes;
  for (const SizeDescription& size : description.sizes) sizes[size.name] = evaluate_size(size.value, sizes);
  const Sizes names = expression_names(sizes, launch);
  const Expression& expression = *description.dynamic_shared_bytes;
  const std::int64_t bytes = evaluate_size(expression, names);
  if (bytes < 0 || bytes > kMaxSharedBytes)
    throw Error(
        ErrorKind::bad_launch,
        fmt::format("{}: {} gives {} bytes of dynamic shared memory; choose 0 or more, and what a block can have",
                    expression.origin.text, in_quotes(expression.text), bytes));
  return bytes;
}

}  // namespace

GpuLimits limits_of_target(const std::string& architecture, const CompilerIdentity& compiler) {
  const std::optional<GpuLimits> limits = gpu_limits(architecture);
  const int number = limits ? limits->compute_major * 10 + limits->compute_minor : 0;
  const std::vector<int>& known = compiler.architectures;
  if (std::find(known.begin(), known.end(), number) == known.end())
    throw Error(ErrorKind::unknown_architecture, fmt::format("{}: {} compiles for no such GPU; choose one of sm_{}",
                                                             architecture, compiler.name, fmt::join(known, ", sm_")));
  return *limits;
}

std::vector<std::string> architectures_meant(const std::optional<std::string>& list, int device,
                                             const CompilerIdentity& compiler) {
  std::vector<std::string> architectures;
  if (!list) {
    Device gpu(device);
    const std::optional<GpuState>& state = gpu.state();
    architectures.push_back(state ? fmt::format("sm_{}{}", state->id.compute_major, state->id.compute_minor)
                                  : kDefaultArchitecture);
  } else if (*list == "all") {
    for (const int number : compiler.architectures)
      if (const std::string name = fmt::format("sm_{}", number); gpu_limits(name)) architectures.push_back(name);
  } else {
    for (const std::string& name : split_at_commas(*list)) {
      if (name.empty())
        throw Error(ErrorKind::usage,
                    fmt::format("--arch {}: an architecture is missing; write sm_75,sm_90, say", in_quotes(*list)));
      if (std::find(architectures.begin(), architectures.end(), name) == architectures.end())
        architectures.push_back(name);
    }
  }
  for (const std::string& name : architectures) limits_of_target(name, compiler);
  return architectures;
}

bool is_kernel_pattern(const std::string& wanted) {
  return wanted == "all" || (wanted.find('<') == std::string::npos && wanted.find_first_of("*?") != std::string::npos);
}

std::optional<std::string> take_kernel_pattern(DescriptionFlags& flags) {
  if (!flags.kernel || !is_kernel_pattern(*flags.kernel)) return {};
  return std::exchange(flags.kernel, std::nullopt);
}

std::vector<KernelSignature> kernels_matching(const Cubin& cubin, const Source& source, const std::string& pattern) {
  std::vector<KernelSignature> meant;
  for (const CubinKernel& kernel : cubin.kernels)
    if (KernelSignature signature = kernel_signature(kernel, source.text); matches(pattern, signature))
      meant.push_back(std::move(signature));
  // None: the message with the list of those that there are.
  if (meant.empty()) meant.push_back(choose_kernel(cubin, source.text, source.path.string(), pattern, ""));
  return meant;
}

LaunchDescription description_for(const LaunchDescription& description, const DescriptionFlags& flags,
                                  const KernelSignature& signature) {
  if (!description.kernel || names_kernel(signature, *description.kernel)) return description;
  LaunchDescription silent;
  silent.options = description.options;
  silent.nvcc_options = description.nvcc_options;
  silent.include_folders = description.include_folders;
  DescriptionFlags of_launch;
  of_launch.sizes = flags.sizes;
  of_launch.block = flags.block;
  of_launch.dynamic_shared_bytes = flags.dynamic_shared_bytes;
  return with_flags(std::move(silent), of_launch);
}

std::vector<Dim3> study_blocks(const LaunchDescription& description, const StaticFacts& author) {
  std::vector<Dim3> blocks = description.blocks;
  if (blocks.empty()) {
    const int bound =
        author.required_threads_per_block > 0 ? author.required_threads_per_block : author.max_threads_per_block;
    // A bound above what a block can have is legal in the source, and no block.
    blocks.push_back({bound > 0 && bound <= 1024 ? static_cast<unsigned>(bound) : kDefaultBlock, 1, 1});
  }
  return blocks;
}

int authors_launch_bound(CompilePool& pool, const CompileUnit& unit, const KernelSignature& signature) {
  const std::string& text = compiled_text(unit);
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  const bool stands_here = std::any_of(kernels.begin(), kernels.end(), [&](const ScannedKernel& kernel) {
    return kernel.is_definition && kernel.name == unqualified_name(signature);
  });
  const bool may_have_some =
      text.find("launch_bounds") != std::string::npos || text.find("block_size") != std::string::npos || !stands_here;
  if (!may_have_some) return 0;
  const CompiledCode code = pool.prepare({0, request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), {}, true});
  if (!code.compiled) return 0;  // the run will say so of the author's code
  const Cubin cubin = read_cubin(code.cubin);
  const CubinKernel* kernel = find_kernel(cubin, signature.mangled_name);
  if (!kernel) return 0;
  return kernel->required_threads_per_block > 0 ? kernel->required_threads_per_block : kernel->max_threads_per_block;
}

LaunchShape study_shape(const LaunchDescription& description, const LaunchCase& launch) {
  return {{1, 1, 1}, launch.block, dynamic_shared_bytes(description, launch)};
}

}  // namespace regtune
