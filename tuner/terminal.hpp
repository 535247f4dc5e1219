#pragma once
// What can be shown where a text is going: how wide it may be, whether colours and letters beyond ASCII come out as
// they should. Asks the terminal and the environment each time, so that a window that changed its size is known.
#include <cstddef>
#include <string>

namespace regtune {

bool is_terminal(int descriptor);

// COLUMNS where it is set, else the terminal's; 0 where there is neither: a file or a pipe takes lines of any width.
int terminal_columns(int descriptor);

// By LC_ALL, LC_CTYPE, LANG: what the user's programs print is UTF-8.
bool is_utf8_locale();

// On a terminal that is not TERM=dumb, unless NO_COLOR holds anything.
bool shows_color(int descriptor);

// Of a terminal that can move to the beginning of a line and clear it.
bool redraws_lines(int descriptor);

// How many columns a text in UTF-8 takes, each code point one.
std::size_t columns_of(const std::string& text);

// At most that many columns, "..." where some are missing (an ellipsis where `utf8`).
std::string cut_to(const std::string& text, std::size_t columns, bool utf8);

// Each line of more than `columns` broken at spaces, its rest behind four, or below what stands behind a label and two
// blanks. 0: as it is. A line that holds no space
// there stays whole, and so does one with colours in it, which was made to fit.
std::string fitted(const std::string& text, int columns);

}  // namespace regtune
