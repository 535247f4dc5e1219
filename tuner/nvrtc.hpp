#pragma once
// NVRTC, opened at run time and never linked: one build serves every CUDA 12 and 13, and starts without
// either. The only file that includes nvrtc.h is nvrtc.cpp. Call it in a child process only (worker.hpp):
// a crash of the compiler then costs one variant. One process serves one set of options: NVRTC 13.0 keeps
// --restrict for all later compilations of its process.
#include <memory>
#include <string>
#include <vector>

#include "compiler_reply.hpp"

namespace regtune {

enum class NvrtcOutput {
  cubin,
  // For nvJitLink (nvjitlink.hpp). The options must hold -dlto; the architecture stays the real one: sm_90a
  // gives LTO-IR that links as sm_90a.
  lto_ir,
};

struct NvrtcRequest {
  std::string source;
  std::string file_name;                      // used in messages
  std::vector<std::string> options;           // as NVRTC takes them
  std::vector<std::string> name_expressions;  // "sgemm<128, float>"
  NvrtcOutput output = NvrtcOutput::cubin;
  bool stand_ins = false;                       // the host's standard headers are those of stand_ins.hpp
  std::vector<std::string> empty_headers = {};  // found by these names, and nothing in them
};

class Nvrtc {
 public:
  // Looks in REGTUNE_NVRTC (a file), CUDA_HOME and CUDA_PATH, the loader's path, and the usual folders.
  // Throws Error(no_toolkit) that lists where it looked and how to install it.
  static Nvrtc open();
  Nvrtc(Nvrtc&&) noexcept;
  Nvrtc& operator=(Nvrtc&&) noexcept;
  ~Nvrtc();

  std::string version() const;  // "13.0.88" where the file's name tells the build, else "13.0"
  int major() const;
  int minor() const;
  std::string library_path() const;  // the file that was opened
  // True from 12.9 on: NVRTC then keeps a cache of its own, and a hit leaves the log without ptxas's report.
  // Such a version must be given --no-cache; an older one refuses it as an unknown option.
  bool has_own_cache() const;
  // --pch, from 12.8 on. Not asked: the answer would leave a file in the current folder.
  bool precompiles_headers() const;
  // Asks the compiler itself, with an empty program: 12.6, say, refuses --frandom-seed as unknown.
  bool accepts_option(const std::string& option) const;
  std::vector<int> supported_architectures() const;  // {75, 80, ...}
  // NVRTC has an entry for LTO-IR since CUDA 12.0; false where the opened file lacks it.
  bool gives_lto_ir() const;
  // A source that does not compile, an option or an architecture that NVRTC refuses, and options that give
  // no machine code (compute_90 instead of sm_90) are a reply with `compiled` false and the reason in `log`.
  CompilerReply compile(const NvrtcRequest& request) const;

 private:
  struct Library;
  explicit Nvrtc(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace regtune
