#pragma once
// A source compiled by NVRTC in this process, under a budget or as its author wrote it, exactly as the tuner has it
// compiled. NVRTC is opened by the first compilation and by nothing before it.
#include <optional>
#include <string>
#include <vector>

#include "macros.hpp"
#include "nvrtc.hpp"
#include "regtune/tuned_policy.hpp"
#include "source_tag.hpp"

namespace regtune {

struct JitSource {
  std::string text;
  std::string path;  // "kernel.cu" where the caller names none
  AuthorOptions options;
  std::string kernel;      // "ns::scale<4, float>", or the mangled name
  std::string entry = {};  // mangled, where it is known and the kernel is no template's instance; else NVRTC is asked
};

// As the tuner makes it, so that equal sources have equal tags.
std::string tag_of(const JitSource& source);

struct JitCode {
  std::string cubin;  // empty: `log` says why
  std::string entry;  // mangled
  std::string log;
};

class JitCompiler {
 public:
  // `budget`: null is the author's own. Throws Error(no_toolkit).
  JitCode compile(const JitSource& source, const std::string& architecture, const TunedBudget* budget);

 private:
  std::optional<Nvrtc> nvrtc_;
  std::vector<std::string> fixed_options_;
};

}  // namespace regtune
