#include "nvjitlink.hpp"

#include <fmt/format.h>
// Declarations only: the inline functions of the header would link against the library.
#define NVJITLINK_NO_INLINE
#include <nvJitLink.h>

#include "dynamic_library.hpp"
#include "nvcc.hpp"
#include "nvrtc.hpp"
#include "toolkit.hpp"

namespace regtune {

// The functions by name. The library exports each under its plain name too, of the newest version it holds.
struct NvJitLink::Library {
  using Create = nvJitLinkResult(nvJitLinkHandle*, std::uint32_t, const char* const*);
  using Destroy = nvJitLinkResult(nvJitLinkHandle*);
  using AddData = nvJitLinkResult(nvJitLinkHandle, nvJitLinkInputType, const void*, std::size_t, const char*);
  using Complete = nvJitLinkResult(nvJitLinkHandle);
  using GetSize = nvJitLinkResult(nvJitLinkHandle, std::size_t*);
  using GetBytes = nvJitLinkResult(nvJitLinkHandle, void*);
  using GetText = nvJitLinkResult(nvJitLinkHandle, char*);
  using GetVersion = nvJitLinkResult(unsigned*, unsigned*);

  explicit Library(DynamicLibrary opened) : file(std::move(opened)) {}

  DynamicLibrary file;
  int major = 0;
  int minor = 0;
  GetVersion* get_version = nullptr;
  Create* create = nullptr;
  Destroy* destroy = nullptr;
  AddData* add_data = nullptr;
  Complete* complete = nullptr;
  GetSize* cubin_size = nullptr;
  GetBytes* cubin = nullptr;
  GetSize* error_log_size = nullptr;
  GetText* error_log = nullptr;
  GetSize* info_log_size = nullptr;
  GetText* info_log = nullptr;

  template <typename Function>
  bool bind(Function*& function, const char* name) {
    function = file.find<Function>(name);
    return function != nullptr;
  }

  bool keeps_failed() const { return major > 12 || (major == 12 && minor >= 9); }

  // The name of the first function that is missing; nullptr when all are there.
  const char* bind_all() {
    if (!bind(get_version, "nvJitLinkVersion")) return "nvJitLinkVersion (it came with CUDA 12.3)";
    if (!bind(create, "nvJitLinkCreate")) return "nvJitLinkCreate";
    if (!bind(destroy, "nvJitLinkDestroy")) return "nvJitLinkDestroy";
    if (!bind(add_data, "nvJitLinkAddData")) return "nvJitLinkAddData";
    if (!bind(complete, "nvJitLinkComplete")) return "nvJitLinkComplete";
    if (!bind(cubin_size, "nvJitLinkGetLinkedCubinSize")) return "nvJitLinkGetLinkedCubinSize";
    if (!bind(cubin, "nvJitLinkGetLinkedCubin")) return "nvJitLinkGetLinkedCubin";
    if (!bind(error_log_size, "nvJitLinkGetErrorLogSize")) return "nvJitLinkGetErrorLogSize";
    if (!bind(error_log, "nvJitLinkGetErrorLog")) return "nvJitLinkGetErrorLog";
    if (!bind(info_log_size, "nvJitLinkGetInfoLogSize")) return "nvJitLinkGetInfoLogSize";
    if (!bind(info_log, "nvJitLinkGetInfoLog")) return "nvJitLinkGetInfoLog";
    return nullptr;
  }
};

namespace {

// Owns one link. A handle whose creation failed (an unknown option, say) still has a log in 12.9 and 13.0; in
// 12.4 destroying it is a jump to address zero, so that older versions' handles are left alone then.
template <typename Destroy>
class Link {
 public:
  template <typename Create>
  Link(Create* create, Destroy* destroy, bool keeps_failed, const std::vector<std::string>& options)
      : destroy_(destroy) {
    std::vector<const char*> pointers;
    for (const auto& option : options) pointers.push_back(option.c_str());
    result_ = create(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    if (result_ != NVJITLINK_SUCCESS && !keeps_failed) handle_ = nullptr;
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (handle_ != nullptr) destroy_(&handle_);
  }
  nvJitLinkResult result() const { return result_; }
  nvJitLinkHandle get() const { return handle_; }

 private:
  nvJitLinkHandle handle_ = nullptr;
  nvJitLinkResult result_ = NVJITLINK_ERROR_INTERNAL;
  Destroy* destroy_;
};

template <typename GetSize, typename GetText>
void append_text(std::string& log, nvJitLinkHandle handle, GetSize* get_size, GetText* get_text) {
  std::size_t size = 0;
  if (handle == nullptr || get_size(handle, &size) != NVJITLINK_SUCCESS || size == 0) return;
  std::string text(size, '\0');
  if (get_text(handle, text.data()) != NVJITLINK_SUCCESS) return;
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (!log.empty() && !text.empty() && log.back() != '\n') log += '\n';
  log += text;
}

// nvJitLink has no function that names its errors.
std::string name_of(nvJitLinkResult result) {
  switch (result) {
    case NVJITLINK_ERROR_UNRECOGNIZED_OPTION:
      return "an option is not known to it";
    case NVJITLINK_ERROR_MISSING_ARCH:
      return "no architecture was given (-arch=sm_90)";
    case NVJITLINK_ERROR_INVALID_INPUT:
      return "the LTO-IR is not valid";
    case NVJITLINK_ERROR_PTX_COMPILE:
      return "ptxas failed";
    case NVJITLINK_ERROR_NVVM_COMPILE:
      return "the optimizer failed";
    case NVJITLINK_ERROR_INTERNAL:
      return "internal error";
    default:
      return fmt::format("error {}", static_cast<int>(result));
  }
}

}  // namespace

NvJitLink::NvJitLink(std::unique_ptr<Library> library) : library_(std::move(library)) {}
NvJitLink::NvJitLink(NvJitLink&&) noexcept = default;
NvJitLink& NvJitLink::operator=(NvJitLink&&) noexcept = default;
NvJitLink::~NvJitLink() = default;

std::optional<NvJitLink> NvJitLink::open(std::string& why_not) {
  std::vector<std::string> failures;
  std::optional<DynamicLibrary> file = DynamicLibrary::open(library_candidates(nvjitlink_library()), failures);
  if (!file) {
    why_not = fmt::format(
        "nvJitLink could not be opened, so every budget is compiled whole by NVRTC:\n  {}\nInstall "
        "it (package libnvjitlink-13-0), or name the file: "
        "REGTUNE_NVJITLINK=/path/to/libnvJitLink.so.13",
        fmt::join(failures, "\n  "));
    return std::nullopt;
  }
  auto library = std::make_unique<Library>(*std::move(file));
  if (const char* missing = library->bind_all()) {
    why_not = fmt::format("{} is not used: it has no function {}", library->file.path().string(), missing);
    return std::nullopt;
  }
  unsigned major = 0, minor = 0;
  if (library->get_version(&major, &minor) != NVJITLINK_SUCCESS) {
    why_not = fmt::format("{} is not used: it does not tell its version", library->file.path().string());
    return std::nullopt;
  }
  library->major = static_cast<int>(major);
  library->minor = static_cast<int>(minor);
  return NvJitLink(std::move(library));
}

LinkerFacts NvJitLink::facts() const {
  // Every one of CUDA 13 knows it.
  const bool takes_no_cache = library_->major >= 13 || accepts_option("-no-cache");
  return {library_->file.path().string(), library_->major, library_->minor, takes_no_cache};
}

std::string LinkerFacts::version() const {
  return fmt::format("{}.{}", major, minor);
}

std::optional<std::string> NvJitLink::mismatch(int major, int minor, int its_major, int its_minor,
                                               const char* compiler) {
  if (major == its_major && minor >= its_minor) return std::nullopt;
  return fmt::format(
      "nvJitLink {}.{} {} {} {}.{}, so every budget is compiled whole by {}; set "
      "REGTUNE_NVJITLINK to the libnvJitLink of the same toolkit",
      major, minor, major == its_major || major < its_major ? "is older than" : "is of another CUDA than", compiler,
      its_major, its_minor, compiler);
}

std::optional<std::string> LinkerFacts::cannot_serve(const Nvcc& nvcc) const {
  return NvJitLink::mismatch(major, minor, nvcc.major(), nvcc.minor(), "nvcc");
}

std::optional<std::string> LinkerFacts::cannot_serve(const Nvrtc& nvrtc) const {
  if (!nvrtc.gives_lto_ir())
    return fmt::format("NVRTC {} makes no LTO-IR, so every budget is compiled whole by NVRTC", nvrtc.version());
  return NvJitLink::mismatch(major, minor, nvrtc.major(), nvrtc.minor());
}

bool NvJitLink::accepts_option(const std::string& option) const {
  const Link link(library_->create, library_->destroy, library_->keeps_failed(), {"-arch=sm_90", "-lto", option});
  return link.result() == NVJITLINK_SUCCESS;
}

LinkReply NvJitLink::link(const LinkRequest& request) const {
  LinkReply reply;
  const Link link(library_->create, library_->destroy, library_->keeps_failed(), request.options);
  nvJitLinkResult result = link.result();
  if (result == NVJITLINK_SUCCESS) {
    result =
        library_->add_data(link.get(), NVJITLINK_INPUT_LTOIR, request.lto_ir.data(), request.lto_ir.size(), "source");
  }
  if (result == NVJITLINK_SUCCESS) result = library_->complete(link.get());
  append_text(reply.log, link.get(), library_->info_log_size, library_->info_log);
  append_text(reply.log, link.get(), library_->error_log_size, library_->error_log);
  std::size_t size = 0;
  if (result == NVJITLINK_SUCCESS) result = library_->cubin_size(link.get(), &size);
  if (result == NVJITLINK_SUCCESS && size != 0) {
    reply.cubin.resize(size);
    result = library_->cubin(link.get(), reply.cubin.data());
  }
  reply.linked = result == NVJITLINK_SUCCESS && !reply.cubin.empty();
  if (!reply.linked) {
    reply.cubin.clear();
    if (!reply.log.empty() && reply.log.back() != '\n') reply.log += '\n';
    reply.log += fmt::format("nvJitLink {}.{}: {} (options: {})", library_->major, library_->minor, name_of(result),
                             fmt::join(request.options, " "));
  }
  return reply;
}

}  // namespace regtune
