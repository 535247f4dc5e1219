#pragma once
// The options of each command: their names, their help, and how a command line is taken apart by them. What the values
// mean is cli.cpp's. The only file that includes Boost.Program_options is cli_options.cpp.
#include <string>
#include <vector>

#include "cli_values.hpp"

namespace regtune {

enum class CliCommand {
  tune,
  analyze,
  check,
  init,
  lookup,
  tag,
  verify,
  replay,
  export_budgets,
  bundle,
  db,
  import_runs,
  report,
  diff
};

// The usage of all commands, and the options of this one.
std::string help_text(CliCommand command);

// `arguments`: behind the command's name, without those of the compiler. Throws Error(usage) for what is no option, no
// value of one, or not as many subjects (KERNEL.cu, KERNEL, FILE) as the command takes; with --help they may be
// missing. A long option is written whole: --kern may mean something else in the next version.
CliValues parse_options(CliCommand command, const std::vector<std::string>& arguments);

}  // namespace regtune
