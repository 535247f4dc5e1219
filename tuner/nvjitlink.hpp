#pragma once
// nvJitLink, opened at run time and never linked, as NVRTC is (nvrtc.hpp). The only file that includes
// nvJitLink.h is nvjitlink.cpp. It turns LTO-IR into the machine code of one kernel under one register cap;
// which options make that code the same as plain NVRTC's is link_options.hpp's knowledge. Call it in a child
// process only (worker.hpp): a crash of the compiler then costs one variant.
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

class Nvcc;
class Nvrtc;

struct LinkRequest {
  std::string lto_ir;
  std::vector<std::string> options;  // as nvJitLink takes them
};

struct LinkReply {
  bool linked = false;
  std::string cubin;  // machine code; empty when not linked
  std::string log;    // ptxas's report and the error messages
};

// What an nvJitLink says of itself: enough to know whose LTO-IR it takes when the library is not at hand.
struct LinkerFacts {
  std::string library_path;  // the file that was opened
  int major = 0;
  int minor = 0;
  bool takes_no_cache = false;  // it knows -no-cache

  std::string version() const;  // "13.0"
  // LTO-IR is read by an nvJitLink of the same major version that is at least as new as the NVRTC which made
  // it. Empty when this one is; else a sentence that says why not.
  std::optional<std::string> cannot_serve(const Nvrtc& nvrtc) const;
  std::optional<std::string> cannot_serve(const Nvcc& nvcc) const;
  // The same library, whatever was asked of it.
  friend bool operator==(const LinkerFacts& a, const LinkerFacts& b) {
    return a.library_path == b.library_path && a.major == b.major && a.minor == b.minor;
  }
};

class NvJitLink {
 public:
  // Looks in REGTUNE_NVJITLINK (a file), CUDA_HOME and CUDA_PATH, the loader's path, and the usual folders.
  // Empty where there is none; `why_not` then says where it looked. That is no error: plain NVRTC serves.
  static std::optional<NvJitLink> open(std::string& why_not);
  NvJitLink(NvJitLink&&) noexcept;
  NvJitLink& operator=(NvJitLink&&) noexcept;
  ~NvJitLink();

  LinkerFacts facts() const;
  // As LinkerFacts::cannot_serve, for `compiler` `its_major`.`its_minor` ("NVRTC", "nvcc") and nvJitLink
  // `major`.`minor`.
  static std::optional<std::string> mismatch(int major, int minor, int its_major, int its_minor,
                                             const char* compiler = "NVRTC");
  // Asks the library itself: the options of a link that it does not know are refused before any input is read.
  bool accepts_option(const std::string& option) const;
  // An option, an architecture or an input that nvJitLink refuses is a reply with `linked` false and the
  // reason in `log`.
  LinkReply link(const LinkRequest& request) const;

 private:
  struct Library;
  explicit NvJitLink(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace regtune
