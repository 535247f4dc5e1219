#include "markup.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

TEST(Markup, EscapesWhatMeansSomethingToAPage) {
  EXPECT_EQ(escape_markup("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape_markup("</script><script>alert(1)</script>"),
            "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
  EXPECT_EQ(escape_markup("\u00b5s \u4e2d \U0001f600"), "\u00b5s \u4e2d \U0001f600");
}

TEST(Markup, ReplacesWhatIsNoTextOrTurnsIt) {
  const std::string replaced = "\ufffd";
  EXPECT_EQ(escape_markup(std::string("a\0b", 3)), "a" + replaced + "b");
  EXPECT_EQ(escape_markup("\x1b[31m"), replaced + "[31m");
  EXPECT_EQ(escape_markup("a\xffz"), "a" + replaced + "z");
  EXPECT_EQ(escape_markup("\xc0\x80"), replaced + replaced) << "an overlong form";
  EXPECT_EQ(escape_markup("\xed\xa0\x80"), replaced + replaced + replaced) << "a surrogate";
  EXPECT_EQ(escape_markup("\xe2\x82"), replaced + replaced) << "cut off";
  EXPECT_EQ(escape_markup("a\u202ebc"), "a" + replaced + "bc") << "right-to-left override";
  EXPECT_EQ(escape_markup("\xef\xbf\xbf"), replaced) << "U+FFFF is no character of XML";
  EXPECT_EQ(escape_markup("a\tb\nc"), "a\tb\nc");
}

TEST(Markup, ShortensByCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab\u2026");
  EXPECT_EQ(shortened("\u00e9\u00e9\u00e9\u00e9", 3), "\u00e9\u00e9\u2026");
  EXPECT_EQ(shortened("", 3), "");
  EXPECT_EQ(characters_of("a\u00e9\u4e2d"), 3u);
  EXPECT_EQ(characters_of(shortened(std::string(10000, 'x'), 80)), 80u);
}

}  // namespace
}  // namespace regtune
