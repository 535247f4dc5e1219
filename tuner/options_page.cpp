#include "options_page.hpp"

#include <fmt/format.h>

#include <map>

#include "cli_help.hpp"
#include "subcommands.hpp"

namespace regtune {
namespace {

// A bar would end the cell; a bracket might begin a link or a tag of HTML.
std::string cell(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '|' || letter == '<' || letter == '[' || letter == '*' || letter == '_') result += '\\';
    result += letter;
  }
  return result;
}

std::string code_cell(const std::string& text) {
  std::string result;
  for (const char letter : text) result += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return "`" + result + "`";
}

std::string table_of(const OptionGroup& group) {
  std::string text = "\n| option | what it does |\n|---|---|\n";
  for (const CliOption& option : group.options)
    text += fmt::format("| {} | {} |\n", code_cell(spell_option(option)), cell(option_help(option)));
  return text;
}

}  // namespace

std::string options_page() {
  std::string text =
      "# Every option\n\n"
      "Made of the program's own table by `regtune help options`. `regtune COMMAND --help` shows those of one command, "
      "and\n"
      "`regtune help man` is this page for `man`. In the [config file](every_day.md) an option stands by its long "
      "name.\n";
  std::map<std::string, std::string> first_with;  // by a group's text
  for (const Subcommand& command : subcommands()) {
    text += fmt::format("\n## regtune {}\n{}.\n\n    regtune {} {}\n    {}\n", command.name, cell(command.summary),
                        command.name, command.synopsis, command.example);
    for (const OptionGroup& group : command.groups) {
      const std::string table = table_of(group);
      const auto [first, is_new] = first_with.emplace(group.title + table, command.name);
      text += is_new ? fmt::format("\n### {}\n{}", cell(group.title), table)
                     : fmt::format("\n**{}**: as of [regtune {}](#regtune-{}).\n", cell(group.title), first->second,
                                   first->second);
    }
  }
  return text;
}

}  // namespace regtune
