#pragma once
// What all fuzzers have in common: the input as text, and that an Error is an answer. Anything else that is thrown
// ends the fuzzer, since a user would see it as a bug of regtune's.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "regtune/error.hpp"

namespace regtune {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// False when it was refused.
template <class Reader>
bool accepts(Reader&& reader) {
  try {
    reader();
    return true;
  } catch (const Error& refused) {
    if (refused.kind() == ErrorKind::internal) throw;
    return false;
  }
}

}  // namespace regtune
