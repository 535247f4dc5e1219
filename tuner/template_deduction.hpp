#pragma once
// The template arguments that a call leaves to deduction, read off the text as far as that goes: from the declarations
// of what the call is given, where a parameter is a T, a pointer to T or an array of T. What a text alone does not
// tell (overloads, conversions, members, what auto stands for) is refused and never guessed.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regtune {

// What `name` stands for at that place of the text, by the innermost declaration above it: of a constant or an alias
// its value ("256", "float"); of a variable its type ("float *").
std::optional<std::string> constant_at(std::string_view text, std::size_t offset, const std::string& name);
std::optional<std::string> variable_type_at(std::string_view text, std::size_t offset, const std::string& name);

// The type of an expression that stands there: "d_in + 4" -> "float *".
std::optional<std::string> expression_type_at(std::string_view text, std::size_t offset, std::string_view expression);

// What template parameter `name` is, where a function's `parameter` ("const T *__restrict__ in") is given a value of
// that type.
std::optional<std::string> deduced_argument(const std::string& name, const std::string& parameter,
                                            const std::string& type);

// The identifiers of an expression that are not members: "Traits::size + n" -> Traits, n.
struct FreeName {
  std::string word;
  bool is_qualifier = false;  // "::" stands behind it
};
std::vector<FreeName> free_names(const std::string& expression);

}  // namespace regtune
