// What the program says about itself: help, man page and completions, all made of one table.
#include "cli_help.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "completion.hpp"
#include "exit_codes.hpp"
#include "man_page.hpp"
#include "options_page.hpp"
#include "program.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// What a program says of a file with that text: nothing where it is well.
std::string complaints(const std::string& text, const std::string& command) {
  const TemporaryFolder folder;
  folder.write("file", text);
  const std::string said = folder.path() / "said";
  const int status = std::system((command + " " + (folder.path() / "file").string() + " >" + said + " 2>&1").c_str());
  return text_of(said) + (status == 0 ? "" : " (failed)");
}

TEST(CliHelp, TheOverviewFitsOneScreen) {
  const std::vector<std::string> lines = lines_of(overview_text());
  EXPECT_LE(lines.size(), 23u) << "a window of 24 lines, with the prompt behind them";
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  for (const Subcommand& command : subcommands())
    EXPECT_TRUE(holds(overview_text(), "\n  " + command.name + " ")) << command.name;
}

TEST(CliHelp, OfACommandNamesEveryOptionAndAnExample) {
  for (const Subcommand& command : subcommands()) {
    const std::string help = help_text(command);
    EXPECT_TRUE(holds(help, command.example));
    for (const OptionGroup& group : command.groups) {
      EXPECT_TRUE(holds(help, "\n" + group.title + "\n"));
      for (const CliOption& option : group.options) EXPECT_TRUE(holds(help, spell_option(option)));
    }
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(CliHelp, FollowsTheWidthItIsGiven) {
  for (const int columns : {60, 100, 160})
    for (const std::string& line : lines_of(help_text(subcommand(CliCommand::lookup), columns)))
      EXPECT_LE(static_cast<int>(line.size()), columns) << line;
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("a-very-long-word b", 4, 0), "a-very-long-word\nb");
}

TEST(CliHelp, EveryErrorHasItsExitCode) {
  std::set<int> told;
  for (const ExitCode& one : exit_codes()) EXPECT_TRUE(told.insert(one.code).second) << one.code;
  for (int code = static_cast<int>(ErrorKind::usage); code <= static_cast<int>(ErrorKind::claim_not_held); ++code)
    EXPECT_TRUE(told.contains(code)) << code;
  for (const int code : {0, kExitMiss, kExitNoGpu, static_cast<int>(ErrorKind::internal), 130, 143})
    EXPECT_TRUE(told.contains(code)) << code;
}

TEST(CliHelp, OfSeveralExitCodesTheWorstIsAnError) {
  EXPECT_EQ(worse_exit_code(0, kExitNoGpu), kExitNoGpu);
  EXPECT_EQ(worse_exit_code(kExitNoGpu, 4), 4);
  EXPECT_EQ(worse_exit_code(15, 4), 15);
  EXPECT_EQ(worse_exit_code(0, 0), 0);
}

TEST(CliHelp, TheManualHasEveryExitCode) {
  const std::string page = text_of(source_folder() / "docs/exit_codes.md");
  for (const ExitCode& one : exit_codes()) EXPECT_TRUE(holds(page, "\n| " + std::to_string(one.code) + " | "));
}

TEST(CliHelp, TheManualHasThePageOfEveryOption) {
  EXPECT_EQ(text_of(source_folder() / "docs/options.md"), options_page())
      << "write it anew: build/dev/regtune help options >docs/options.md";
  for (const Subcommand& command : subcommands())
    for (const OptionGroup& group : command.groups)
      for (const CliOption& option : group.options)
        EXPECT_TRUE(holds(options_page(), "--" + option.name)) << command.name << " --" << option.name;
}

TEST(ManPage, HoldsEveryCommandOptionAndExitCodeAndIsSoundRoff) {
  const std::string page = man_page();
  for (const Subcommand& command : subcommands()) {
    EXPECT_TRUE(holds(page, ".SS \"regtune " + command.name + "\"\n"));
    EXPECT_TRUE(holds(page, "\n" + std::string(".EX\n")));
  }
  EXPECT_TRUE(holds(page, "\\-\\-compile\\-budget S\n")) << "dashes that can be searched for";
  EXPECT_TRUE(holds(page, ".B 143\n"));
  for (const std::string& line : lines_of(page)) {
    EXPECT_FALSE(line.starts_with("'")) << line;
    if (line.starts_with(".")) {
      EXPECT_GE(line.size(), 2u);
    }
  }
  if (is_installed("mandoc")) {
    EXPECT_EQ(complaints(page, "mandoc -T lint -W error"), "");
  }
  if (is_installed("groff")) {
    EXPECT_EQ(complaints(page, "groff -man -Tutf8 -z -ww"), "");
  }
}

TEST(Completion, OfEachShellIsSoundAndHoldsEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string text = completion_of(shell).value();
    for (const Subcommand& command : subcommands())
      for (const OptionGroup& group : command.groups)
        for (const CliOption& option : group.options)
          EXPECT_NE(text.find(option.name), std::string::npos) << shell << ": " << option.name;
    if (is_installed(shell)) {
      EXPECT_EQ(complaints(text, std::string(shell) + " -n"), "");
    }
  }
  EXPECT_FALSE(completion_of("csh"));
}

// What bash would offer where that line ends; the last word is the one to complete.
std::string offered(const std::vector<std::string>& words) {
  std::string script = completion_of("bash").value() + "\nCOMP_WORDS=(";
  for (const std::string& word : words) script += "'" + word + "' ";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_regtune\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const TemporaryFolder folder;
  folder.write("try.bash", script);
  const std::string said = folder.path() / "said";
  if (std::system(("cd " + folder.path().string() + " && bash try.bash >said 2>&1").c_str()) != 0) return "failed";
  return text_of(said);
}

TEST(Completion, OffersCommandsOptionsAndTheirValues) {
  if (!is_installed("bash")) GTEST_SKIP() << "bash is not installed: its completions cannot be tried";
  EXPECT_TRUE(holds(offered({"regtune", "ana"}), "analyze\n"));
  EXPECT_TRUE(holds(offered({"regtune", "k.cu", "--mar"}), "--margin\n"));
  EXPECT_EQ(offered({"regtune", "check", "--max-r"}), "--max-registers\n");
  EXPECT_EQ(offered({"regtune", "k.cu", "--color", "a"}), "auto\nalways\n");
  EXPECT_EQ(offered({"regtune", "db", "pr"}), "prune\n");
  EXPECT_EQ(offered({"regtune", "help", "exi"}), "exit-codes\n");
  EXPECT_EQ(offered({"regtune", "k.cu", "--record", "try"}), "try.bash\n") << "a file";
  EXPECT_EQ(offered({"regtune", "k.cu", "--set", "try"}), "\n") << "no file: an expression";
}

}  // namespace
}  // namespace regtune
