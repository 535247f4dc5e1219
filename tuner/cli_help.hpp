#pragma once
// What the program says about itself: the commands on one screen, the options of one command in their groups, and the
// exit codes. Made of subcommands.hpp and exit_codes.hpp alone; the same columns give the same text.
#include <string>

#include "subcommands.hpp"

namespace regtune {

// 23 lines of 80 letters at the most, so that a window of 24 has room for the prompt behind them.
std::string overview_text();
// `columns`: how wide a line may be.
std::string help_text(const Subcommand& command, int columns = 80);
std::string exit_codes_text(int columns = 80);

// `text` in lines of at most `columns`, each but the first behind `indent` spaces. A word that is longer stays whole.
std::string wrapped(const std::string& text, int columns, int indent);

// "-I, --include-dir DIR", as help and the man page name an option.
std::string spell_option(const CliOption& option);
// Its help, with the default value behind it.
std::string option_help(const CliOption& option);

}  // namespace regtune
