#include "terminal.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "progress.hpp"

namespace regtune {
namespace {

TEST(Terminal, CutsTextToColumnsAndNeverThroughALetter) {
  EXPECT_EQ(cut_to("registers", 20, true), "registers");
  EXPECT_EQ(cut_to("registers", 6, false), "reg...");
  EXPECT_EQ(cut_to("registers", 6, true), "regis\u2026");
  EXPECT_EQ(cut_to("\u2588\u2588\u2588\u2588", 3, true), "\u2588\u2588\u2026");
  EXPECT_EQ(columns_of("\u2588 50 %"), 6u);
  EXPECT_EQ(cut_to("abc", 0, false), "");
}

TEST(Terminal, KnowsUtf8ByTheFirstVariableThatSaysAnything) {
  setenv("LC_ALL", "", 1);
  setenv("LC_CTYPE", "C", 1);
  setenv("LANG", "de_DE.UTF-8", 1);
  EXPECT_FALSE(is_utf8_locale());
  unsetenv("LC_CTYPE");
  EXPECT_TRUE(is_utf8_locale());
  setenv("LC_ALL", "C.utf8", 1);
  setenv("LANG", "C", 1);
  EXPECT_TRUE(is_utf8_locale());
}

TEST(Terminal, AFileHasNoWidthAndNoColourUnlessToldSo) {
  const int nothing = -1;
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal_columns(nothing), 0);
  EXPECT_FALSE(shows_color(nothing));
  EXPECT_FALSE(redraws_lines(nothing));
  setenv("COLUMNS", "97", 1);
  EXPECT_EQ(terminal_columns(nothing), 97);
  setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(terminal_columns(nothing), 0);
  unsetenv("COLUMNS");
}

TEST(Terminal, BreaksLinesBelowWhatTheyBeginWith) {
  EXPECT_EQ(fitted("one two three", 9), "one two\n    three");
  EXPECT_EQ(fitted("one two three", 0), "one two three");
  EXPECT_EQ(fitted("ok  NVRTC  13.0 of here", 20), "ok  NVRTC  13.0 of\n    here") << "no half of the line is left";
  EXPECT_EQ(fitted("ok  NVRTC  13.0 of that folder", 24), "ok  NVRTC  13.0 of that\n           folder");
  EXPECT_EQ(fitted("    -> apt install it or not", 20), "    -> apt install\n       it or not");
}

TEST(Progress, SpellsAGuessedTimeShortly) {
  EXPECT_EQ(spell_duration(0.2), "1 s");
  EXPECT_EQ(spell_duration(42.4), "42 s");
  EXPECT_EQ(spell_duration(600), "10 min");
  EXPECT_EQ(spell_duration(9000), "2.5 h");
}

}  // namespace
}  // namespace regtune
