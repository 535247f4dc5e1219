#pragma once
// What toml++ 3.3 must not be shown: deep dotted keys, over whose parts it recurses, characters outside ASCII where it
// would look for white space (its test for that is undefined for most of them), and more text than a description needs.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace regtune {

inline constexpr std::size_t kMaxDescriptionBytes = 64 * 1024;

struct TomlRefusal {
  std::size_t line = 1;
  std::string reason;
};
// Empty: toml++ may read it.
std::optional<TomlRefusal> why_not_toml(std::string_view text);

// The first line that begins with [ and no name; 1 when there is none. For a message: toml++ asserts on it.
std::size_t line_of_bad_header(std::string_view text);

}  // namespace regtune
