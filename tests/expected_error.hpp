#pragma once
// That something is refused, of which kind, and what the message must hold.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "regtune/error.hpp"

namespace regtune {

using Texts = std::vector<std::string>;

inline void expect_error(const auto& action, ErrorKind kind, const Texts& parts) {
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

}  // namespace regtune
