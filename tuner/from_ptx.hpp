#pragma once
// What is to be said, wherever a winner is shown, of results that were measured on PTX's code: nvcc makes other PTX
// under a cap than without one (the cap reaches its optimizer), so that a build can come out otherwise.
#include <string>

#include "record.hpp"

namespace regtune {

inline constexpr const char* kFromPtx = "from PTX: confirm with a build";

// Whether ptxas alone compiled it.
bool is_from_ptx(const TuningRecord& record);
bool is_from_ptx(const std::string& compiler);

// kFromPtx where that is so, with `before` in front and `behind` after it; else "".
std::string from_ptx_note(const TuningRecord& record, const std::string& before, const std::string& behind);

}  // namespace regtune
