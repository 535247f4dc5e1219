#pragma once
// The files of a captured launch: each buffer as .npy, one file for all that hold the same, values that are too long
// for text as .bin, compressed (.zst) where that makes a large one smaller, and the description that names them.
// Refuses a folder that holds something already, and memory that holds addresses of the program's own: nobody could
// tell what they point to in another process.
#include <cstdint>
#include <filesystem>
#include <string>

#include "captured_case.hpp"
#include "snapshot_plan.hpp"

namespace regtune {

struct CaseFiles {
  int count = 0;                  // of data
  std::int64_t bytes = 0;         // of data, as the kernel has it
  std::int64_t stored_bytes = 0;  // that the files take
};

// Throws Error(usage) where it is no folder, or not empty.
void require_new_folder(const std::filesystem::path& folder);

// Writes the data into the folder, which is made, and puts the files' names into the description. Throws
// Error(bad_launch) for memory that holds addresses, before anything is written, and Error(usage) for a file that
// cannot be.
CaseFiles write_case_data(CapturedCase& captured, const SnapshotPlan& memory, const std::filesystem::path& folder);

// The side file's text; `head` is its first line, a comment.
std::string case_text(const CapturedCase& captured, const std::string& head);

// Throws Error(usage) where it cannot be written.
void write_case_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace regtune
