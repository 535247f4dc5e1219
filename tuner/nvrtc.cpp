#include "nvrtc.hpp"

#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "dynamic_library.hpp"
#include "regtune/error.hpp"
#include "stand_ins.hpp"
#include "toolkit.hpp"

namespace regtune {

// The functions by name. Those marked optional came after CUDA 12.0.
struct Nvrtc::Library {
  explicit Library(DynamicLibrary opened) : file(std::move(opened)) {}

  // NVRTC opens its builtins by their bare name when it first compiles, and names no folder of its own to the loader:
  // outside the loader's path (wheels, a toolkit in a folder of its own) it would not find the file beside it. What is
  // loaded already, it finds. Where there is none beside it, NVRTC says so itself.
  void load_builtins_beside_it() {
    if (has_looked_for_builtins) return;
    has_looked_for_builtins = true;
    const std::filesystem::path name = fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
    std::error_code error;
    std::vector<std::filesystem::path> beside{file.path().parent_path() / name};
    if (const auto resolved = std::filesystem::canonical(file.path(), error); !error)
      beside.push_back(resolved.parent_path() / name);
    std::vector<std::string> failures;
    builtins = DynamicLibrary::open(beside, failures);
  }

  DynamicLibrary file;
  std::optional<DynamicLibrary> builtins;
  bool has_looked_for_builtins = false;
  int major = 0;
  int minor = 0;
  decltype(nvrtcGetErrorString)* error_string = nullptr;
  decltype(nvrtcVersion)* get_version = nullptr;
  decltype(nvrtcGetNumSupportedArchs)* architecture_count = nullptr;
  decltype(nvrtcGetSupportedArchs)* architectures = nullptr;
  decltype(nvrtcCreateProgram)* create = nullptr;
  decltype(nvrtcDestroyProgram)* destroy = nullptr;
  decltype(nvrtcCompileProgram)* compile = nullptr;
  decltype(nvrtcGetCUBINSize)* cubin_size = nullptr;
  decltype(nvrtcGetCUBIN)* cubin = nullptr;
  decltype(nvrtcGetProgramLogSize)* log_size = nullptr;
  decltype(nvrtcGetProgramLog)* log = nullptr;
  decltype(nvrtcAddNameExpression)* add_name_expression = nullptr;
  decltype(nvrtcGetLoweredName)* lowered_name = nullptr;
  decltype(nvrtcGetLTOIRSize)* lto_ir_size = nullptr;  // optional
  decltype(nvrtcGetLTOIR)* lto_ir = nullptr;           // optional

  template <typename Function>
  bool bind(Function*& function, const char* name) {
    function = file.find<Function>(name);
    return function != nullptr;
  }

  // The name of the first function that is missing; nullptr when all are there.
  const char* bind_all() {
    if (!bind(error_string, "nvrtcGetErrorString")) return "nvrtcGetErrorString";
    if (!bind(get_version, "nvrtcVersion")) return "nvrtcVersion";
    if (!bind(architecture_count, "nvrtcGetNumSupportedArchs")) return "nvrtcGetNumSupportedArchs";
    if (!bind(architectures, "nvrtcGetSupportedArchs")) return "nvrtcGetSupportedArchs";
    if (!bind(create, "nvrtcCreateProgram")) return "nvrtcCreateProgram";
    if (!bind(destroy, "nvrtcDestroyProgram")) return "nvrtcDestroyProgram";
    if (!bind(compile, "nvrtcCompileProgram")) return "nvrtcCompileProgram";
    if (!bind(cubin_size, "nvrtcGetCUBINSize")) return "nvrtcGetCUBINSize";
    if (!bind(cubin, "nvrtcGetCUBIN")) return "nvrtcGetCUBIN";
    if (!bind(log_size, "nvrtcGetProgramLogSize")) return "nvrtcGetProgramLogSize";
    if (!bind(log, "nvrtcGetProgramLog")) return "nvrtcGetProgramLog";
    if (!bind(add_name_expression, "nvrtcAddNameExpression")) return "nvrtcAddNameExpression";
    if (!bind(lowered_name, "nvrtcGetLoweredName")) return "nvrtcGetLoweredName";
    if (!bind(lto_ir_size, "nvrtcGetLTOIRSize") || !bind(lto_ir, "nvrtcGetLTOIR")) lto_ir_size = nullptr;
    return nullptr;
  }
};

namespace {

// Owns one nvrtcProgram.
class Program {
 public:
  Program(nvrtcProgram program, decltype(nvrtcDestroyProgram)* destroy) : program_(program), destroy_(destroy) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { destroy_(&program_); }
  nvrtcProgram get() const { return program_; }

 private:
  nvrtcProgram program_;
  decltype(nvrtcDestroyProgram)* destroy_;
};

// NVRTC gives every output as a pair of functions, size and bytes: machine code, log, LTO-IR.
template <typename GetSize, typename GetBytes>
std::string output_of(nvrtcProgram program, GetSize get_size, GetBytes get_bytes) {
  std::size_t size = 0;
  if (get_size(program, &size) != NVRTC_SUCCESS || size == 0) return {};
  std::string bytes(size, '\0');
  if (get_bytes(program, bytes.data()) != NVRTC_SUCCESS) return {};
  return bytes;
}

void add_line(std::string& log, const std::string& line) {
  if (!log.empty() && log.back() != '\n') log += '\n';
  log += line;
}

}  // namespace

Nvrtc::Nvrtc(std::unique_ptr<Library> library) : library_(std::move(library)) {}
Nvrtc::Nvrtc(Nvrtc&&) noexcept = default;
Nvrtc& Nvrtc::operator=(Nvrtc&&) noexcept = default;
Nvrtc::~Nvrtc() = default;

Nvrtc Nvrtc::open() {
  std::vector<std::string> failures;
  std::optional<DynamicLibrary> file = DynamicLibrary::open(library_candidates(nvrtc_library()), failures);
  if (!file) {
    throw Error(
        ErrorKind::no_toolkit,
        fmt::format("NVRTC, the CUDA run-time compiler, could not be opened:\n  {}\nInstall the CUDA toolkit 12 or "
                    "13 (package cuda-nvrtc-13-0), or name the file: REGTUNE_NVRTC=/path/to/libnvrtc.so.13",
                    fmt::join(failures, "\n  ")));
  }
  auto library = std::make_unique<Library>(*std::move(file));
  if (const char* missing = library->bind_all()) {
    throw Error(ErrorKind::no_toolkit, fmt::format("{} is no NVRTC of CUDA 12 or 13: it has no function {}. Set "
                                                   "REGTUNE_NVRTC to another file",
                                                   library->file.path().string(), missing));
  }
  if (library->get_version(&library->major, &library->minor) != NVRTC_SUCCESS || library->major < 12) {
    throw Error(
        ErrorKind::no_toolkit,
        fmt::format("{} is NVRTC {}.{}; 12.0 or newer is needed. Install CUDA 12 or 13, or set REGTUNE_NVRTC to "
                    "a newer file",
                    library->file.path().string(), library->major, library->minor));
  }
  return Nvrtc(std::move(library));
}

std::string Nvrtc::version() const {
  const std::string version = fmt::format("{}.{}", library_->major, library_->minor);
  std::error_code error;
  const std::string name = std::filesystem::canonical(library_->file.path(), error).filename().string();
  const std::string stem = "libnvrtc.so.";
  if (!error && name.starts_with(stem + version + ".")) return name.substr(stem.size());
  return version;
}

std::string Nvrtc::library_path() const {
  return library_->file.path().string();
}

int Nvrtc::major() const {
  return library_->major;
}

int Nvrtc::minor() const {
  return library_->minor;
}

bool Nvrtc::gives_lto_ir() const {
  return library_->lto_ir_size != nullptr;
}

bool Nvrtc::has_own_cache() const {
  return library_->major > 12 || (library_->major == 12 && library_->minor >= 9);
}

bool Nvrtc::precompiles_headers() const {
  return library_->major > 12 || (library_->major == 12 && library_->minor >= 8);
}

bool Nvrtc::accepts_option(const std::string& option) const {
  nvrtcProgram created = nullptr;
  library_->load_builtins_beside_it();
  if (library_->create(&created, "", "empty.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) return false;
  const Program program(created, library_->destroy);
  const char* options[] = {option.c_str()};
  return library_->compile(program.get(), 1, options) == NVRTC_SUCCESS;
}

std::vector<int> Nvrtc::supported_architectures() const {
  int count = 0;
  if (library_->architecture_count(&count) != NVRTC_SUCCESS || count <= 0) return {};
  std::vector<int> architectures(static_cast<std::size_t>(count));
  if (library_->architectures(architectures.data()) != NVRTC_SUCCESS) return {};
  return architectures;
}

CompilerReply Nvrtc::compile(const NvrtcRequest& request) const {
  CompilerReply reply;
  if (const auto end = request.source.find('\0'); end != std::string::npos) {
    reply.log = fmt::format("{}: not a text file: a zero byte at offset {}", request.file_name, end);
    return reply;
  }
  library_->load_builtins_beside_it();
  nvrtcProgram created = nullptr;
  std::vector<const char*> header_texts;
  std::vector<const char*> header_names;
  if (request.stand_ins)
    for (const auto& [name, text] : stand_ins()) {
      header_names.push_back(name.c_str());
      header_texts.push_back(text.c_str());
    }
  for (const std::string& name : request.empty_headers) {
    header_names.push_back(name.c_str());
    header_texts.push_back("");
  }
  nvrtcResult result =
      library_->create(&created, request.source.c_str(), request.file_name.c_str(),
                       static_cast<int>(header_names.size()), header_texts.data(), header_names.data());
  if (result != NVRTC_SUCCESS) {
    reply.log = fmt::format("{}: NVRTC cannot start: {}", request.file_name, library_->error_string(result));
    return reply;
  }
  const Program program(created, library_->destroy);
  for (const auto& expression : request.name_expressions) {
    result = library_->add_name_expression(program.get(), expression.c_str());
    if (result == NVRTC_SUCCESS) continue;
    reply.log = fmt::format("{}: the kernel name {} is refused: {}", request.file_name, expression,
                            library_->error_string(result));
    return reply;
  }
  std::vector<const char*> options;
  for (const auto& option : request.options) options.push_back(option.c_str());
  result = library_->compile(program.get(), static_cast<int>(options.size()), options.data());
  reply.log = output_of(program.get(), library_->log_size, library_->log);
  while (!reply.log.empty() && reply.log.back() == '\0') reply.log.pop_back();
  if (result != NVRTC_SUCCESS) {
    if (reply.log.empty()) reply.log = fmt::format("{}: {}", request.file_name, library_->error_string(result));
    return reply;
  }
  if (request.output == NvrtcOutput::lto_ir) {
    if (gives_lto_ir()) reply.lto_ir = output_of(program.get(), library_->lto_ir_size, library_->lto_ir);
  } else {
    reply.cubin = output_of(program.get(), library_->cubin_size, library_->cubin);
  }
  if (reply.cubin.empty() && reply.lto_ir.empty()) {
    add_line(reply.log, request.output == NvrtcOutput::lto_ir
                            ? "no LTO-IR was made: give -dlto among the options"
                            : "no machine code was made: give a real architecture (--gpu-architecture=sm_90)");
    return reply;
  }
  for (const auto& expression : request.name_expressions) {
    const char* lowered = nullptr;
    if (library_->lowered_name(program.get(), expression.c_str(), &lowered) != NVRTC_SUCCESS || lowered == nullptr) {
      add_line(reply.log, fmt::format("{}: no kernel is named {}", request.file_name, expression));
      return reply;
    }
    reply.lowered_names.emplace_back(lowered);
  }
  reply.compiled = true;
  return reply;
}

}  // namespace regtune
