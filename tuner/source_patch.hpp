#pragma once
// Writes a budget into an author's text, and says the change as a unified diff. Every line keeps its number. It reads
// the text as it is written: a kernel whose signature or bound a macro makes, or which stands in another file, is
// refused with a sentence that says what to write by hand. Edits no file.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "regtune/types.hpp"

namespace regtune {

struct SourceBudget {
  std::string signature;                      // demangled: "void ns::scale<4>(float*)"
  std::string kernel;                         // its bare name, as the text spells it
  RegisterPolicy policy;                      // AuthorsOwn, CompilerDefault, LaunchBounds or MaxRegisters
  bool author_has_bounds = false;             // says the author's machine code
  std::map<std::string, std::string> macros;  // values of the source's own #define lines
  bool spills_to_shared = false;              // the kernel's body opens with the pragma for that
};

// The text with the budget on that kernel, in place of the bounds that stood there. Throws Error(no_kernel) with why it
// cannot be written.
std::string with_budget(const std::string& text, const SourceBudget& budget);

// For patch -p1 and git apply. Both texts have the same number of lines. Empty: they are equal.
std::string unified_diff(const std::string& before, const std::string& after, const std::filesystem::path& file);

}  // namespace regtune
