#pragma once
// ptxas, run as a program and never linked: machine code of PTX under a register cap. It is the toolkit's assembler, by
// which nvcc makes its codes too; the driver's own, which a program with PTX runs by, may be of another version. It may
// be called in any process that has one thread.
#include <optional>
#include <string>
#include <vector>

#include "compiler_reply.hpp"

namespace regtune {

struct PtxasRequest {
  std::string program;  // which ptxas
  std::string file;     // what the text is called, in messages
  std::string text;
  std::vector<std::string> options;  // as ptxas takes them, the architecture and a cap among them
  double limit_s = 600;
  std::string scratch_folder;  // where each run makes a folder of its own, and removes it
};

class Ptxas {
 public:
  // The first of program_candidates(). Empty where there is none, or where it does not say its version; `why_not` then
  // says so.
  static std::optional<Ptxas> open(std::string& why_not);

  const std::string& file() const { return file_; }
  const std::string& version() const { return version_; }  // "13.0.88"
  std::vector<int> architectures() const;                  // {75, 80, ...}; empty where it does not tell

 private:
  std::string file_;
  std::string version_;
};

// PTX that does not assemble is a reply with `compiled` false and ptxas's messages, as is a run that takes too long.
CompilerReply compile_by_ptxas(const PtxasRequest& request);

// An author's options as ptxas takes them: what nvcc and NVRTC pass on to it (-Xptxas=-O1) stands bare.
std::vector<std::string> ptxas_options(const std::vector<std::string>& options);

}  // namespace regtune
