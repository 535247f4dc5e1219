#include "awaited_launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "did_you_mean.hpp"
#include "offered_kernel.hpp"
#include "signature.hpp"
#include "source.hpp"
#include "source_scan.hpp"

namespace regtune {
namespace {

bool is_named(const std::string& mangled, const std::string& wanted) {
  KernelSignature signature;
  signature.mangled_name = mangled;
  signature.name = kernel_name(mangled);
  signature.display = demangle(mangled);
  return names_kernel(signature, wanted);
}

}  // namespace

AwaitedLaunch::AwaitedLaunch(AwaitedKernel awaited) : awaited_(std::move(awaited)) {
  if (!awaited_.source) return;
  const Source source = read_source(*awaited_.source);
  if (awaited_.kernel) return;
  for (const ScannedKernel& kernel : scan_kernels(source.text)) in_source_.push_back(kernel.name);
}

bool AwaitedLaunch::is_meant(const std::string& mangled_name) const {
  if (awaited_.kernel) return is_named(mangled_name, *awaited_.kernel);
  return std::any_of(in_source_.begin(), in_source_.end(),
                     [&](const std::string& name) { return is_named(mangled_name, name); });
}

Message AwaitedLaunch::interest(const ToldKernel& kernel, const Message& question, std::string& note) {
  if (!is_meant(kernel.name)) return {{"interest", "none"}};
  const bool may_have_ptx = kernel.image_form == "PTX" || kernel.image_form == "fat binary";
  if (awaited_.needs_source && !awaited_.source && !question.contains("source") && !may_have_ptx) {
    note = fmt::format("{}: {}; give its source by --source FILE.cu", demangle(kernel.name),
                       kernel.image_form == "cubin"
                           ? "the program loads machine code of it alone (a cubin) and does not compile it by NVRTC"
                           : "it was not seen from what the program loads it");
    return {{"interest", "none"}};
  }
  if (question.contains("source")) sources_[kernel.name] = question.at("source");
  return {{"interest", "tune"}, {"launch", awaited_.launch}};
}

const Message* AwaitedLaunch::program_source(const std::string& mangled_name) const {
  const auto found = sources_.find(mangled_name);
  return awaited_.source || found == sources_.end() ? nullptr : &found->second;
}

bool AwaitedLaunch::take() {
  return !std::exchange(came_, true);
}

CapturedLaunch AwaitedLaunch::captured(const ToldKernel& kernel, const Message& offer,
                                       const std::string& program) const {
  CapturedLaunch captured = offered_launch(offer);
  captured.kernel = kernel.name;
  captured.image = kernel.image;
  captured.registers_per_thread = kernel.registers_per_thread;
  captured.launch = awaited_.launch;
  captured.program = program;
  captured.process = offer.at("process");
  return captured;
}

std::optional<std::string> AwaitedLaunch::why_not(const std::vector<ListedKernel>& kernels) const {
  if (came_ || kernels.empty()) return {};
  std::vector<std::string> names;
  for (const ListedKernel& kernel : kernels) {
    names.push_back(kernel_name(kernel.told.name));
    if (!is_meant(kernel.told.name)) continue;
    if (kernel.launches == 0)
      return fmt::format(
          "{} was not {}: it was launched inside CUDA graphs alone ({} times), where its data cannot be "
          "captured; run the program without graphs, if it has an option for that",
          kernel.signature, awaited_.doing, kernel.in_graphs);
    if (kernel.launches < static_cast<std::uint64_t>(awaited_.launch))
      return fmt::format("{} was not {}: it was launched {} times, and --launch names the {}th", kernel.signature,
                         awaited_.doing, kernel.launches, awaited_.launch);
    return {};
  }
  const std::string wanted = awaited_.kernel.value_or("a kernel of " + awaited_.source.value_or("").string());
  return fmt::format("{} was never launched{}", wanted, did_you_mean(awaited_.kernel.value_or(""), names));
}

std::optional<std::string> why_nothing_was_seen(const std::vector<ListedKernel>& kernels) {
  if (!kernels.empty()) return {};
  return "no launch of a kernel was seen: the program used no CUDA, was linked statically, or its driver is older than "
         "CUDA 12.4's";
}

DescriptorOwner::~DescriptorOwner() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace regtune
