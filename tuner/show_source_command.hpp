#pragma once
// `regtune KERNEL.cu --show-source`: the text that the compiler is given for the author's own code, to be read or
// compiled by hand; and `regtune tag KERNEL.cu`: the hash under which its results are stored, for look-ups to compare
// with. They store and time nothing.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compilation.hpp"
#include "description.hpp"

namespace regtune {

struct ShowSourceRequest {
  std::filesystem::path source;
  DescriptionFlags flags;
  std::optional<std::string> architecture;
  CompilerWish compiler;
  int device = 0;
  double compile_limit_s = 600;
};

struct ShownSource {
  std::string text;
  std::vector<std::string> notes;  // what is different from the file, a sentence each
};

// Throws Error(source_not_compiled) where no text of the file compiles.
ShownSource show_source(ShowSourceRequest request);

// Of the source, all that it includes, and the options: a record's source_hash, KernelKey::source_tag.
std::string source_tag(ShowSourceRequest request);

}  // namespace regtune
