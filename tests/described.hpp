#pragma once
// Launch descriptions for their tests: one that stands in a source, and why another is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "description.hpp"
#include "expected_error.hpp"
#include "regtune/error.hpp"

namespace regtune {

using Blocks = std::vector<Dim3>;

inline LaunchDescription read(const std::string& toml) {
  return read_description("dir/k.cu", "// one\n// two\n/*regtune\n" + toml + "\n*/\nint x;\n");
}

// The description begins in line 4 of the source.
inline void expect_refusal(const std::string& toml, const Texts& parts, ErrorKind kind = ErrorKind::bad_description) {
  SCOPED_TRACE(toml.substr(0, 100));
  expect_error([&] { read(toml); }, kind, parts);
}

}  // namespace regtune
