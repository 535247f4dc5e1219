// The tables of options, and the values that come of them: which command a value belongs to is cli_test.cpp's.
#include "cli_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "regtune/error.hpp"

namespace regtune {
namespace {

CliValues parse_options(CliCommand command, const std::vector<std::string>& arguments) {
  return regtune::parse_options(subcommand(command), arguments);
}

std::string refusal(CliCommand command, const std::vector<std::string>& arguments) {
  try {
    parse_options(command, arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "";
}

TEST(CliOptions, HoldEachValueAsItsKind) {
  const CliValues values =
      parse_options(CliCommand::tune, {"k.cu", "--set", "n=1", "--set", "m=2", "--seed", "18446744073709551615", "-j",
                                       "3", "--margin", "1.5", "--cold", "--grid", "n"});
  EXPECT_EQ(values.subject(), "k.cu");
  EXPECT_EQ(values.list("set"), (std::vector<std::string>{"n=1", "m=2"}));
  EXPECT_EQ(values.unsigned_integer("seed"), 18446744073709551615u);
  EXPECT_EQ(values.integer("jobs"), 3);
  EXPECT_EQ(values.number_in("margin", 0, 50), 1.5);
  EXPECT_EQ(values.text("grid"), "n");
  EXPECT_TRUE(values.flag("cold"));
}

TEST(CliOptions, TellWhatWasNotGivenFromWhatWas) {
  const CliValues values = parse_options(CliCommand::tune, {"k.cu"});
  EXPECT_FALSE(values.text("grid"));
  EXPECT_FALSE(values.integer("jobs"));
  EXPECT_FALSE(values.flag("cold"));
  EXPECT_TRUE(values.list("set").empty());
  EXPECT_EQ(values.number_in("budget", 0, 100), 60) << "a default is a value";
  EXPECT_FALSE(parse_options(CliCommand::replay, {"run.json"}).number_in("budget", 0, 100)) << "as recorded";
}

TEST(CliOptions, EveryCommandHasHelpAndNeedsNoSubjectForIt) {
  for (const Subcommand& command : subcommands()) {
    EXPECT_TRUE(regtune::parse_options(command, {"--help"}).flag("help")) << command.name;
    if (command.subjects.least > 0) {
      EXPECT_NE(refusal(command.id, {}).find("is missing"), std::string::npos) << command.name;
    }
    if (command.subjects.most == 1) {
      EXPECT_NE(refusal(command.id, {"a", "b"}).find("a b"), std::string::npos) << command.name;
    }
  }
}

TEST(CliOptions, OfOneCommandHaveNamesOfTheirOwn) {
  for (const Subcommand& command : subcommands()) {
    std::set<std::string> names;
    std::set<char> letters;
    for (const OptionGroup& group : command.groups)
      for (const CliOption& option : group.options) {
        EXPECT_TRUE(names.insert(option.name).second) << command.name << " --" << option.name;
        EXPECT_TRUE(option.letter == '\0' || letters.insert(option.letter).second) << command.name << option.name;
        EXPECT_FALSE(option.help.empty()) << option.name;
        EXPECT_EQ(option.takes_value(), !option.value.empty()) << option.name;
      }
    EXPECT_TRUE(find_option(command, "help") && find_option(command, "no-config")) << command.name;
  }
}

// The words behind "regtune", as a shell would make them of the example.
std::vector<std::string> words_of(const std::string& example) {
  std::vector<std::string> words;
  bool in_quotes = false;
  bool in_word = false;
  for (const char letter : example) {
    if (letter == '\'') in_quotes = !in_quotes;
    if (letter == '\'' || (letter == ' ' && !in_quotes)) {
      in_word = in_word && letter != ' ';
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    words.back() += letter;
  }
  return words;
}

TEST(CliOptions, EveryExampleIsUnderstood) {
  for (const Subcommand& command : subcommands()) {
    std::vector<std::string> words = words_of(command.example);
    if (words.front() != "regtune") continue;  // the shell's own, around a regtune
    words.erase(words.begin());
    if (words.front() == command.name) words.erase(words.begin());
    words.erase(std::find(words.begin(), words.end(), "--"), words.end());  // what goes to another program
    EXPECT_NO_THROW(regtune::parse_options(command, words)) << command.example;
  }
}

TEST(CliOptions, ShowTheSourceOnlyWhereOneIsCompiledAsGiven) {
  for (const CliCommand command : {CliCommand::tune, CliCommand::analyze, CliCommand::check})
    EXPECT_TRUE(parse_options(command, {"k.cu", "--show-source"}).flag("show-source"));
  for (const CliCommand command : {CliCommand::lookup, CliCommand::verify, CliCommand::replay})
    EXPECT_NE(refusal(command, {"k", "--show-source"}).find("--show-source"), std::string::npos);
}

TEST(CliOptions, TakeNoAbbreviationAndNoStranger) {
  EXPECT_NE(refusal(CliCommand::tune, {"k.cu", "--kern", "x"}).find("--kern"), std::string::npos);
  EXPECT_NE(refusal(CliCommand::replay, {"run.json", "--cold"}).find("--cold"), std::string::npos);
  EXPECT_NE(refusal(CliCommand::tune, {"k.cu", "--subject"}), "") << "the word for what belongs to no option is none";
}

TEST(CliValues, RefuseWhatLiesOutsideTheRange) {
  const CliValues values({{"margin", std::nan("")}, {"jobs", 0}, {"max-registers", -1}}, {"k.cu"});
  EXPECT_THROW(values.number_in("margin", 0, 50), Error);
  EXPECT_THROW(values.integer_in("jobs", 1, 8), Error);
  EXPECT_THROW(values.count("max-registers"), Error);
  EXPECT_EQ(values.integer_in("jobs", 0, 8), 0);
}

}  // namespace
}  // namespace regtune
