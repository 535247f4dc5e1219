#pragma once
// The options of a link that gives the machine code which plain NVRTC gives for the same source, options and
// register cap. nvJitLink optimizes LTO-IR anew, so that every option that reaches the optimizer or ptxas must be
// said again in its words. An option that cannot be, or that is not known here, is refused by name: plain NVRTC
// then compiles that kernel. Each translation was compared with NVRTC's code, CUDA 13.0.
#include <optional>
#include <string>
#include <vector>

namespace regtune {

struct LinkOptionsRequest {
  std::string architecture;        // "sm_90a"
  int cap = 0;                     // --maxrregcount; 0: none
  std::string kernel;              // the mangled name of the only one to keep; empty: all
  std::vector<std::string> given;  // what NVRTC is given, regtune's own options among them
  bool takes_no_cache = true;      // nvJitLink 12.4 refuses -no-cache (NvJitLink::accepts_option)
};

// Empty where a link cannot stand for NVRTC; `why_not` then says in a sentence which option prevents it.
std::optional<std::vector<std::string>> link_options(const LinkOptionsRequest& request, std::string& why_not);

}  // namespace regtune
