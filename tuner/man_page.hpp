#pragma once
// regtune(1), made of the tables of commands and exit codes: `regtune help man` prints it, and the build installs it.
#include <string>

namespace regtune {

// In the man macros of roff.
std::string man_page();

}  // namespace regtune
