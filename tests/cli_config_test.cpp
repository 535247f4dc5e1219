// What the config file says where the command line does not.
#include <gtest/gtest.h>

#include "command_line.hpp"

namespace regtune {
namespace {

TEST(Cli, TheConfigFileSaysWhatTheCommandLineDoesNot) {
  const auto config = [] {
    return config_from_text(
        "margin = 2\nquiet = true\ninclude-dir = [\"a\", \"b\"]\ngpu = \"H200\"\n\n[check]\n"
        "max-registers = 64\nmargin-is-not-here = 1\n",
        "c.toml");
  };
  EXPECT_THROW(parse_command_line({"k.cu"}, config), Error) << "an option that check does not have";
  const auto good = [] {
    return config_from_text(
        "margin = 2\nquiet = true\ncold = false\ninclude-dir = [\"a\", \"b\"]\ngpu = \"H200\"\n"
        "[check]\nmax-registers = 64\ninclude-dir = \"c\"\n",
        "c.toml");
  };
  const Command tuned = parse_command_line({"k.cu"}, good);
  const auto& tune = std::get<TuneCommand>(tuned.what);
  EXPECT_DOUBLE_EQ(tune.request.measure.margin, 0.02);
  EXPECT_TRUE(tuned.quiet);
  EXPECT_FALSE(tune.request.measure.cold);
  EXPECT_EQ(tune.request.flags.include_folders, (Arguments{"a", "b"}));
  const Command typed = parse_command_line({"k.cu", "--margin", "3", "-I", "d"}, good);
  EXPECT_DOUBLE_EQ(std::get<TuneCommand>(typed.what).request.measure.margin, 0.03);
  EXPECT_EQ(std::get<TuneCommand>(typed.what).request.flags.include_folders, Arguments{"d"});
  const Command checked = parse_command_line({"check", "k.cu"}, good);
  EXPECT_EQ(std::get<CheckRequest>(checked.what).limits.max_registers, 64);
  EXPECT_EQ(std::get<CheckRequest>(checked.what).flags.include_folders, Arguments{"c"}) << "its own table wins";
  EXPECT_DOUBLE_EQ(std::get<TuneCommand>(parse_command_line({"k.cu", "--no-config"}, good).what).request.measure.margin,
                   MeasureSettings{}.margin);
}

std::string config_refusal(const Arguments& arguments, const std::string& text) {
  try {
    parse_command_line(arguments, [&] { return config_from_text(text, "c.toml"); });
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << text << " was understood";
  return "";
}

TEST(Cli, AMistakeInTheConfigFileIsToldWithItsLine) {
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "cold = true\nmarign = 1\n"), "c.toml:2: marign is no option"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "marign = 1\n"), "did you mean margin?"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "[tun]\ncold = true\n"), "did you mean tune?"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "cold = 1\n"), "true or false"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "margin = true\n"), "takes a value"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "\nmargin = 99\n"), "c.toml:2: margin 99: must lie between"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "jobs = \"many\"\n"), "c.toml:1"));
  EXPECT_TRUE(holds(config_refusal({"k.cu"}, "margin = {}\nx ="), "c.toml:2"));
  EXPECT_TRUE(holds(config_refusal({"lookup", "k"}, "compiler = \"gcc\"\n[tune]\nhelp = true\n"), "command line"));
}

TEST(Cli, NoConfigFileStandsInTheWayOfHelp) {
  const auto broken = []() -> Config { throw Error(ErrorKind::usage, "broken"); };
  EXPECT_THROW(parse_command_line({"k.cu"}, broken), Error);
  for (const Arguments& arguments : {Arguments{}, Arguments{"--help"}, Arguments{"k.cu", "--help"}, Arguments{"help"},
                                     Arguments{"completion", "bash"}, Arguments{"help", "man"}})
    EXPECT_TRUE(std::holds_alternative<ShowText>(parse_command_line(arguments, broken).what));
  EXPECT_TRUE(std::holds_alternative<ShowVersions>(parse_command_line({"--version"}, broken).what));
}

}  // namespace
}  // namespace regtune
