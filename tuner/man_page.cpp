#include "man_page.hpp"

#include <fmt/format.h>

#include "cli_help.hpp"
#include "exit_codes.hpp"
#include "subcommands.hpp"

namespace regtune {
namespace {

// As text, whatever roff would make of it: a dash stays a dash that can be searched for.
std::string plain(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else if (letter == '\'')
      result += "\\(aq";
    else if (letter == '`')
      result += "\\(ga";
    else if (letter == '^')
      result += "\\(ha";
    else if (letter == '~')
      result += "\\(ti";
    else
      result += letter;
  }
  // A line that begins with a dot is a request.
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string upper(std::string text) {
  for (char& letter : text)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return text;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", plain(tag), plain(text));
}

std::string about(const Subcommand& command) {
  std::string text = fmt::format(".SS \"regtune {}\"\n.B regtune {}\n{}\n.PP\n{}.\n", plain(command.name),
                                 plain(command.name), plain(command.synopsis), plain(command.summary));
  text += fmt::format(".PP\n.EX\n{}\n.EE\n", plain(command.example));
  for (const OptionGroup& group : command.groups) {
    text += fmt::format(".PP\n.I {}\n", plain(group.title));
    for (const CliOption& option : group.options) text += tagged(spell_option(option), option_help(option));
  }
  return text;
}

}  // namespace

std::string man_page() {
  std::string text = fmt::format(".TH {} 1 \"\" \"regtune {}\" \"User Commands\"\n", upper("regtune"), REGTUNE_VERSION);
  text +=
      ".SH NAME\nregtune \\- how many registers should this CUDA kernel get?\n"
      ".SH SYNOPSIS\n.B regtune\n[COMMAND] KERNEL.cu [options] [\\-\\- compiler options, or a whole nvcc command]\n"
      ".SH DESCRIPTION\nCompiles a CUDA kernel under every register cap and every launch bound, times each distinct\n"
      "code on the GPU, checks every output, and stores the fastest budget. Results go to standard output, talk to\n"
      "standard error. A source\\(aqs name \\- stands for standard input.\n"
      ".SH COMMANDS\n";
  for (const Subcommand& command : subcommands()) text += about(command);
  text += ".SH \"EXIT STATUS\"\n";
  for (const ExitCode& one : exit_codes()) text += tagged(std::to_string(one.code), one.meaning);
  text += ".SH FILES\n";
  text += tagged("$XDG_CONFIG_HOME/regtune/config.toml",
                 "Options by their long names, for every command that has them (margin = 1), or below a command's name "
                 "in brackets for that one. ~/.config where the variable is not set. The command line wins.");
  text += tagged("$XDG_CACHE_HOME/regtune/regtune.db", "The cache; ~/.cache where the variable is not set.");
  text += ".SH ENVIRONMENT\n";
  text += tagged("REGTUNE_CACHE", "The cache file.");
  text += tagged("REGTUNE_NVRTC, REGTUNE_NVJITLINK, REGTUNE_CUDA, REGTUNE_NVCC, REGTUNE_NCU",
                 "The file of a library or program; no other is tried then.");
  text += tagged("CUDA_HOME, CUDA_PATH", "Where the CUDA toolkit is.");
  text += tagged("CUDA_VISIBLE_DEVICES", "Which GPUs there are; --device counts them.");
  text += tagged("NO_COLOR, COLUMNS, TERM", "Colour and width of what is printed.");
  return text;
}

}  // namespace regtune
