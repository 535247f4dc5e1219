#include "toolkit.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace regtune {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path> named_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string value = environment(name); !value.empty()) roots.emplace_back(value);
  }
  return roots;
}

std::vector<fs::path> folders_in(const std::string& path) {
  std::vector<fs::path> folders;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

// "cuda-13.0" before "cuda-12.9" before "cuda-9.2": by length first, which orders the major versions.
bool is_newer(const fs::path& a, const fs::path& b) {
  const std::string left = a.string(), right = b.string();
  return left.size() != right.size() ? left.size() > right.size() : left > right;
}

std::vector<fs::path> usual_roots() {
  std::vector<fs::path> versioned;
  std::error_code error;
  for (fs::directory_iterator it("/usr/local", error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("cuda-")) versioned.push_back(it->path());
  }
  std::sort(versioned.begin(), versioned.end(), is_newer);
  std::vector<fs::path> roots = {"/usr/local/cuda"};
  roots.insert(roots.end(), versioned.begin(), versioned.end());
  roots.emplace_back("/opt/cuda");
  return roots;
}

// Where pip puts its packages, in the order in which a user means them: the folder that quickstart.sh fills, the active
// environments, PYTHONPATH, the user's own, the system's.
std::vector<fs::path> site_folders() {
  std::vector<fs::path> folders;
  const auto add_pythons_of = [&](const fs::path& library) {  // python3.12 before python3.9
    std::vector<fs::path> pythons;
    std::error_code error;
    for (fs::directory_iterator it(library, error), end; !error && it != end; it.increment(error))
      if (it->path().filename().string().starts_with("python3")) pythons.push_back(it->path());
    std::sort(pythons.begin(), pythons.end(), is_newer);
    for (const fs::path& python : pythons)
      for (const char* packages : {"site-packages", "dist-packages"}) folders.push_back(python / packages);
  };
  const fs::path home = environment("HOME");
  if (const std::string data = environment("XDG_DATA_HOME"); !data.empty())
    folders.push_back(fs::path(data) / "regtune/cuda");
  else if (!home.empty())
    folders.push_back(home / ".local/share/regtune/cuda");
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string prefix = environment(name); !prefix.empty()) add_pythons_of(fs::path(prefix) / "lib");
  for (const fs::path& folder : folders_in(environment("PYTHONPATH"))) folders.push_back(folder);
  if (!home.empty()) add_pythons_of(home / ".local/lib");
  add_pythons_of("/usr/local/lib");
  add_pythons_of("/usr/lib");
  return folders;
}

// NVIDIA's wheels: one folder for all of CUDA 13, one for each package of CUDA 12. Conda's packages are a root like the
// toolkit's own.
std::vector<fs::path> wheel_roots() {
  std::vector<fs::path> roots;
  if (const std::string prefix = environment("CONDA_PREFIX"); !prefix.empty()) roots.emplace_back(prefix);
  for (const fs::path& site : site_folders())
    for (const char* package : {"cu13", "cuda_nvrtc", "nvjitlink", "cuda_cupti", "cuda_runtime", "cuda_nvcc"})
      if (const fs::path root = site / "nvidia" / package; is_there(root)) roots.push_back(root);
  return roots;
}

void add_files(const fs::path& folder, const LibraryName& library, std::vector<fs::path>& candidates) {
  for (const auto& name : library.file_names) {
    if (is_there(folder / name)) candidates.push_back(folder / name);
  }
}

void add_root(const fs::path& root, const LibraryName& library, std::vector<fs::path>& candidates) {
  for (const char* folder :
       {"lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib", "extras/CUPTI/lib64"}) {
    add_files(root / folder, library, candidates);
  }
}

// cuda_fp16.h is the header that every distribution of the toolkit's headers has, Python wheels included.
bool holds_headers(const fs::path& folder) {
  return is_there(folder / "cuda_fp16.h");
}

}  // namespace

const LibraryName& nvrtc_library() {
  static const LibraryName name{"REGTUNE_NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}};
  return name;
}

const LibraryName& nvjitlink_library() {
  static const LibraryName name{"REGTUNE_NVJITLINK", {"libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"}};
  return name;
}

const LibraryName& cuda_driver_library() {
  // Without the version the name may be the toolkit's stub, which answers every call with an error.
  static const LibraryName name{"REGTUNE_CUDA", {"libcuda.so.1"}};
  return name;
}

const ProgramName& nvcc_program() {
  static const ProgramName name{"REGTUNE_NVCC", "nvcc", false};
  return name;
}

const ProgramName& ptxas_program() {
  static const ProgramName name{"REGTUNE_PTXAS", "ptxas"};
  return name;
}

const ProgramName& cuobjdump_program() {
  static const ProgramName name{"REGTUNE_CUOBJDUMP", "cuobjdump"};
  return name;
}

const LibraryName& cupti_library() {
  static const LibraryName name{"REGTUNE_CUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}};
  return name;
}

std::vector<fs::path> library_candidates(const LibraryName& library) {
  if (const std::string file = environment(library.environment.c_str()); !file.empty()) return {file};
  std::vector<fs::path> candidates;
  for (const auto& root : named_roots()) add_root(root, library, candidates);
  candidates.insert(candidates.end(), library.file_names.begin(), library.file_names.end());
  for (const auto& root : usual_roots()) add_root(root, library, candidates);
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib"}) {
    add_files(folder, library, candidates);
  }
  for (const auto& root : wheel_roots()) add_root(root, library, candidates);
  return candidates;
}

std::vector<fs::path> program_candidates(const ProgramName& program) {
  if (const std::string file = environment(program.environment.c_str()); !file.empty()) return {file};
  std::vector<fs::path> folders = folders_in(environment("PATH"));
  for (const auto& roots :
       {named_roots(), usual_roots(), program.works_alone ? wheel_roots() : std::vector<fs::path>()})
    for (const auto& root : roots) folders.push_back(root / "bin");
  std::vector<fs::path> candidates;
  for (const fs::path& folder : folders) {
    const fs::path file = folder / program.file_name;
    std::error_code error;
    if (fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0) candidates.push_back(file);
  }
  return candidates;
}

std::vector<fs::path> include_folders(const fs::path& nvrtc_file) {
  std::vector<fs::path> wanted;
  std::error_code error;
  const fs::path resolved = fs::canonical(nvrtc_file, error);
  for (const fs::path& file : {nvrtc_file, error ? nvrtc_file : resolved}) {
    const fs::path folder = file.parent_path();
    if (folder.empty()) continue;
    wanted.push_back(folder.parent_path() / "include");                             // <root>/lib64, targets/*/lib
    wanted.push_back(folder.parent_path().parent_path() / "include");               // /usr/lib/x86_64-linux-gnu
    wanted.push_back(folder.parent_path().parent_path() / "cuda_runtime/include");  // the CUDA 12 wheels
    wanted.push_back(folder.parent_path() / "targets/x86_64-linux/include");        // Conda's packages
  }
  for (const auto& roots : {named_roots(), usual_roots()}) {
    for (const auto& root : roots) wanted.push_back(root / "include");
  }
  for (const auto& root : wheel_roots()) wanted.push_back(root / "include");
  const auto found = std::find_if(wanted.begin(), wanted.end(), holds_headers);
  if (found == wanted.end()) return {};
  std::vector<fs::path> folders = {*found};
  // CUB, Thrust and libcu++ have a folder of their own since CUDA 13, and in the wheels of CUDA 12.
  for (const fs::path& folder : {*found / "cccl", found->parent_path().parent_path() / "cuda_cccl/include"})
    if (is_there(folder / "cub")) folders.push_back(folder);
  return folders;
}

}  // namespace regtune
