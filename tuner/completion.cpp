#include "completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "subcommands.hpp"

namespace regtune {
namespace {

// In single quotes, as all three shells take it; fish also ends a quote at no backslash but before a quote.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::vector<std::string> names_of_commands() {
  std::vector<std::string> names;
  for (const Subcommand& command : subcommands()) names.push_back(command.name);
  return names;
}

// --name and -l of every option of a command.
std::vector<std::string> spellings(const Subcommand& command) {
  std::vector<std::string> all;
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options) {
      all.push_back("--" + option.name);
      if (option.letter != '\0') all.push_back(fmt::format("-{}", option.letter));
    }
  return all;
}

// What the words that belong to no option are: those of a list, or files.
std::vector<std::string> subject_words(const Subcommand& command) {
  if (command.id != CliCommand::help) return command.subjects.words;
  std::vector<std::string> words = names_of_commands();
  words.insert(words.end(), {"exit-codes", "man", "options"});
  return words;
}

bool takes_file(const CliOption& option) {
  return option.value == "FILE" || option.value == "DIR";
}

// One line of a bash `case` for each kind of value, over the options of all commands: a name means the same in each.
std::string bash_values(const Subcommand& command) {
  std::string text;
  std::vector<std::string> files;
  std::vector<std::string> others;
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options) {
      if (!option.takes_value() || !option.implicit_value.empty()) continue;
      std::string pattern = "--" + option.name;
      if (option.letter != '\0') pattern += fmt::format("|-{}", option.letter);
      if (!option.choices.empty())
        text += fmt::format("        {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n", pattern,
                            quoted(fmt::format("{}", fmt::join(option.choices, " "))));
      else
        (takes_file(option) ? files : others).push_back(pattern);
    }
  if (!files.empty())
    text += fmt::format("        {}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", fmt::join(files, "|"));
  if (!others.empty()) text += fmt::format("        {}) return ;;\n", fmt::join(others, "|"));
  return text;
}

std::string bash() {
  std::string text = fmt::format(
      "# bash completion of regtune; made by: regtune completion bash\n"
      "_regtune() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=tune i\n"
      "  local commands={}\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    [[ ${{COMP_WORDS[i]}} == -- ]] && {{ COMPREPLY=($(compgen -f -- \"$word\")); return; }}\n"
      "  done\n"
      "  if ((COMP_CWORD > 1)); then\n"
      "    case \" $commands \" in *\" ${{COMP_WORDS[1]}} \"*) command=${{COMP_WORDS[1]}} ;; esac\n"
      "  elif [[ $word != -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$commands\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command in\n",
      quoted(fmt::format("{}", fmt::join(names_of_commands(), " "))));
  for (const Subcommand& command : subcommands()) {
    text += fmt::format("    {})\n      case $before in\n{}      esac\n", command.name, bash_values(command));
    text += fmt::format("      [[ $word == -* ]] && {{ COMPREPLY=($(compgen -W {} -- \"$word\")); return; }}\n",
                        quoted(fmt::format("{}", fmt::join(spellings(command), " "))));
    const std::vector<std::string> words = subject_words(command);
    if (!words.empty())
      text += fmt::format("      ((COMP_CWORD == 2)) && {{ COMPREPLY=($(compgen -W {} -- \"$word\")); return; }}\n",
                          quoted(fmt::format("{}", fmt::join(words, " "))));
    text += "      ;;\n";
  }
  return text +
         "  esac\n"
         "  COMPREPLY=($(compgen -f -- \"$word\"))\n"
         "}\n"
         "complete -F _regtune regtune\n";
}

// Inside the brackets of an _arguments specification.
std::string zsh_help(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

std::string zsh_value(const CliOption& option) {
  if (!option.takes_value()) return "";
  std::string action = " ";
  if (!option.choices.empty()) action = fmt::format("({})", fmt::join(option.choices, " "));
  if (takes_file(option)) action = option.value == "DIR" ? "_files -/" : "_files";
  return fmt::format("{}:{}:{}", option.implicit_value.empty() ? "" : ":", zsh_help(option.value), action);
}

std::string zsh() {
  std::string text =
      "#compdef regtune\n"
      "# zsh completion of regtune; made by: regtune completion zsh\n"
      "_regtune() {\n"
      "  local command=tune\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Subcommand& command : subcommands())
    text += "    " + quoted(command.name + ":" + zsh_help(command.summary)) + "\n";
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n"
      "    _files\n"
      "    return\n"
      "  fi\n"
      "  if (( ${commands[(I)${words[2]}:*]} )); then\n"
      "    command=$words[2]\n"
      "    words=($words[1] ${words[3,-1]})\n"
      "    (( CURRENT-- ))\n"
      "  fi\n"
      "  case $command in\n";
  for (const Subcommand& command : subcommands()) {
    text += fmt::format("    {})\n      _arguments -s", command.name);
    for (const OptionGroup& group : command.groups)
      for (const CliOption& option : group.options) {
        const std::string repeat = option.kind == OptionKind::list ? "*" : "";
        const std::string rest = fmt::format("[{}]{}", zsh_help(option.help), zsh_value(option));
        const char* equals = option.takes_value() ? "=" : "";
        text += fmt::format(" \\\n        {}", quoted(fmt::format("{}--{}{}{}", repeat, option.name, equals, rest)));
        if (option.letter != '\0')
          text += fmt::format(" \\\n        {}", quoted(fmt::format("{}-{}{}{}", repeat, option.letter,
                                                                    option.takes_value() ? "+" : "", rest)));
      }
    const std::vector<std::string> words = subject_words(command);
    const std::string subjects =
        words.empty() ? "*:file:_files" : fmt::format("*:{}:({})", command.name, fmt::join(words, " "));
    text += fmt::format(" \\\n        {}\n      ;;\n", quoted(subjects));
  }
  return text +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _regtune ]]; then _regtune \"$@\"; else compdef _regtune regtune; fi\n";
}

std::string fish() {
  std::string text =
      "# fish completion of regtune; made by: regtune completion fish\n"
      "function __regtune_command\n"
      "  set -l words (commandline -opc)\n"
      "  if test (count $words) -ge 2; and contains -- $words[2] ";
  text += fmt::format("{}\n", fmt::join(names_of_commands(), " "));
  text +=
      "    test $words[2] = $argv[1]\n"
      "  else\n"
      "    test tune = $argv[1]\n"
      "  end\n"
      "end\n";
  for (const Subcommand& command : subcommands())
    text += fmt::format("complete -c regtune -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.summary));
  for (const Subcommand& command : subcommands()) {
    const std::string condition = quoted("__regtune_command " + command.name);
    const std::vector<std::string> words = subject_words(command);
    if (!words.empty())
      text += fmt::format("complete -c regtune -n {} -f -a {}\n", condition,
                          quoted(fmt::format("{}", fmt::join(words, " "))));
    for (const OptionGroup& group : command.groups)
      for (const CliOption& option : group.options) {
        text += fmt::format("complete -c regtune -n {} -l {}", condition, option.name);
        if (option.letter != '\0') text += fmt::format(" -s {}", option.letter);
        if (option.takes_value() && option.implicit_value.empty()) text += takes_file(option) ? " -r" : " -x";
        if (!option.choices.empty()) text += " -a " + quoted(fmt::format("{}", fmt::join(option.choices, " ")));
        text += fmt::format(" -d {}\n", quoted(option.help));
      }
  }
  return text;
}

}  // namespace

std::optional<std::string> completion_of(const std::string& shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return zsh();
  if (shell == "fish") return fish();
  return {};
}

}  // namespace regtune
