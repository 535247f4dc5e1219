#include "carried_ptx.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "child_program.hpp"
#include "ptx_text.hpp"
#include "regtune/error.hpp"
#include "scratch_folder.hpp"
#include "signature.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

constexpr double kOpeningLimitS = 120;

// 90 of "sm_90".
int number_of(const std::string& architecture) {
  const std::size_t digit = std::min(architecture.find_first_of("0123456789"), architecture.size());
  int number = 0;
  std::from_chars(architecture.data() + digit, architecture.data() + architecture.size(), number);
  return number;
}

std::string read_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// In the order of the fat binary.
std::vector<std::string> extracted(const std::string& fat_binary) {
  const std::vector<fs::path> candidates = program_candidates(cuobjdump_program());
  if (candidates.empty())
    throw Error(ErrorKind::no_toolkit,
                "the program carries a fat binary, whose PTX cuobjdump takes out, and that is not there: it was looked "
                "for in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda* and NVIDIA's wheels (nvidia-cuda-cuobjdump has "
                "it); name it by REGTUNE_CUOBJDUMP, or give --source FILE.cu");
  const ScratchFolder folder;
  if (folder.path().empty())
    throw Error(ErrorKind::internal, "no folder for temporary files can be made; set TMPDIR to one that is writable");
  const fs::path image = folder.path() / "image.fatbin";
  std::ofstream(image, std::ios::binary) << fat_binary;
  ProgramRequest request{{fs::absolute(candidates.front()).string(), "-xptx", "all", image.string()}, kOpeningLimitS};
  request.folder = folder.path().string();
  const ProgramRun run = run_program(request);
  if (!run.succeeded)
    throw Error(ErrorKind::no_toolkit,
                fmt::format("{} does not open the fat binary that the program carries: it {}: {}; one of the program's "
                            "CUDA or a later one may (REGTUNE_CUOBJDUMP names it), or give --source FILE.cu",
                            candidates.front().string(), run.how, run.output.substr(0, run.output.find('\n'))));
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path(), ignored))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) texts.push_back(read_whole(file));
  return texts;
}

Error no_ptx(const std::vector<std::string>& texts, const std::string& kernel, const std::string& architecture) {
  const std::string name = demangle(kernel);
  if (texts.empty())
    return Error(
        ErrorKind::no_kernel,
        fmt::format("the program carries machine code of {} and no PTX: give its source by --source FILE.cu", name));
  std::vector<std::string> targets;
  for (const std::string& text : texts)
    if (const std::optional<PtxTarget> target = ptx_target(text)) targets.push_back(target->name());
  return Error(ErrorKind::no_kernel,
               fmt::format("the program carries no PTX of {} that {} can run, but for {} alone, or for other kernels: "
                           "give its source by --source FILE.cu",
                           name, architecture, fmt::join(targets, ", ")));
}

}  // namespace

CarriedPtx carried_ptx(const std::string& image, const std::string& kernel, const std::string& architecture) {
  const std::string text = image.substr(0, image.find('\0'));
  const bool is_text = is_ptx(text);
  const std::vector<std::string> texts = is_text ? std::vector<std::string>{text} : extracted(image);
  const std::optional<std::size_t> best = best_ptx(texts, kernel, number_of(architecture));
  if (!best) throw no_ptx(texts, kernel, architecture);
  return {texts[*best], ptx_target(texts[*best])->name(), is_text};
}

}  // namespace regtune
