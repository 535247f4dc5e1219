#pragma once
// `regtune tag`: the hash of a source, of all of its project that it includes and of the options, as a program puts it
// into itself when it is built, to be told at run time when what was tuned was another source. Compiles nothing.
#include <filesystem>
#include <string>

#include "description.hpp"

namespace regtune {

struct TagRequest {
  std::filesystem::path source;
  DescriptionFlags flags;
};

// The same as a tuning with these flags stores. Throws Error.
std::string source_tag(const TagRequest& request);

}  // namespace regtune
