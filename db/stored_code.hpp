#pragma once
// The machine code that an answer was measured with, from the file that holds both. Code from a file is run, so the
// file must be one that only this user or root can have written, and the code is checked against its hash. What cannot
// be used is no error: the source is compiled instead, and `why_not` says why.
#include <filesystem>
#include <optional>
#include <string>

#include "regtune/tuned_policy.hpp"

namespace regtune {

struct StoredCode {
  std::string cubin;
  std::string entry;  // mangled name of the kernel in it
};

// The answer's best budget. Empty `why_not`: there simply is none.
std::optional<StoredCode> stored_code(const TunedPolicy& answer, std::string& why_not);

// Empty where the file, its folder and what SQLite keeps beside it belong to this user or root, and nobody else may
// write them; else what is wrong.
std::string why_not_trusted(const std::filesystem::path& file);

}  // namespace regtune
