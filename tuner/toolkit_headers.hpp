#pragma once
// What is known of the toolkit's headers by their names: which of them device code can need, and what a text says that
// uses them. Some cost seconds, some hold host code that the run-time compiler does not take.
#include <optional>
#include <string>
#include <string_view>

namespace regtune {

// What is part of some name in every text that uses the header: "thrust". Empty: no device code uses it. Nothing:
// nothing is known of it.
std::optional<std::string> library_word(std::string_view header);

// True of a word that library_word gives.
bool is_library_word(std::string_view word);

// False of headers that start work from the host.
bool can_serve_device(std::string_view header);

}  // namespace regtune
