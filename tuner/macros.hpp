#pragma once
// The values of a source's macros: what its author gives them, and the same text with others. Knows #define lines
// and -D options; conditions are not evaluated, so that every #define of a name counts. The text keeps its lines.
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace regtune {

using Macros = std::map<std::string, std::string>;  // name -> value

// The text with these values in its own #define lines. No line is added or removed.
std::string with_macros(const std::string& text, const Macros& macros);

// #define lines of those that the text does not define itself, to stand in front of it.
std::string missing_macros(const std::string& text, const Macros& macros);

// The compiler options without -D and -U of these: one would keep a guarded #define from being read.
std::vector<std::string> without_macros(const std::vector<std::string>& options, const Macros& macros);

// The value that the author's own command gives a macro: that of the last -D, else the text's. Empty when neither
// defines it, or when the text does so in several ways. Comments are left out, and blanks that C++ does not need.
std::optional<std::string> author_value(const std::string& text, const std::vector<std::string>& options,
                                        const std::string& macro);

// Whether the text or the options define a macro of that name, to whatever value. Headers are not read.
bool defines_macro(const std::string& text, const std::vector<std::string>& options, const std::string& macro);

// A value as author_value would give it.
std::string plain_value(const std::string& value);

}  // namespace regtune
