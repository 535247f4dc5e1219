#include "cli_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdint>

#include "did_you_mean.hpp"
#include "levers.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

namespace po = boost::program_options;
using Arguments = std::vector<std::string>;

// A name that no option has.
constexpr const char* kSubject = "subject";
constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

const po::value_semantic* semantic_of(const CliOption& option) {
  switch (option.kind) {
    case OptionKind::flag:
      return po::bool_switch();
    case OptionKind::list:
      return po::value<Arguments>()->composing();
    case OptionKind::integer:
      return po::value<int>();
    case OptionKind::number:
      return po::value<double>();
    case OptionKind::wide_integer:
      return po::value<std::uint64_t>();
    case OptionKind::text:
      break;
  }
  auto* semantic = po::value<std::string>();
  return option.implicit_value.empty() ? semantic : semantic->implicit_value(option.implicit_value);
}

po::options_description options_of(const Subcommand& command) {
  po::options_description all;
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options) {
      const std::string names = option.letter == '\0' ? option.name : fmt::format("{},{}", option.name, option.letter);
      all.add_options()(names.c_str(), semantic_of(option));
    }
  return all;
}

// Of the types that semantic_of names; another one is a mistake there.
CliValues::Value value_of(const po::variable_value& given) {
  const boost::any& value = given.value();
  if (const auto* flag = boost::any_cast<bool>(&value)) return *flag;
  if (const auto* integer = boost::any_cast<int>(&value)) return *integer;
  if (const auto* number = boost::any_cast<double>(&value)) return *number;
  if (const auto* wide = boost::any_cast<std::uint64_t>(&value)) return *wide;
  if (const auto* list = boost::any_cast<Arguments>(&value)) return *list;
  return boost::any_cast<std::string>(value);
}

std::string where_to_read(const Subcommand& command) {
  return fmt::format("regtune {} --help lists the options", command.name);
}

std::vector<std::string> option_names(const Subcommand& command) {
  std::vector<std::string> names;
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options) names.push_back(option.name);
  return names;
}

std::vector<std::string> commands_with(const std::string& option) {
  std::vector<std::string> names;
  for (const Subcommand& command : subcommands())
    if (find_option(command, option)) names.push_back("regtune " + command.name);
  return names;
}

// `word`: with its dashes.
std::string about_unknown(const Subcommand& command, const std::string& word) {
  const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  std::string text = fmt::format("{} is no option of regtune {}", word, command.name);
  const std::vector<std::string> elsewhere = commands_with(name);
  if (elsewhere.empty())
    text += did_you_mean(name, option_names(command), "--");
  else
    text += fmt::format("; it is one of {}", fmt::join(elsewhere, ", "));
  return text + (text.ends_with('?') ? " " : "; ") + where_to_read(command);
}

// Said in one word, since an option that can do without a value would take the file behind it for one.
Arguments with_lists_of_levers(Arguments arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] != "--levers") continue;
    const bool has_list = i + 1 < arguments.size() && reads_as_levers(arguments[i + 1]);
    arguments[i] += "=" + (has_list ? arguments[i + 1] : kAllLevers);
    if (has_list) arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return arguments;
}

po::variables_map parse(const Subcommand& command, const Arguments& arguments) {
  po::options_description all = options_of(command);
  all.add_options()(kSubject, po::value<Arguments>());
  po::positional_options_description positions;
  positions.add(kSubject, -1);
  po::variables_map parsed;
  try {
    const Arguments joined = with_lists_of_levers(arguments);
    const auto found = po::command_line_parser(joined).options(all).positional(positions).style(kStyle).run();
    for (const po::option& one : found.options)
      if (one.string_key == kSubject && one.position_key < 0)
        throw Error(ErrorKind::usage, about_unknown(command, std::string("--") + kSubject));
    po::store(found, parsed);
    po::notify(parsed);
  } catch (const po::unknown_option& unknown) {
    throw Error(ErrorKind::usage, about_unknown(command, unknown.get_option_name()));
  } catch (const po::error& failure) {
    throw Error(ErrorKind::usage, fmt::format("{}; {}", failure.what(), where_to_read(command)));
  }
  return parsed;
}

void require_number(const Subcommand& command, const Arguments& given) {
  const Subjects& wanted = command.subjects;
  if (given.size() < wanted.least)
    throw Error(ErrorKind::usage, fmt::format("{} is missing; write regtune {} {}; {}", wanted.what, command.name,
                                              command.synopsis, where_to_read(command)));
  if (given.size() > wanted.most && wanted.most == 0)
    throw Error(ErrorKind::usage,
                fmt::format("regtune {} takes options only; leave out {}", command.name, fmt::join(given, " ")));
  if (given.size() > wanted.most)
    throw Error(ErrorKind::usage, fmt::format("one {} at a time; name one of these {}: {}", wanted.what, given.size(),
                                              fmt::join(given, " ")));
}

void require_choice(const CliOption& option, const std::string& name, const std::string& value) {
  if (option.choices.empty() || std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end())
    return;
  throw Error(ErrorKind::usage,
              fmt::format("{} {} is not known; write {}{}{}", name, value, option.choices.size() == 1 ? "" : "one of ",
                          fmt::join(option.choices, ", "), did_you_mean(value, option.choices)));
}

std::string place_of(const Config& config, const ConfigEntry& entry) {
  return fmt::format("{}:{}", config.file.string(), entry.line);
}

[[noreturn]] void refuse(const Config& config, const ConfigEntry& entry, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}{} --no-config leaves the file unread", place_of(config, entry), why,
                                            why.ends_with('?') ? "" : "."));
}

// The entry as the command line would have it.
Arguments words_of(const ConfigEntry& entry) {
  if (entry.on) return *entry.on ? Arguments{"--" + entry.option} : Arguments{};
  Arguments words;
  for (const std::string& value : entry.values) words.push_back(fmt::format("--{}={}", entry.option, value));
  return words;
}

// What a command takes from the config file: its own table's entry wins over that of all commands.
std::map<std::string, const ConfigEntry*> entries_of(const Config& config, const Subcommand& command) {
  std::map<std::string, const ConfigEntry*> chosen;
  for (const ConfigEntry& entry : config.entries) {
    if (!find_option(command, entry.option) || (!entry.command.empty() && entry.command != command.name)) continue;
    const ConfigEntry*& slot = chosen[entry.option];
    if (!slot || !entry.command.empty()) slot = &entry;
  }
  return chosen;
}

}  // namespace

void require_known(const Config& config) {
  std::vector<std::string> all_options;
  std::vector<std::string> all_commands;
  for (const Subcommand& command : subcommands()) {
    all_commands.push_back(command.name);
    for (const std::string& name : option_names(command)) all_options.push_back(name);
  }
  for (const ConfigEntry& entry : config.entries) {
    const Subcommand* command = find_subcommand(entry.command);
    if (!entry.command.empty() && !command)
      refuse(config, entry,
             fmt::format("[{}] is no command of regtune{}", entry.command, did_you_mean(entry.command, all_commands)));
    const bool known = command ? find_option(*command, entry.option) != nullptr
                               : std::find(all_options.begin(), all_options.end(), entry.option) != all_options.end();
    if (!known)
      refuse(config, entry,
             fmt::format("{} is no option of {}{}", entry.option,
                         command ? "regtune " + command->name : "any command of regtune",
                         did_you_mean(entry.option, command ? option_names(*command) : all_options)));
    if (entry.option == "help" || entry.option == "no-config")
      refuse(config, entry, fmt::format("{} belongs on the command line; leave it out here", entry.option));
  }
}

CliValues parse_options(const Subcommand& command, const Arguments& arguments, const Config& config) {
  const po::variables_map parsed = parse(command, arguments);
  std::map<std::string, CliValues::Value> values;
  std::map<std::string, std::string> places;
  Arguments subjects;
  for (const auto& [name, value] : parsed) {
    if (name == kSubject)
      subjects = value.as<Arguments>();
    else
      values[name] = value_of(value);
  }
  for (const auto& [name, entry] : entries_of(config, command)) {
    if (const auto given = parsed.find(name); given != parsed.end() && !given->second.defaulted()) continue;
    const bool is_flag = !find_option(command, name)->takes_value();
    if (is_flag != entry->on.has_value())
      refuse(config, *entry, fmt::format("{} takes {}; write it so", name, is_flag ? "true or false" : "a value"));
    try {
      const po::variables_map one = parse(command, words_of(*entry));
      if (one.count(name) == 1) values[name] = value_of(one[name]);
    } catch (const Error& failure) {
      refuse(config, *entry, failure.what());
    }
    places[name] = place_of(config, *entry);
  }
  CliValues all(std::move(values), std::move(subjects), std::move(places));
  for (const OptionGroup& group : command.groups)
    for (const CliOption& option : group.options) {
      if (option.default_value) all.set_default(option.name, option.kind == OptionKind::integer, *option.default_value);
      if (option.kind == OptionKind::text)
        if (const auto value = all.text(option.name)) require_choice(option, all.spell(option.name), *value);
    }
  if (!all.flag("help")) require_number(command, all.subjects());
  return all;
}

}  // namespace regtune
