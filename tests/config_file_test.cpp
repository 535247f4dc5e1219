#include "config_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

std::string refusal(const std::string& text) {
  try {
    config_from_text(text, "/home/me/config.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << text << " was taken";
  return "";
}

TEST(ConfigFile, HoldsOptionsOfAllCommandsAndOfOne) {
  const Config config = config_from_text(
      "# mine\nmargin = 0.25\ncold = true\ninclude-dir = [\"a\", \"b\"]\n\n[check]\nmax-registers = 64\n", "c.toml");
  ASSERT_EQ(config.entries.size(), 4u);
  EXPECT_EQ(config.entries[0].option, "margin");
  EXPECT_EQ(config.entries[0].values, std::vector<std::string>{"0.25"});
  EXPECT_EQ(config.entries[0].line, 2u);
  EXPECT_EQ(config.entries[1].on, true);
  EXPECT_EQ(config.entries[2].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.entries[3].command, "check");
  EXPECT_EQ(config.entries[3].values, std::vector<std::string>{"64"});
  EXPECT_EQ(config.entries[3].line, 7u);
}

TEST(ConfigFile, NamesFileAndLineOfWhatItCannotRead) {
  EXPECT_NE(refusal("a = 1\nb = \n").find("/home/me/config.toml:2: not valid TOML"), std::string::npos);
  EXPECT_NE(refusal("[~check]\n").find("config.toml:1"), std::string::npos);
  EXPECT_NE(refusal("[check.deeper]\na = 1\n").find("deeper takes a string"), std::string::npos);
  EXPECT_NE(refusal("a = 2026-01-01\n").find("takes a string"), std::string::npos);
  EXPECT_NE(refusal("a = [true]\n").find("--no-config"), std::string::npos);
}

TEST(ConfigFile, ThatIsNotThereSaysNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_config(folder.path() / "config.toml").entries.empty());
  folder.write("config.toml", "cold = true\n");
  EXPECT_EQ(read_config(folder.path() / "config.toml").entries.size(), 1u);
  EXPECT_THROW(read_config(folder.path()), Error) << "a folder";
}

TEST(ConfigFile, StandsWhereTheEnvironmentSays) {
  setenv("XDG_CONFIG_HOME", "/config", 1);
  EXPECT_EQ(config_path(), "/config/regtune/config.toml");
  setenv("XDG_CONFIG_HOME", "relative", 1);
  setenv("HOME", "/home/me", 1);
  EXPECT_EQ(config_path(), "/home/me/.config/regtune/config.toml") << "relative paths are ignored";
  unsetenv("XDG_CONFIG_HOME");
  unsetenv("HOME");
  EXPECT_FALSE(config_path());
}

}  // namespace
}  // namespace regtune
