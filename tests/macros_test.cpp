#include "macros.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

using Options = std::vector<std::string>;

TEST(Macros, ValuesReplaceTheTextsOwnAndKeepItsLines) {
  EXPECT_EQ(with_macros("#ifndef U\n# define U 1 // one\n#endif\nint u = U;\n", {{"U", "4"}}),
            "#ifndef U\n#define U 4\n#endif\nint u = U;\n");
  EXPECT_EQ(with_macros("#define U 1 + \\\n  2\nU\n", {{"U", "4"}}), "#define U 4\n\nU\n");
  EXPECT_EQ(with_macros("#if A\n#define U 1\n#else\n#define U 2\n#endif\n", {{"U", "4"}}),
            "#if A\n#define U 4\n#else\n#define U 4\n#endif\n");
}

TEST(Macros, OnlyThoseMeantAreReplaced) {
  const std::string text = "#define UX 1\n#define U(a) a\n// #define U 3\n\"#define U 3\"\n#undef U\n#define\n";
  EXPECT_EQ(with_macros(text, {{"U", "4"}}), text);
  EXPECT_EQ(with_macros(text, {}), text);
}

TEST(Macros, WhatTheTextDoesNotDefineStandsInFront) {
  EXPECT_EQ(missing_macros("#define U 1\n", {{"U", "4"}, {"V", "float4"}}), "#define V float4\n");
  EXPECT_EQ(missing_macros("#define U 1\n", {}), "");
}

TEST(Macros, OptionsThatDefineThemAreLeftOut) {
  for (const Options& given : {Options{"-a", "-DU=1", "-DUX=1"},
                               {"-a", "-DU", "-DUX=1"},
                               {"-a", "-D", "U=1", "-DUX=1"},
                               {"-a", "-D=U=1", "-DUX=1"},
                               {"-a", "--define-macro=U=1", "-DUX=1"},
                               {"-a", "--define-macro", "U=1", "-DUX=1"},
                               {"-a", "-UU", "-DUX=1"},
                               {"-a", "--undefine-macro=U", "-DUX=1"}})
    EXPECT_EQ(without_macros(given, {{"U", "4"}}), (Options{"-a", "-DUX=1"})) << given[1];
  EXPECT_EQ(without_macros({"-DU=1", "-D"}, {}), (Options{"-DU=1", "-D"}));
  EXPECT_EQ(without_macros({"-D"}, {{"U", "4"}}), Options{"-D"});
}

TEST(Macros, TheAuthorsValueIsTheOptionsOrElseTheTexts) {
  const std::string text = "#ifndef U\n#define U 2  // two\n#endif\n#define E\n";
  EXPECT_EQ(author_value(text, {}, "U"), "2");
  EXPECT_EQ(author_value(text, {}, "E"), "");
  EXPECT_EQ(author_value(text, {"-DU=8", "-DU=16"}, "U"), "16");
  EXPECT_EQ(author_value(text, {"-DU"}, "U"), "1");
  EXPECT_EQ(author_value(text, {"-DU=8", "-UU"}, "U"), "2");
  EXPECT_EQ(author_value(text, {}, "V"), std::nullopt);
  EXPECT_EQ(author_value("#if A\n#define U 1\n#else\n#define U 2\n#endif\n", {}, "U"), std::nullopt) << "two ways";
  EXPECT_EQ(author_value("#define U ( 1+2 )\n", {}, "U"), plain_value("(1 + 2)"));
}

TEST(Macros, AreDefinedByTheTextOrByAnOption) {
  EXPECT_TRUE(defines_macro("#ifndef U\n#define U 2\n#endif\n", {}, "U"));
  EXPECT_TRUE(defines_macro("", {"--define-macro", "U=3"}, "U"));
  EXPECT_TRUE(defines_macro("#if 0\n#define U 1\n#else\n#define U 2\n#endif\n", {}, "U")) << "to whatever value";
  EXPECT_FALSE(defines_macro("// #define U 2\nint U;\n", {"-DV=U"}, "U"));
}

}  // namespace
}  // namespace regtune
