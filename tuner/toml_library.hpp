#pragma once
// toml++ as this program uses it: the only file that includes it. toml++ 3.3 asserts what it should refuse ("[~args]"
// aborts it, and with NDEBUG the assertion is an assumption and the rest undefined). Here a failed one is thrown, in
// every build, as the same type in every file.
namespace regtune {
struct TomlAssertion {};
[[noreturn]] inline void toml_assertion_failed() {
  throw TomlAssertion{};
}
}  // namespace regtune
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : regtune::toml_assertion_failed())
// A description nests two or three deep; the default of 256 lets hostile text reach deep recursion.
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
