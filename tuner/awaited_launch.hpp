#pragma once
// The launch that somebody waits for in a watched program: which of its kernels are meant, what the program's library
// is to do about each, and, where the launch never came, why. Both `regtune run` and `regtune capture` wait for one;
// what is done with it is theirs. The first process that makes it is the one: others go on.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "captured_launch.hpp"
#include "launch_listing.hpp"
#include "worker.hpp"

namespace regtune {

struct AwaitedKernel {
  // One of the two at least: by name, or any kernel of the source.
  std::optional<std::string> kernel;
  std::optional<std::filesystem::path> source;
  int launch = 1;            // which of the kernel's
  bool needs_source = true;  // a kernel of which there is neither source nor PTX is none of them
  std::string doing;         // what is to be done with it, for notes: "tuned"
};

class AwaitedLaunch {
 public:
  // Throws Error(file_not_found) where there is no such source.
  explicit AwaitedLaunch(AwaitedKernel awaited);

  bool is_meant(const std::string& mangled_name) const;

  // The answer to a process that asks what to do about a kernel; `note` gets why it cannot be had, where it is meant.
  Message interest(const ToldKernel& kernel, const Message& question, std::string& note);
  // What the program gave to its NVRTC for that kernel; nullptr: it did not, or a source was named.
  const Message* program_source(const std::string& mangled_name) const;

  // True once: for the process that comes first.
  bool take();
  bool came() const { return came_; }
  // Its shape and parameters, as they were offered; the memory is not asked for yet.
  CapturedLaunch captured(const ToldKernel& kernel, const Message& offer, const std::string& program) const;

  // After the program's end: why the launch never came. Empty where it did.
  std::optional<std::string> why_not(const std::vector<ListedKernel>& kernels) const;

 private:
  AwaitedKernel awaited_;
  std::vector<std::string> in_source_;      // kernels, where no name was given
  std::map<std::string, Message> sources_;  // that the program compiled, by mangled name
  bool came_ = false;
};

// A note where no launch at all was seen; empty else.
std::optional<std::string> why_nothing_was_seen(const std::vector<ListedKernel>& kernels);

// Closes what was opened.
class DescriptorOwner {
 public:
  explicit DescriptorOwner(int descriptor) : descriptor_(descriptor) {}
  DescriptorOwner(const DescriptorOwner&) = delete;
  DescriptorOwner& operator=(const DescriptorOwner&) = delete;
  ~DescriptorOwner();

 private:
  int descriptor_;
};

}  // namespace regtune
