#pragma once
// Exported budgets as texts that a build takes: a C header with a macro for each kernel, and a CMake fragment with the
// caps that no source can say. What they claim, and from which GPU, driver, compiler and day it is, stands beside it.
// Reads no file, and never lets a stored text end a comment or a string.
#include <string>
#include <vector>

#include "exported_budget.hpp"

namespace regtune {

struct ExportText {
  std::string text;
  std::vector<std::string> notes;  // for the user
};

// REGTUNE_BOUNDS_<name> for each kernel: the winning bound where __CUDA_ARCH__ is that of a GPU it was tuned on, else
// REGTUNE_ELSE_<name>, which is nothing unless defined before.
ExportText header_text(const ExportedKernels& exported);

// A property of each source file whose kernels all are best with one and the same cap.
ExportText cmake_text(const ExportedKernels& exported);

// "1.12x (1.121 to 1.124) over the author's code"; with several sizes the mean, and what each loses in lines of its
// own.
std::vector<std::string> worth_lines(const ExportedKernel& kernel, const ExportedChoice& choice);

}  // namespace regtune
