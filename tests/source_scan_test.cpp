#include "source_scan.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace regtune {
namespace {

std::vector<std::string> spellings(std::string_view text, TokenKind kind) {
  std::vector<std::string> found;
  for (const Token& token : tokenize(text)) {
    if (token.kind == kind) found.push_back(spelling(text, token));
  }
  return found;
}

using Strings = std::vector<std::string>;

Strings names(std::string_view text) {
  Strings found;
  for (const ScannedKernel& kernel : scan_kernels(text)) found.push_back(kernel.name);
  return found;
}

// "name:type" of each parameter of the only kernel.
Strings parameters(std::string_view text) {
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  EXPECT_EQ(kernels.size(), 1U) << text;
  Strings found;
  if (kernels.empty()) return found;
  for (const ScannedParameter& parameter : kernels[0].parameters)
    found.push_back(parameter.name + ":" + parameter.type);
  return found;
}

TEST(SourceScan, SplitsCommentsStringsAndDirectives) {
  const std::string text =
      "#define A \"x//\" /* two\nlines */ tail\n"
      "int a = 1'000'000; // one \\\n still one\n"
      "char c = '\\''; const char* s = u8\"a\\\"b\"; /* \" ' */\n";
  EXPECT_EQ(spellings(text, TokenKind::directive), Strings{"#define A \"x//\" /* two\nlines */ tail"});
  EXPECT_EQ(spellings(text, TokenKind::number), Strings{"1'000'000"});
  EXPECT_EQ(spellings(text, TokenKind::comment), (Strings{"// one  still one", "/* \" ' */"}));
  EXPECT_EQ(spellings(text, TokenKind::character), Strings{"'\\''"});
  EXPECT_EQ(spellings(text, TokenKind::string), Strings{"u8\"a\\\"b\""});
}

TEST(SourceScan, ReadsRawStringsToTheirOwnDelimiter) {
  const std::string text = "auto a = R\"x(one )\" two \" // )y\" )x\" + LR\"()\"; int b;";
  EXPECT_EQ(spellings(text, TokenKind::string), (Strings{"R\"x(one )\" two \" // )y\" )x\"", "LR\"()\""}));
  EXPECT_EQ(spellings(text, TokenKind::identifier), (Strings{"auto", "a", "int", "b"}));
}

TEST(SourceScan, ReadsNumbersWithExponentsAndSuffixes) {
  EXPECT_EQ(spellings("1.5e-3f 0x1p+4 .5 0xFFu 1-2", TokenKind::number),
            (Strings{"1.5e-3f", "0x1p+4", ".5", "0xFFu", "1", "2"}));
}

TEST(SourceScan, JoinsLinesThatEndInABackslash) {
  const std::string text = "__glo\\\nbal__ void ke\\\r\nrnel(int a);";
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "kernel");
}

TEST(SourceScan, CountsLinesAndKeepsPositions) {
  const std::string text = "// one\n/* two\nthree */ #define X\n\n  __global__ void k(int n) {\n}\n";
  const std::vector<Token> tokens = tokenize(text);
  ASSERT_GE(tokens.size(), 4U);
  EXPECT_EQ(tokens[1].line, 2);
  EXPECT_EQ(tokens[2].kind, TokenKind::directive);  // a comment may stand before the #
  EXPECT_EQ(tokens[2].line, 3);
  EXPECT_EQ(tokens[3].line, 5);
  EXPECT_EQ(text.substr(tokens[3].offset, tokens[3].length), "__global__");
  const ScannedKernel kernel = scan_kernels(text).at(0);
  EXPECT_EQ(kernel.line, 5);
  EXPECT_EQ(text.substr(kernel.begin, kernel.end - kernel.begin), "__global__ void k(int n)");
}

TEST(SourceScan, FindsNoKernelInCommentsStringsAndMacros) {
  EXPECT_EQ(
      names("// __global__ void a(int);\n/* __global__ void b(int); */ const char* s = \"__global__ void c();\";\n"
            "auto r = R\"(__global__ void d();)\";\n#define K __global__ void e(int)\nvoid host(int);"),
      Strings{});
}

TEST(SourceScan, NamesParametersOfEveryForm) {
  EXPECT_EQ(
      parameters("__global__ void k(const float* __restrict__ in, float *out, unsigned long n = 1 << 4, float4 v)"),
      (Strings{"in:const float *", "out:float *", "n:unsigned long", "v:float4"}));
  EXPECT_EQ(parameters("__global__ void k(float const*, unsigned int, ns::T, struct P, const T)"),
            (Strings{":float const *", ":unsigned int", ":ns::T", ":struct P", ":const T"}));
  EXPECT_EQ(
      parameters("__global__ void k(std::array<Pair<int, 4>, (3 > 2)> a, float b[4], void (*f)(int, int), Ts... rest)"),
      (Strings{"a:std::array<Pair<int, 4>, (3>2)>", "b:float *", "f:void(*)(int, int)", "rest:Ts..."}));
  EXPECT_EQ(parameters("__global__ void k(const __grid_constant__ P p, [[maybe_unused]] int i, decltype(x) d)"),
            (Strings{"p:const P", "i:int", "d:decltype(x)"}));
  EXPECT_EQ(parameters("__global__ void k(int a, /* , int hidden */ int b // , int c\n)"), (Strings{"a:int", "b:int"}));
  EXPECT_EQ(parameters("__global__ void k(void) {}"), Strings{});
  EXPECT_EQ(parameters("__global__ void k() {}"), Strings{});
}

TEST(SourceScan, ReadsBoundsInEveryPosition) {
  for (const char* text : {"__global__ void __launch_bounds__(256, 5) k(int n) {}",
                           "__global__ __launch_bounds__( 256,5 ) void k(int n) {}",
                           "__launch_bounds__(256, 5) __global__ void k(int n) {}",
                           "template <int T> static __global__ void __launch_bounds__(256, 5) k(int n);",
                           "__global__ void k(int n) __launch_bounds__(256, 5);"}) {
    const std::vector<ScannedKernel> kernels = scan_kernels(text);
    ASSERT_EQ(kernels.size(), 1U) << text;
    EXPECT_EQ(kernels[0].name, "k") << text;
    EXPECT_EQ(kernels[0].launch_bounds, "256, 5") << text;
    EXPECT_EQ(kernels[0].parameters.size(), 1U) << text;
  }
  const ScannedKernel kernel =
      scan_kernels("__global__ void __maxnreg__(N + 8) __block_size__((128, 1, 1), (2, 1, 1)) k() {}").at(0);
  EXPECT_EQ(kernel.max_registers, "N+8");
  EXPECT_EQ(kernel.block_size, "(128, 1, 1), (2, 1, 1)");
  EXPECT_EQ(kernel.launch_bounds, "");
}

TEST(SourceScan, LeavesUnknownMacrosAlone) {
  EXPECT_EQ(names("__global__ void MY_BOUNDS(256, 2) k(int n) {}"), Strings{"k"});
  EXPECT_EQ(names("__global__ MY_BOUNDS(T * 2) void k(int n) {}"), Strings{"k"});
  EXPECT_EQ(names("__global__ void k(int n) MY_BOUNDS(256) {}"), Strings{"k"});
  EXPECT_EQ(names("__global__ void k(PARAMETERS) NOEXCEPT {}"), Strings{"k"});
  EXPECT_EQ(names("__global__ void __attribute__((used)) k(int n) {}"), Strings{"k"});
  EXPECT_EQ(names("__global__ void NAME(k, f32)(int n) {}"), Strings{"NAME(k, f32)"});
}

TEST(SourceScan, TellsTemplatesLinkageAndDefinitions) {
  const std::string text =
      "extern \"C\" { __global__ void a(int); namespace n { __global__ void b(int) { if (1) {} } } }\n"
      "extern \"C\" __global__ void c(int);\n"
      "template <int T, typename F = Vec<int>> __global__ void d(F* x) {}\n"
      "template <> __global__ void d<4, float>(float* x) {}\n"
      "__global__ void e(int);\n";
  const std::vector<ScannedKernel> kernels = scan_kernels(text);
  ASSERT_EQ(kernels.size(), 6U);
  const Strings expected = {"a", "b", "c", "d", "d", "e"};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].name, expected[i]);
    EXPECT_EQ(kernels[i].is_extern_c, i < 3) << kernels[i].name;
    EXPECT_EQ(kernels[i].is_template, i == 3 || i == 4) << kernels[i].name;
    EXPECT_EQ(kernels[i].is_definition, i == 1 || i == 3 || i == 4) << kernels[i].name;
  }
}

TEST(SourceScan, SurvivesUnfinishedText) {
  for (const char* text :
       {"__global__", "__global__ void", "__global__ void k", "__global__ void k(", "__global__ void k(int",
        "__global__ void k(int a,", "__global__ void __launch_bounds__(", "R\"", "R\"(", "'", "\"\\", "/*", "//\\", "#",
        "\\", "1'", "__global__ k)(", "__global__ void k<(>)", "template<__global__"}) {
    scan_kernels(text);
    std::size_t end = 0;
    for (const Token& token : tokenize(text)) {
      EXPECT_GE(token.offset, end) << text;
      end = token.offset + token.length;
    }
    EXPECT_LE(end, std::string_view(text).size()) << text;
  }
}

// Each of these made a naive scanner quadratic: what one kernel's search reads, the next reads again.
TEST(SourceScan, TakesLinearTimeOnHostileText) {
  for (const char* unit : {"__global__ ", "__global__ k(", "a<", "(", "__launch_bounds__(", "R\"(", "{",
                           "extern \"C\" {", "__global__ void k(a<", "\\\n", "/", "template<", "f(a) b "}) {
    std::string text = "__global__ void ";
    while (text.size() < 2'000'000) text += unit;
    // The processor's time: a busy machine is no slow scanner.
    const std::clock_t start = std::clock();
    scan_kernels(text);
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5.0) << unit;
  }
}

// Mutates real text; run for longer with REGTUNE_FUZZ_SECONDS under a sanitizer.
TEST(SourceScan, SurvivesMutatedText) {
  const std::string seed =
      "#define N 4 /* c */\nextern \"C\" { namespace a { template <int T, class F = V<int>> __launch_bounds__(T, 2) "
      "__global__ "
      "void\nk<3>(const float *__restrict__ x, V<int, (4 > 2)>& v = {1, 2}, void (*f)(int), char c[N] = R\"x(a)x\", "
      "Ts... t) "
      "noexcept { x['\\''] = 1'000.5e+3f; } } } // end \\\n more\n__global__ void MACRO(1) NAME(b)(int, float4 [[q]] "
      "z);\n";
  const std::string pieces = "(){}[]<>;,\"'\\\n#/*R_= :";
  const char* asked = std::getenv("REGTUNE_FUZZ_SECONDS");
  const std::chrono::duration<double> budget(asked != nullptr ? std::atof(asked) : 0.5);
  std::mt19937 random(7);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < budget) {
    std::string text = seed;
    for (auto edits = 1 + random() % 12; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = pieces[random() % pieces.size()];
          break;
        case 1:
          text[at] = static_cast<char>(random());
          break;
        case 2:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
      }
      if (text.empty()) text = "x";
    }
    std::size_t end = 0;
    for (const Token& token : tokenize(text)) {
      ASSERT_GE(token.offset, end) << text;
      ASSERT_GT(token.length, 0U) << text;
      end = token.offset + token.length;
    }
    ASSERT_LE(end, text.size()) << text;
    for (const ScannedKernel& kernel : scan_kernels(text)) {
      ASSERT_LE(kernel.end, text.size()) << text;
      ASSERT_LT(kernel.begin, kernel.end) << text;
    }
  }
}

}  // namespace
}  // namespace regtune
