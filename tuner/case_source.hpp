#pragma once
// The source of a captured launch, in the launch's folder: a copy of a file with all that it includes of its author's,
// or what the program gave to its NVRTC; and the names of the module's variables that it declares, whose values the
// program then has to give.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "worker.hpp"

namespace regtune {

struct CaseSource {
  std::string file;  // its name in the folder: "k.cu"
  std::vector<std::string> options;
  std::vector<std::filesystem::path> include_folders;  // in the folder, or absolute for what could not be copied
  std::vector<std::string> notes;
};

// `options`: the compiler's, -D among them. Throws Error(file_not_found), and Error(usage) for a file that cannot be
// written.
CaseSource copy_source(const std::filesystem::path& source, const std::vector<std::string>& include_folders,
                       const std::vector<std::string>& options, const std::filesystem::path& folder);

// The text of a source and of all that it includes, one behind the other.
std::string whole_text(const std::filesystem::path& source, const std::vector<std::string>& include_folders,
                       const std::vector<std::string>& options);
std::string whole_text(const Message& programs_source);

// As offered_kernel.hpp has it of the program.
CaseSource keep_program_source(const Message& source, const std::filesystem::path& folder);

// The __constant__, __device__ and __managed__ variables of the text, by the names that a module can have them under:
// as written, and mangled for a static one. Namespaces are not followed.
std::vector<std::string> variables_in(std::string_view source_text);

}  // namespace regtune
