// The tables of options, and the values that come of them: which command a value belongs to is cli_test.cpp's.
#include "cli_options.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "regtune/error.hpp"

namespace regtune {
namespace {

constexpr CliCommand kCommands[] = {CliCommand::tune,   CliCommand::analyze, CliCommand::check,
                                    CliCommand::init,   CliCommand::lookup,  CliCommand::tag,
                                    CliCommand::verify, CliCommand::replay,  CliCommand::bundle};

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
  for (const CliCommand command : kCommands) {
    EXPECT_TRUE(parse_options(command, {"--help"}).flag("help"));
    EXPECT_NE(help_text(command).find("--json"), std::string::npos);
    EXPECT_NE(refusal(command, {}).find("is missing"), std::string::npos);
    EXPECT_NE(refusal(command, {"a", "b"}).find("a b"), std::string::npos);
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
