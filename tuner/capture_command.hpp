#pragma once
// `regtune capture`: a program as it is, of which one launch is written down, with its data, its source and its
// description, so that `regtune FOLDER` can tune it later and elsewhere. The program's output stays its own. Refuses
// launches that no description can hold; `regtune run` tunes those inside the program.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "progress.hpp"
#include "regtune/error.hpp"

namespace regtune {

struct CaptureRequest {
  std::vector<std::string> program;   // its words
  std::optional<std::string> kernel;  // neither this nor a source: the command line is refused before
  std::optional<std::filesystem::path> source;
  int launch = 1;
  std::filesystem::path folder;
  std::vector<std::string> include_folders;  // of the source
  std::vector<std::string> options;          // of its compiler
  double absolute_tolerance = 0;             // of floating-point outputs
  double relative_tolerance = 0;
};

struct WrittenCase {
  std::string kernel;  // "scale(const float*, float*, int)"
  std::filesystem::path description;
  std::string source;  // its name in the folder; empty: it is not known
  int data_files = 0;
  std::int64_t data_bytes = 0;
  std::int64_t stored_bytes = 0;  // that they take on the disk
};

struct CaptureResult {
  int exit_code = 0;  // the program's
  std::optional<WrittenCase> written;
  std::optional<Error> failure;    // why nothing is written
  std::vector<std::string> notes;  // for the person
};

// Throws Error where the program cannot be started, or the folder not be used; what goes wrong later is the failure.
CaptureResult capture(const CaptureRequest& request, Progress& progress);

std::string capture_text(const CaptureRequest& request, const WrittenCase& written);

}  // namespace regtune
