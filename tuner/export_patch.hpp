#pragma once
// Exported budgets as one unified diff of the sources that they were measured on. A source that has changed since is
// refused, since a bound is true of the text that it was measured with.
#include <string>
#include <vector>

#include "export_text.hpp"
#include "exported_budget.hpp"

namespace regtune {

// `kernels`: as the user names them, and `include_folders`, as given when it was tuned. Kernels that cannot be written
// to are told in the notes. Throws Error(claim_not_held) for a source that is another one now, Error(no_kernel) where
// nothing can be written that should be.
ExportText patch_text(const ExportedKernels& exported, const std::vector<std::string>& kernels,
                      const std::vector<std::string>& include_folders);

}  // namespace regtune
