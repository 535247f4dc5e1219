#pragma once
// Where CUDA lives on this machine: the files that may hold one of its libraries, and the folders of its
// headers. Knows paths only; it opens nothing and asks no library for its version. An environment variable
// that names a file is the last word: no other file is tried then, so that nobody runs a compiler they did not
// choose.
#include <filesystem>
#include <string>
#include <vector>

namespace regtune {

struct LibraryName {
  std::string environment;              // variable that names the file: "REGTUNE_NVRTC"
  std::vector<std::string> file_names;  // newest first: "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"
};

const LibraryName& nvrtc_library();        // REGTUNE_NVRTC
const LibraryName& nvjitlink_library();    // REGTUNE_NVJITLINK
const LibraryName& cuda_driver_library();  // REGTUNE_CUDA
const LibraryName& cupti_library();        // REGTUNE_CUPTI

// In the order to try them: the variable, CUDA_HOME, CUDA_PATH, the loader's path (a bare file name),
// /usr/local/cuda, /usr/local/cuda-* (newest first), /opt/cuda, the distribution's library folder, and NVIDIA's wheels
// where pip puts them: $XDG_DATA_HOME/regtune/cuda (which quickstart.sh fills), VIRTUAL_ENV, CONDA_PREFIX, PYTHONPATH,
// ~/.local/lib, /usr/local/lib, /usr/lib. Files under a folder are named only where they exist.
std::vector<std::filesystem::path> library_candidates(const LibraryName& library);

struct ProgramName {
  std::string environment;  // variable that names the file: "REGTUNE_NVCC"
  std::string file_name;    // "nvcc"
  bool works_alone = true;  // without the rest of a toolkit, so that one in NVIDIA's wheels serves
};

const ProgramName& nvcc_program();       // REGTUNE_NVCC
const ProgramName& ptxas_program();      // REGTUNE_PTXAS
const ProgramName& cuobjdump_program();  // REGTUNE_CUOBJDUMP

// The program's file, in the order to try it: the variable, the folders of PATH, CUDA_HOME, CUDA_PATH, the usual
// folders, and NVIDIA's wheels for what works alone. Only files that are there and can be run; the variable's as it is.
std::vector<std::filesystem::path> program_candidates(const ProgramName& program);

// The header folders that NVRTC needs on its path ("include", and "include/cccl" where CUDA 13 moved the C++
// headers to). Those of the toolkit that `nvrtc_file` belongs to, else of the first toolkit found; empty where
// there are no headers, which costs only the sources that include one.
std::vector<std::filesystem::path> include_folders(const std::filesystem::path& nvrtc_file);

}  // namespace regtune
