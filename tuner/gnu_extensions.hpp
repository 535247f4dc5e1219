#pragma once
// Extensions of the host's compiler that nvcc takes with it and the run-time compiler does not: statement expressions,
// "({ int a = f(); a + 1; })", are written as lambdas that are called on the spot; designated initialisers are told.
// Every line keeps its number. An expression that a return or goto leaves is left as it is.
#include <optional>
#include <string>
#include <string_view>

namespace regtune {

// Nothing where the text holds none.
std::optional<std::string> with_lambdas_for_statement_expressions(std::string_view text);

// "{.x = 1", "{1, .y = 2": C++20, and in C++17 an extension.
bool has_designated_initialisers(std::string_view text);

}  // namespace regtune
