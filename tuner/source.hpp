#pragma once
// The author's source and what the compiler is given for each register budget: the same text behind a
// prelude that strips the declared bounds and puts others on every kernel. The file is never edited, no
// kernel is renamed, and every message of the compiler keeps the author's line numbers.
#include <filesystem>
#include <string>
#include <vector>

#include "description.hpp"
#include "nvrtc.hpp"
#include "regtune/types.hpp"

namespace regtune {

// What the toolchain on this machine is and takes.
struct CompilerIdentity {
  std::string name;  // "NVRTC 13.0.88"
  std::string library_path;
  std::vector<int> architectures;            // 75, 80, ...
  std::vector<std::string> include_folders;  // the toolkit's headers
  // Options of regtune's own that this version knows: a fixed seed for names in anonymous namespaces, and no
  // cache of NVRTC's own, from which a hit comes without ptxas's report.
  std::vector<std::string> fixed_options;
};

struct Source {
  std::filesystem::path path;  // as given
  std::string text;
};

// Throws Error(file_not_found).
Source read_source(const std::filesystem::path& path);

// Everything a compilation needs but the budget.
struct CompileUnit {
  Source source;
  std::vector<std::string> options;          // the author's, without a register cap
  std::vector<std::string> fixed_options;    // the compiler's, see CompilerIdentity
  int author_cap = 0;                        // the author's own -maxrregcount; 0: none
  std::vector<std::string> include_folders;  // the author's, the source's own folder first
  std::vector<std::string> toolkit_folders;  // the toolkit's, searched after them
  std::string architecture;                  // "sm_90"
  std::vector<std::string> name_expressions;
};

// Takes a register cap out of the author's options, and refuses what regtune itself decides (the
// architecture, the kind of output): Error(usage). The toolkit's header folders come after the author's own.
CompileUnit compile_unit(const Source& source, const LaunchDescription& description, const std::string& architecture,
                         const CompilerIdentity& compiler);

// What NVRTC is asked to do for one budget.
NvrtcRequest compile_request(const CompileUnit& unit, const RegisterPolicy& policy);

// 32 hex digits over the text, the text of every file of the author's that it includes, the options and the
// template-ids. With the architecture and the compiler's build, which are keyed beside it, equal exactly when
// the same machine code is to be expected.
std::string source_hash(const CompileUnit& unit);

}  // namespace regtune
