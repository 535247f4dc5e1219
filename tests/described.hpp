#pragma once
// Launch descriptions for their tests: one that stands in a source, and why another is refused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "description.hpp"
#include "regtune/error.hpp"

namespace regtune {

using Blocks = std::vector<Dim3>;
using Texts = std::vector<std::string>;

inline LaunchDescription read(const std::string& toml) {
  return read_description("dir/k.cu", "// one\n// two\n/*regtune\n" + toml + "\n*/\nint x;\n");
}

void expect_error(const auto& action, ErrorKind kind, const Texts& parts) {
  try {
    action();
    ADD_FAILURE() << "no error; wanted " << parts.front();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), kind) << message;
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks " << part;
  }
}

// The description begins in line 4 of the source.
inline void expect_refusal(const std::string& toml, const Texts& parts, ErrorKind kind = ErrorKind::bad_description) {
  SCOPED_TRACE(toml.substr(0, 100));
  expect_error([&] { read(toml); }, kind, parts);
}

}  // namespace regtune
