#pragma once
// nvcc, run as a program and never linked. It compiles an author's file as it is, with all host code in it, or a text
// that stands for the file; what it gives is device code only, for no host object is made. Each run has a folder of its
// own for what nvcc leaves behind. It may be called in any process that has one thread.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_reply.hpp"

namespace regtune {

struct NvccRequest {
  std::string program;                        // which nvcc
  std::string file;                           // the author's, as nvcc is to name it in messages
  std::string text;                           // compiled in its place; empty: the file itself
  std::vector<std::string> options;           // as nvcc takes them, the architecture among them
  std::vector<std::string> name_expressions;  // "sgemm<128, float>": instances that are wanted beside the file's own
  bool lto_ir = false;                        // for nvJitLink, in the place of machine code
  double limit_s = 600;                       // of one run
  std::string scratch_folder;                 // where each run makes a folder of its own, and removes it
};

class Nvcc {
 public:
  // `file`: which one; empty: the first of program_candidates(). Empty where there is none, or where it does not say
  // its version; `why_not` then says so.
  static std::optional<Nvcc> open(const std::string& file, std::string& why_not);

  const std::string& file() const { return file_; }
  // With the host's compiler, whose headers and dialect reach device code: "13.0.88 with GCC 12.2.0".
  std::string version() const;
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::vector<int> architectures() const;  // {75, 80, ...}; empty where it does not tell

 private:
  std::string file_;
  std::string release_;  // "13.0.88"
  std::string host_;     // "GCC 12.2.0"; empty: not known
  int major_ = 0;
  int minor_ = 0;
};

// A file that does not compile is a reply with `compiled` false and nvcc's messages, as is a run that takes too long.
CompilerReply compile_by_nvcc(const NvccRequest& request);

// "release 13.0, V13.0.88" -> "13.0.88"; empty where the text says no such thing.
std::string nvcc_release(const std::string& version_text);
// The numbers behind `mark` in what a compiler says of itself, each once and rising: {75, 80} of "sm_80, sm_75, sm_80".
std::vector<int> architectures_in(const std::string& text, std::string_view mark);

// The compiler that the commands of `nvcc --dryrun` say they stand in for: "GCC 12.2.0", "Clang 16.0.6"; or empty.
std::string host_compiler(const std::string& dry_run);

// Text behind the author's that has nvcc make those instances of kernel templates, and leaves their mangled names in
// the machine code: NVRTC would be asked for them, nvcc cannot be.
std::string instances_text(const std::vector<std::string>& name_expressions);
// Those names, of a code compiled with that text, in that order; empty where one is missing.
std::vector<std::string> instance_names(const std::string& cubin, std::size_t count);

// The names of what stands in an anonymous namespace hold a number that nvcc makes of the file's path. It becomes the
// same for all paths, so that a kernel has one name under every budget.
void fix_anonymous_names(std::string& cubin);

}  // namespace regtune
