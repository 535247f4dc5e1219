#pragma once
// The commands of the program as one table: what each is called and takes, in one line what it does, an example, and
// the groups of its options. To add a command: a word in CliCommand, a row in subcommands.cpp, its options as a group
// in option_groups.cpp, what its values mean in cli_requests.cpp, and what it does in main.cpp. Help, completions, the
// man page and the config file follow by themselves.
#include <cstddef>
#include <string>
#include <vector>

#include "option_groups.hpp"

namespace regtune {

enum class CliCommand {
  tune,
  analyze,
  check,
  init,
  lookup,
  verify,
  replay,
  report,
  diff,
  export_budgets,
  import_runs,
  db,
  bundle,
  run,
  capture,
  tag,
  doctor,
  completion,
  help
};

// What stands on the command line and belongs to no option.
struct Subjects {
  std::string what;  // "KERNEL.cu"
  std::size_t least = 1;
  std::size_t most = 1;
  std::vector<std::string> words = {};  // all that the first may be, where these are few
};

struct Subcommand {
  CliCommand id = CliCommand::tune;
  std::string name;  // "analyze"
  Subjects subjects;
  std::string synopsis;                 // behind the name: "KERNEL.cu [options]"
  std::string summary;                  // one line, under 60 letters
  std::string example;                  // a whole command line
  std::string why_no_compiler_options;  // "compiles nothing"; empty: they may stand behind --
  std::vector<OptionGroup> groups;
};

// In the order of the help; the first is what is done where no command is named.
const std::vector<Subcommand>& subcommands();
const Subcommand& subcommand(CliCommand id);
const Subcommand* find_subcommand(const std::string& name);  // nullptr: there is none of that name

// nullptr where the command takes none of that name.
const CliOption* find_option(const Subcommand& command, const std::string& name);

}  // namespace regtune
