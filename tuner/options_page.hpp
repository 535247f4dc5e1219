#pragma once
// docs/options.md: every option of every command on one page of Markdown, made of the table of commands, as the man
// page is. `regtune help options` prints it. A group that several commands share stands with the first of them.
#include <string>

namespace regtune {

std::string options_page();

}  // namespace regtune
