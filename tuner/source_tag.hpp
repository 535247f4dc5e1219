#pragma once
// What makes two sources the same for the cache: a hash over the text, the author's files that it includes, and the
// options. `regtune tag` prints it, and look-ups compare it. Knows the author's options, and takes the register cap out
// of them.
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

// Empty where it is no regular file, or cannot be read.
std::optional<std::string> read_text(const std::filesystem::path& path);

// The author's compiler options, and the register cap that stood among them; 0: none.
struct AuthorOptions {
  std::vector<std::string> options;
  int cap = 0;
};
// Refuses what regtune itself decides (the architecture, the kind of output): Error(usage).
AuthorOptions author_options(const std::vector<std::string>& given);

// What the options say for an option of these names: "-Idir", "-I=dir", or "-I" and then "dir".
std::vector<std::string> values_of(const std::vector<std::string>& options, std::initializer_list<std::string> names);

struct TaggedSource {
  std::string text;
  std::filesystem::path path;                // what it includes is looked for beside it
  std::vector<std::string> include_folders;  // the author's
  AuthorOptions options;
  std::vector<std::string> name_expressions;
};
// The author's files that it includes, directly or not, each once, as they were found: beside the including file or in
// an author's folder. Names that no file has are the toolkit's.
std::vector<std::filesystem::path> included_files(const TaggedSource& source);
// 32 hex digits. With the architecture and the compiler's build, which are keyed beside it, equal exactly when the same
// machine code is to be expected.
std::string source_tag(const TaggedSource& source);

}  // namespace regtune
