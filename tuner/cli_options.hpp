#pragma once
// How a command line, and the config file behind it, are taken apart by the options of a command. Which options there
// are is subcommands.hpp's, what their values mean is cli_requests.hpp's. The only file that includes
// Boost.Program_options is cli_options.cpp.
#include <string>
#include <vector>

#include "cli_values.hpp"
#include "config_file.hpp"
#include "subcommands.hpp"

namespace regtune {

// `arguments`: behind the command's name, without those of the compiler. Throws Error(usage) for what is no option, no
// value of one, or not as many subjects (KERNEL.cu, KERNEL, FILE) as the command takes; with --help they may be
// missing. A long option is written whole: --kern may mean something else in the next version. What the command line
// names, it alone says; the rest is the config file's.
CliValues parse_options(const Subcommand& command, const std::vector<std::string>& arguments,
                        const Config& config = {});

// Throws Error(usage) with file and line for an entry that no command, or not the one of its table, has an option for.
void require_known(const Config& config);

}  // namespace regtune
