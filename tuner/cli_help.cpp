#include "cli_help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "exit_codes.hpp"

namespace regtune {
namespace {

constexpr int kNameColumns = 26;

void append_option(std::string& text, const CliOption& option, int columns) {
  // A letter's column, so that long names stand below each other.
  const std::string name = option.letter == '\0' ? "      " + spell_option(option) : "  " + spell_option(option);
  const std::string help = wrapped(option_help(option), columns - kNameColumns, kNameColumns);
  if (static_cast<int>(name.size()) > kNameColumns - 2)
    text += fmt::format("{}\n{:{}}{}\n", name, "", kNameColumns, help);
  else
    text += fmt::format("{:{}}{}\n", name, kNameColumns, help);
}

}  // namespace

std::string spell_option(const CliOption& option) {
  std::string text = option.letter == '\0' ? "" : fmt::format("-{}, ", option.letter);
  text += "--" + option.name;
  if (!option.takes_value()) return text;
  return text + (option.implicit_value.empty() ? " " + option.value : fmt::format("[={}]", option.value));
}

std::string option_help(const CliOption& option) {
  return option.default_value ? fmt::format("{} (default: {:g})", option.help, *option.default_value) : option.help;
}

std::string wrapped(const std::string& text, int columns, int indent) {
  std::string lines;
  std::size_t in_line = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (in_line > 0 && in_line + 1 + word.size() > static_cast<std::size_t>(std::max(columns, 1))) {
      lines += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      in_line = 0;
    }
    if (in_line > 0) lines += " ";
    lines += word;
    in_line += word.size() + (in_line > 0 ? 1 : 0);
  }
  return lines;
}

std::string overview_text() {
  std::string text = "usage: regtune [COMMAND] KERNEL.cu [options] [-- compiler options]\n";
  for (const Subcommand& command : subcommands()) text += fmt::format("  {:<11} {}\n", command.name, command.summary);
  text +=
      "\n"
      "  regtune k.cu --set n=1<<24 --block 128,256 --grid 'ceil_div(n, block)'\n"
      "regtune COMMAND --help lists its options, regtune help exit-codes the exit codes\n";
  return text;
}

std::string help_text(const Subcommand& command, int columns) {
  const std::string usage = fmt::format("usage: regtune {} ", command.name);
  const auto indent = static_cast<int>(usage.size());
  std::string text = fmt::format("{}{}\n{}\n\n  {}\n", usage, wrapped(command.synopsis, columns - indent, indent),
                                 command.summary, command.example);
  for (const OptionGroup& group : command.groups) {
    text += "\n" + group.title + "\n";
    for (const CliOption& option : group.options) append_option(text, option, columns);
  }
  return text;
}

std::string exit_codes_text(int columns) {
  std::string text;
  for (const ExitCode& one : exit_codes())
    text += fmt::format("{:>5}  {}\n", one.code, wrapped(one.meaning, columns - 7, 7));
  return text;
}

}  // namespace regtune
