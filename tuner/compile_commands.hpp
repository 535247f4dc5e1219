#pragma once
// How a project's own build compiles one file, from the compile_commands.json that CMake and others write. Of nvcc's
// command that is what nvcc_command.hpp keeps; of another compiler's, clang's say, it is folders, macros, the
// language's version and files included in front. It runs no command.
#include <filesystem>
#include <string>
#include <vector>

#include "nvcc_command.hpp"

namespace regtune {

// Throws Error(file_not_found) where the database is not there or has no entry for `source`, and Error(usage) where it
// is no such database. Of several entries the first counts. Relative folders become absolute.
CompilerArguments from_compile_commands(const std::filesystem::path& database, const std::filesystem::path& source);

// The same, of a database's text; `database` is where it lies.
CompilerArguments from_compile_commands_text(const std::string& text, const std::filesystem::path& database,
                                             const std::filesystem::path& source);

// A command as a shell takes it apart: blanks, quotes and backslashes; nothing is expanded.
std::vector<std::string> shell_words(const std::string& command);

}  // namespace regtune
