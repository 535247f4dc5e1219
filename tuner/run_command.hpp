#pragma once
// `regtune run`: a program as it is, watched while it runs. Lists what it launches; tunes a kernel at one of its
// launches, in the middle of the program, with the program's own data; or runs it with stored results in place of its
// own code. The program's output and exit code stay its own, whatever becomes of the tuning.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launch_listing.hpp"
#include "progress.hpp"
#include "tune.hpp"

namespace regtune {

struct RunRequest {
  std::vector<std::string> program;  // its words
  // What is tuned; neither: everything is listed. Without a source the program must compile the kernel itself, or carry
  // its PTX.
  std::optional<std::string> kernel;
  std::optional<std::filesystem::path> source;
  int launch = 1;           // which of the kernel's launches
  bool in_process = false;  // launch the variants in the program's own context
  bool apply = false;
  double absolute_tolerance = 0;  // of floating-point results that differ from launch to launch
  double relative_tolerance = 0;
  TuneRequest tuning;  // how it is tuned; its source, kernel and launch are filled in here
  bool tunes() const { return kernel.has_value() || source.has_value(); }
};

// A kernel whose launches were made with tuned code.
struct AppliedKernel {
  std::string signature;
  std::uint64_t launches = 0;
  double speedup = 1;     // as it was measured when it was tuned
  bool from_ptx = false;  // and the code was made of the program's PTX
  double saved_ms = 0;    // that these launches would have taken longer
};

struct RunResult {
  int exit_code = 0;  // the program's
  std::vector<ListedKernel> kernels;
  std::optional<TuneResult> tuned;
  std::vector<AppliedKernel> applied;
  std::vector<std::string> notes;  // for the person: why something was not done
};

// Throws Error where the program cannot be started; what goes wrong later is a note.
RunResult run_program_watched(const RunRequest& request, Progress& progress);

// Behind the program's end: the listing, and what was applied. What was tuned has its own report.
std::string run_text(const RunRequest& request, const RunResult& result, int columns);
nlohmann::json run_json(const RunResult& result);

}  // namespace regtune
