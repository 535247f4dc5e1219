#include "cli.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cli_help.hpp"
#include "cli_options.hpp"
#include "compile_commands.hpp"
#include "completion.hpp"
#include "did_you_mean.hpp"
#include "man_page.hpp"
#include "nvcc_command.hpp"
#include "options_page.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

using Arguments = std::vector<std::string>;

// The command that the first argument names, which is taken away; a kernel's file names none.
const Subcommand& take_command(Arguments& arguments) {
  const Subcommand* named = arguments.empty() ? nullptr : find_subcommand(arguments.front());
  if (!named) return subcommand(CliCommand::tune);
  arguments.erase(arguments.begin());
  return *named;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Subcommand& command : subcommands()) names.push_back(command.name);
  return names;
}

// A first word that is like a command, and neither an option nor like a file.
void refuse_misspelt_command(const Arguments& arguments) {
  if (arguments.empty()) return;
  const std::string& word = arguments.front();
  if (word.find_first_of("./-") != std::string::npos || find_subcommand(word)) return;
  const std::optional<std::string> meant = nearest_word(word, command_names());
  std::error_code error;
  if (!meant || std::filesystem::exists(word, error)) return;
  throw Error(ErrorKind::usage, fmt::format("{} is no command and no file; did you mean regtune {}? regtune --help "
                                            "lists the commands",
                                            word, *meant));
}

void refuse_compiler_options(const Subcommand& command, const Arguments& behind) {
  if (behind.empty() || command.why_no_compiler_options.empty()) return;
  throw Error(ErrorKind::usage, fmt::format("regtune {} {} and takes no compiler options; leave out {}", command.name,
                                            command.why_no_compiler_options, fmt::join(behind, " ")));
}

// Of the options that one compiler was given and the other does not take.
void note_left_out(const std::vector<std::string>& left_out, const char* whose, std::vector<std::string>& notes) {
  if (!left_out.empty())
    notes.push_back(fmt::format("of {} options these are left out: {}", whose, fmt::join(left_out, ", ")));
}

// What stands behind --: options as the compiler takes them, or a whole nvcc command line.
CompilerArguments compiler_arguments(const Arguments& behind, std::vector<std::string>& notes) {
  if (behind.empty() || !is_nvcc(behind.front())) return {behind, {}, {}};
  CompilerArguments translated = from_nvcc({std::next(behind.begin()), behind.end()});
  note_left_out(translated.left_out, "nvcc's", notes);
  return translated;
}

// The build's own options come first, so that what is typed counts where both say something.
void add_compile_commands(CompilerArguments& arguments, const CliValues& values, const std::string& source,
                          std::vector<std::string>& notes) {
  const std::optional<std::string> file = values.text("compile-commands");
  if (!file) return;
  const CompilerArguments of_build = from_compile_commands(*file, source);
  note_left_out(of_build.left_out, "the build's", notes);
  arguments.kept.insert(arguments.kept.begin(), of_build.kept.begin(), of_build.kept.end());
  arguments.of_nvcc.insert(arguments.of_nvcc.begin(), of_build.of_nvcc.begin(), of_build.of_nvcc.end());
}

TuneCommand tune_command(const CliValues& values, const CompilerArguments& compiler, std::vector<std::string>& notes) {
  TuneCommand command;
  command.style = report_style(values);
  command.files = run_files(values, values.subjects().size());
  for (const std::string& source : values.subjects()) {
    CompilerArguments of_source = compiler;
    add_compile_commands(of_source, values, source, notes);
    TuneRequest request = tune_request(values, source, of_source);
    if (&source == &values.subjects().front())
      command.request = std::move(request);
    else
      command.others.push_back(std::move(request));
  }
  return command;
}

// --help of a command, `regtune help` on one, and what else it knows.
std::string text_about(const std::string& topic) {
  if (topic == "exit-codes") return exit_codes_text();
  if (topic == "man") return man_page();
  if (topic == "options") return options_page();
  if (const Subcommand* command = find_subcommand(topic)) return help_text(*command);
  std::vector<std::string> topics = command_names();
  topics.insert(topics.end(), {"exit-codes", "man", "options"});
  throw Error(ErrorKind::usage, fmt::format("regtune help {}: name one of {}{}", topic, fmt::join(topics, ", "),
                                            did_you_mean(topic, topics)));
}

std::string completion_text(const std::string& shell) {
  const std::optional<std::string> text = completion_of(shell);
  if (text) return *text;
  const Subjects& subjects = subcommand(CliCommand::completion).subjects;
  throw Error(ErrorKind::usage, fmt::format("regtune completion {}: name one of {}{}", shell, subjects.what,
                                            did_you_mean(shell, subjects.words)));
}

// What is about the program itself: no config file can make it fail. Empty for the rest.
std::optional<std::string> text_to_show(const Subcommand& command, const CliValues& typed) {
  if (typed.flag("help")) return help_text(command);
  if (command.id == CliCommand::completion) return completion_text(typed.subject());
  if (command.id != CliCommand::help) return {};
  return typed.subjects().empty() ? overview_text() : text_about(typed.subject());
}

void fill(Command& command, CliCommand which, const CliValues& values, const CompilerArguments& given) {
  if (which == CliCommand::tune && !values.flag("show-source")) {
    command.what = tune_command(values, given, command.notes);
    return;
  }
  CompilerArguments compiler = given;
  if (!values.subjects().empty()) add_compile_commands(compiler, values, values.subject(), command.notes);
  if (values.flag("show-source")) {
    if (values.subjects().size() > 1)
      throw Error(ErrorKind::usage, fmt::format("--show-source shows one file at a time; name one of these {}: {}",
                                                values.subjects().size(), fmt::join(values.subjects(), " ")));
    command.what = show_source_request(values, compiler);
    return;
  }
  switch (which) {
    case CliCommand::analyze:
      command.what = analyze_command(values, compiler);
      break;
    case CliCommand::check:
      command.what = check_request(values, compiler);
      break;
    case CliCommand::init:
      command.what = init_request(values, compiler);
      break;
    case CliCommand::lookup:
      command.what = lookup_request(values);
      break;
    case CliCommand::tag:
      command.what = TagCommand{show_source_request(values, compiler)};
      break;
    case CliCommand::verify:
      command.what = verify_request(values);
      break;
    case CliCommand::replay:
      command.what = replay_command(values);
      break;
    case CliCommand::export_budgets:
      command.what = export_request(values);
      break;
    case CliCommand::report:
      command.what = report_request(values);
      break;
    case CliCommand::diff:
      command.what = diff_request(values);
      break;
    case CliCommand::import_runs:
      command.what = import_request(values);
      break;
    case CliCommand::db:
      command.what = db_request(values);
      break;
    case CliCommand::bundle:
      command.what = bundle_request(values, compiler);
      break;
    case CliCommand::doctor:
      command.what = DoctorRequest{values.text("cache")};
      break;
    case CliCommand::run:
    case CliCommand::capture:
    case CliCommand::tune:
    case CliCommand::completion:
    case CliCommand::help:
      break;
  }
}

}  // namespace

bool wants_json(const Arguments& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

Command parse_command_line(const Arguments& arguments, const std::function<Config()>& config) {
  // Boost.Program_options forgets where "--" stood: what follows it is cut off before it looks.
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  Arguments own(arguments.begin(), separator);
  const Arguments behind(separator == arguments.end() ? separator : std::next(separator), arguments.end());
  Command command;
  command.what = ShowText{overview_text()};
  if (own.empty() || own.front() == "--help" || own.front() == "-h") return command;
  if (own.front() == "--version") {
    command.what = ShowVersions{};
    return command;
  }
  refuse_misspelt_command(own);
  const Subcommand& which = take_command(own);
  refuse_compiler_options(which, behind);
  CliValues values = parse_options(which, own);
  if (const auto text = text_to_show(which, values)) {
    command.what = ShowText{*text};
    return command;
  }
  // The doctor looks at the config file himself, and says what is wrong with it.
  if (config && !values.flag("no-config") && which.id != CliCommand::doctor) {
    const Config read = config();
    require_known(read);
    values = parse_options(which, own, read);
  }
  command.json = values.flag("json");
  command.quiet = values.flag("quiet");
  command.verbose = values.flag("verbose");
  command.explain = explain_value(values);
  if (which.id == CliCommand::run)
    command.what = watch_command(values, behind);
  else if (which.id == CliCommand::capture)
    command.what = capture_request(values, behind);
  else
    fill(command, which.id, values, compiler_arguments(behind, command.notes));
  if (auto* watching = std::get_if<WatchCommand>(&command.what)) watching->request.tuning.command_line = arguments;
  if (auto* tuning = std::get_if<TuneCommand>(&command.what)) {
    tuning->request.command_line = arguments;
    for (TuneRequest& other : tuning->others) other.command_line = arguments;
  }
  return command;
}

}  // namespace regtune
