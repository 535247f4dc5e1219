#include "device_slice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "temporary_folder.hpp"

namespace regtune {
namespace {

DeviceSlice slice_of(const std::string& text, const std::vector<std::string>& folders = {}) {
  return DeviceSlice("k.cu", text, {folders, {}}, {}, {});
}

// The sliced text without the #line that it opens with.
std::string body_of(const DeviceSlice& slice) {
  const std::string text = slice.text();
  return text.substr(text.find('\n') + 1);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(DeviceSlice, LeavesOutWhatNoKernelNamesAndKeepsEveryLineInItsPlace) {
  const std::string text =
      "#include <iostream>\n"
      "float scale(float x) { return 2 * x; }\n"
      "std::vector<int> sizes = {1, 2};\n"
      "__global__ void k(float* a) { a[0] = scale(a[1]); }\n"
      "int main() {\n  k<<<1, 1>>>(nullptr);\n}\n";
  const DeviceSlice slice = slice_of(text);
  EXPECT_TRUE(slice.holds_host_code());
  const std::string body = body_of(slice);
  EXPECT_TRUE(holds(body, "float scale(float x) { return 2 * x; }"));
  EXPECT_TRUE(holds(body, "__global__ void k"));
  EXPECT_FALSE(holds(body, "main"));
  EXPECT_FALSE(holds(body, "<<<"));
  EXPECT_FALSE(holds(body, "sizes"));
  EXPECT_FALSE(holds(body, "iostream"));
  EXPECT_EQ(std::count(body.begin(), body.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(std::count(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(body.find("__global__")), '\n'), 3);
}

TEST(DeviceSlice, ATextOfTheDeviceAloneHoldsNoHostCode) {
  EXPECT_FALSE(slice_of("__device__ float f(float x) { return x; }\n__global__ void k(float* a) { a[0] = f(1); }\n")
                   .holds_host_code());
  EXPECT_TRUE(slice_of("__global__ void k(float* a) { a[0] = M_PI; }\n").holds_host_code());
}

TEST(DeviceSlice, FollowsNamesThroughMacrosTypesAndConstants) {
  const std::string body =
      body_of(slice_of("const int kWidth = 4;\nconst int kUnused = 5;\nstruct Pair { float x[kWidth]; };\n"
                       "#define MAKE(v) Pair v\n__global__ void k(float* a) { MAKE(p); a[0] = p.x[0]; }\n"));
  EXPECT_TRUE(holds(body, "kWidth = 4"));
  EXPECT_TRUE(holds(body, "struct Pair"));
  EXPECT_FALSE(holds(body, "kUnused"));
}

TEST(DeviceSlice, IsNotMisledByStringsCommentsAndRawStrings) {
  const std::string body = body_of(
      slice_of("const char* text = \"__global__ void no() {\";\n/* int main() { */\n"
               "const char* raw = R\"x(}}} main )\" )x\";\n// }\n__global__ void k(float* a) { a[0] = '}'; }\n"));
  EXPECT_TRUE(holds(body, "__global__ void k(float* a) { a[0] = '}'; }"));
  EXPECT_FALSE(holds(body, "raw"));
}

TEST(DeviceSlice, KeepsConditionsWhenWhatStandsBetweenThemGoes) {
  const std::string body = body_of(slice_of(
      "#ifdef A\nint main(int argc) {\n#else\nint main() {\n#endif\n  return 0;\n}\n__global__ void k() {}\n"));
  EXPECT_TRUE(holds(body, "#ifdef A"));
  EXPECT_TRUE(holds(body, "#else"));
  EXPECT_TRUE(holds(body, "#endif"));
  EXPECT_FALSE(holds(body, "main"));
  EXPECT_TRUE(holds(body, "__global__ void k() {}"));
}

TEST(DeviceSlice, AFunctionThatLaunchesIsTheHostsWhateverItIsCalled) {
  const std::string body =
      body_of(slice_of("__device__ int scale(int x) { return x; }\n__global__ void k(int* a) { a[0] = scale(1); }\n"
                       "void scale(int* a, int n) { k<<<1, n>>>(a); }\n"));
  EXPECT_TRUE(holds(body, "__device__ int scale"));
  EXPECT_FALSE(holds(body, "<<<"));
}

TEST(DeviceSlice, LooksIntoNamespacesAndBlocksOfExternC) {
  const std::string body =
      body_of(slice_of("namespace a { namespace {\nvoid host() { puts(\"\"); }\n__global__ void k() {}\n} }\n"
                       "extern \"C\" {\n__global__ void c() {}\nint main() { return 0; }\n}\n"));
  EXPECT_TRUE(holds(body, "namespace a { namespace {"));
  EXPECT_TRUE(holds(body, "__global__ void k() {}"));
  EXPECT_TRUE(holds(body, "__global__ void c() {}"));
  EXPECT_FALSE(holds(body, "host"));
  EXPECT_FALSE(holds(body, "main"));
}

TEST(DeviceSlice, AByteOrderMarkHidesNothing) {
  const std::string body =
      body_of(slice_of("\xEF\xBB\xBFnamespace n {\n__global__ void k(int* a) { a[0] = 1; }\n}\nint main() {}\n"));
  EXPECT_TRUE(body.starts_with("   namespace n {"));
  EXPECT_TRUE(holds(body, "__global__ void k"));
}

TEST(DeviceSlice, KernelsThatAMacroWritesStay) {
  const std::string body =
      body_of(slice_of("#define KERNEL(n) __global__ void n(float* a)\nKERNEL(k) { a[0] = 1; }\n"
                       "void host() {}\n"));
  EXPECT_TRUE(holds(body, "KERNEL(k) { a[0] = 1; }"));
  EXPECT_FALSE(holds(body, "host"));
}

TEST(DeviceSlice, PutsHeadersOfTheProjectInTheirPlacesOnce) {
  const TemporaryFolder folder;
  const std::filesystem::path header = folder.path() / "a.h";
  std::ofstream(header)
      << "#pragma once\n#include <vector>\nvoid host(std::vector<int>);\ninline int two() { return 2; }\n";
  const DeviceSlice slice(folder.path() / "k.cu",
                          "#include \"a.h\"\n#include \"a.h\"\n__global__ void k(int* a) { a[0] = two(); }\n", {{}, {}},
                          {}, {});
  const std::string text = slice.text();
  EXPECT_TRUE(holds(text, "inline int two()"));
  EXPECT_TRUE(holds(text, "#line 1 \"" + header.string() + "\""));
  EXPECT_TRUE(holds(text, "#ifndef REGTUNE_ONCE_"));
  EXPECT_FALSE(holds(text, "pragma once"));
  EXPECT_FALSE(holds(text, "host"));
  EXPECT_TRUE(holds(text, "#line 3 "));
}

TEST(DeviceSlice, TakesOutWhatIsComplainedAboutButNoKernel) {
  DeviceSlice slice = slice_of("__device__ void broken() { nothing(); }\n__global__ void k() { broken(); }\n");
  EXPECT_FALSE(slice.take_out({{"k.cu", 2, "identifier \"nothing\" is undefined"}}));
  EXPECT_TRUE(slice.take_out({{"k.cu", 1, "identifier \"nothing\" is undefined"}}));
  EXPECT_FALSE(slice.take_out({{"k.cu", 1, "again"}}));
  EXPECT_FALSE(slice.take_out({{"/usr/include/other.h", 1, "not ours"}}));
  EXPECT_FALSE(holds(slice.text(), "void broken"));
  ASSERT_EQ(slice.notes().size(), 1u);
  EXPECT_TRUE(holds(slice.notes().front(), "broken (line 1)")) << slice.notes().front();
}

TEST(DeviceSlice, TakesOutTheBodyOfAMemberFunctionAndKeepsItsClass) {
  DeviceSlice slice = slice_of(
      "struct S {\n  float x;\n  S() : x(0) {}\n  void print() const {\n    std::cout << x;\n  }\n};\n"
      "__global__ void k(S s, float* a) { a[0] = s.x; }\n");
  EXPECT_TRUE(slice.take_out({{"k.cu", 5, "namespace std has no member cout"}}));
  EXPECT_FALSE(holds(slice.text(), "cout"));
  EXPECT_TRUE(holds(slice.text(), "void print() const ;"));
  EXPECT_TRUE(holds(slice.text(), "float x;"));
}

TEST(DeviceSlice, FollowsTemplateArgumentsOfLaunchesToTheirCallers) {
  const DeviceSlice slice = slice_of(
      "template <int B, typename T> __global__ void k(T* a) { a[0] = B; }\n"
      "template <typename U> void run(U* a) {\n  const int threads = 128;\n  k<threads, U><<<1, threads>>>(a);\n}\n"
      "int main() { run<double>(nullptr); }\n");
  ASSERT_EQ(slice.instances().size(), 1u);
  EXPECT_EQ(slice.instances().front().name, "k<(128), double>");
  EXPECT_FALSE(slice.instances().front().is_guess);
}

TEST(DeviceSlice, GuessesWhatIsLeftToDeductionAndSaysSo) {
  DeviceSlice slice =
      slice_of("template <typename T> __global__ void k(T* a) { a[0] = 1; }\nint main() { k<<<1, 1>>>(some()); }\n");
  ASSERT_EQ(slice.instances().size(), 1u);
  EXPECT_EQ(slice.instances().front().name, "k<float>");
  EXPECT_TRUE(slice.instances().front().is_guess);
  const std::vector<std::string> notes = slice.notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) { return holds(note, "guess"); }));
  slice.refuse_instance("k");
  ASSERT_EQ(slice.instances().size(), 1u);
  EXPECT_EQ(slice.instances().front().name, "k<int>");
  for (int i = 0; i < 6; ++i) slice.refuse_instance("k");
  EXPECT_TRUE(slice.instances().empty());
}

std::vector<std::string> names_of(const DeviceSlice& slice) {
  std::vector<std::string> names;
  for (const LaunchedInstance& instance : slice.instances())
    names.push_back((instance.is_guess ? "guess: " : "") + instance.name);
  return names;
}
using Names = std::vector<std::string>;

TEST(DeviceSlice, FindsLaunchesThatStandInMacros) {
  EXPECT_EQ(names_of(slice_of("enum class Memory { shared, global };\n"
                              "template <typename T, Memory M> __global__ void k(T* a) { a[0] = 1; }\n"
                              "#define LAUNCH(M) \\\n  k<T, M><<<1, 1>>>(a)\n"
                              "#define CHOOSE(x) if (x) { LAUNCH(Memory::shared); } else { LAUNCH(Memory::global); }\n"
                              "template <typename T> void run(T* a) { CHOOSE(a != nullptr) }\n"
                              "int main() { run<short>(nullptr); }\n")),
            (Names{"k<short, Memory::global>", "k<short, Memory::shared>"}));
}

TEST(DeviceSlice, FindsConstantsWhereTheMacroOfADispatchDeclaresThem) {
  EXPECT_EQ(names_of(slice_of("template <typename T, int N> __global__ void k(T* a) { a[0] = N; }\n"
                              "#define DISPATCH(VALUE, NAME, ...) \\\n"
                              "  if (VALUE == 1) { constexpr int NAME = 1; return __VA_ARGS__(); } \\\n"
                              "  if (VALUE == 8) { constexpr int NAME = 8; return __VA_ARGS__(); }\n"
                              "template <typename T> void run(T* out, int n) {\n"
                              "  DISPATCH(n, N, [&] { k<T, N><<<1, 1>>>(out); })\n}\n"
                              "int main() { float *in, *out; run(out, 8); }\n")),
            (Names{"k<float, (1)>", "k<float, (8)>"}));
}

TEST(DeviceSlice, FindsTheInstancesThatAFileExports) {
  EXPECT_EQ(names_of(slice_of(
                "namespace a { namespace b {\n"
                "template <unsigned N, unsigned B> __global__ void k(int* x) { x[0] = N + B; }\n"
                "template <unsigned N> void run(int* x) { const unsigned block = 64; k<N, block><<<1, block>>>(x); }\n"
                "#define EXPORT(n) template void run<n>(int*);\n"
                "EXPORT(2)\nEXPORT(4)\n} }\n")),
            (Names{"a::b::k<2, (64)>", "a::b::k<4, (64)>"}));
}

TEST(DeviceSlice, FollowsLocalNamesToTypesAndKeepsThose) {
  const DeviceSlice slice = slice_of(
      "template <int N, typename T> struct Traits { static constexpr int size = N; using type = T; };\n"
      "template <typename Traits_> __global__ void k(typename Traits_::type* a) { a[0] = Traits_::size; }\n"
      "template <int N, typename T> void run(T* a) {\n  using Mine = Traits<N, T>;\n  k<Mine><<<1, "
      "Mine::size>>>(a);\n}\n"
      "int main() { run<32, float>(nullptr); }\n");
  EXPECT_EQ(names_of(slice), Names{"k<Traits<32, float>>"});
  EXPECT_TRUE(holds(body_of(slice), "struct Traits"));
}

TEST(DeviceSlice, DeducesArgumentsFromWhatALaunchIsGiven) {
  const std::string kernel =
      "template <typename T, typename I> __global__ void k(const T* __restrict__ a, T* b, I n) {}\n";
  EXPECT_EQ(
      names_of(slice_of(kernel + "int main() { double *x, *y; unsigned int n = 4; k<<<1, 1>>>(x + 1, y, n); }\n")),
      Names{"k<double, unsigned int>"});
  EXPECT_EQ(names_of(slice_of(kernel + "template <class U> void run(U* x) { k<<<1, 1>>>(x, &x[2], 3); }\n"
                                       "int main() { float* p = nullptr; run(p); }\n")),
            (Names{"k<float, int>"}));
  // What a text alone does not tell stays a guess.
  EXPECT_EQ(names_of(slice_of(kernel + "int main() { auto x = make(); k<<<1, 1>>>(x, x, 3); }\n")),
            Names{"guess: k<float, float>"});
}

TEST(DeviceSlice, GuessesAVectorWhereAKernelReadsItsParts) {
  const DeviceSlice slice = slice_of(
      "template <typename T> __global__ void k(T* a) { a[threadIdx.x].y = 1; }\n"
      "template <typename T> __global__ void s(T* a) { a[threadIdx.x] = blockIdx.y; }\nint main() {}\n");
  EXPECT_EQ(names_of(slice), (Names{"guess: k<float2>", "guess: s<float>"}));
}

TEST(DeviceSlice, ARefusedLaunchIsTriedAloneBeforeAnythingIsGuessed) {
  DeviceSlice slice = slice_of(
      "template <typename T> __global__ void k(T* a) { a[0] = 1; }\n"
      "int main() { k<half><<<1, 1>>>(nullptr); k<int><<<1, 1>>>(nullptr); }\n");
  EXPECT_EQ(names_of(slice), (Names{"k<half>", "k<int>"}));
  slice.refuse_instance("k");
  EXPECT_EQ(names_of(slice), Names{"k<half>"});
  slice.refuse_instance("k");
  EXPECT_EQ(names_of(slice), Names{"k<int>"});
  slice.refuse_instance("k");
  EXPECT_EQ(names_of(slice), Names{"guess: k<float>"});
}

TEST(DeviceSlice, LeavesNamespacesAloneThatNoKernelLeadsTo) {
  const std::string text =
      "namespace host { struct Map { int find(int x) { return table[x]; } }; int find(int x) { return x; } }\n"
      "__device__ int find(int x) { return x + 1; }\n"
      "namespace used { __device__ int twice(int x) { return 2 * x; } }\n"
      "struct Pair { float x; };\n__device__ Pair operator+(Pair a, Pair b) { return {a.x + b.x}; }\n"
      "__global__ void k(Pair* a) { a[0] = a[1] + a[find(used::twice(2))]; }\n";
  DeviceSlice slice = slice_of(text);
  const std::string body = body_of(slice);
  EXPECT_FALSE(holds(body, "struct Map"));
  EXPECT_FALSE(holds(body, "return x; }"));
  EXPECT_TRUE(holds(body, "__device__ int find"));
  EXPECT_TRUE(holds(body, "int twice"));
  EXPECT_TRUE(holds(body, "operator+"));
  EXPECT_FALSE(slice.bring_back({"absent"}));
  EXPECT_TRUE(slice.bring_back({"Map"}));
  EXPECT_TRUE(holds(body_of(slice), "struct Map"));
  EXPECT_FALSE(slice.bring_back({"Map"}));
}

TEST(DeviceSlice, WritesStatementExpressionsAsLambdasAndSaysSo) {
  const DeviceSlice slice = slice_of(
      "#define most(a, b) ({ float _a = (a); float _b = (b); _a > _b ? _a : _b; })\n"
      "__global__ void k(float* x) { x[0] = most(x[1], x[2]); x[3] = ({ int i = 1; f({1, 2}); x[i]; }); }\n");
  EXPECT_TRUE(slice.holds_host_code());
  const std::string body = body_of(slice);
  EXPECT_TRUE(holds(body, "([&]{ float _a = (a); float _b = (b); return _a > _b ? _a : _b; }())")) << body;
  EXPECT_TRUE(holds(body, "([&]{ int i = 1; f({1, 2}); return x[i]; }())")) << body;
  ASSERT_FALSE(slice.notes().empty());
  EXPECT_TRUE(holds(slice.notes().front(), "statement expressions"));
}

TEST(DeviceSlice, KeepsOperatorsThatAMacroMarksForTheDevice) {
  const std::string body =
      body_of(slice_of("#define DEV __device__ __forceinline__\n"
                       "DEV uint2 operator^(uint2 a, uint2 b) { return b; }\n"
                       "bool operator==(Host a, Host b) { return true; }\n"
                       "__global__ void k(uint2* a) { a[0] = a[1] ^ a[2]; }\n"));
  EXPECT_TRUE(holds(body, "operator^"));
  EXPECT_FALSE(holds(body, "operator=="));
}

TEST(DeviceSlice, SaysTheLineAgainBehindABranchThatHoldsAHeader) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "two.h") << "int one_line;\nint another;\n__device__ int in_header;\n";
  const std::string body =
      body_of(slice_of("#if 0\n#include \"two.h\"\n#else\n__device__ int mine;\n#endif\n"
                       "__global__ void k(int* a) { a[0] = mine; }\n",
                       {folder.path()}));
  EXPECT_TRUE(holds(body, "#else\n#line 4 \"k.cu\"\n__device__ int mine;")) << body;
  EXPECT_TRUE(holds(body, "#endif\n#line 6 \"k.cu\"\n__global__")) << body;
}

TEST(DeviceSlice, AMembersComplaintsDoNotTakeItsClassAlong) {
  DeviceSlice slice = slice_of(
      "struct S {\n  int size;\n  void host() {\n    one();\n    two();\n  }\n};\n"
      "__global__ void k(S s, int* a) { a[0] = s.size; }\n");
  EXPECT_TRUE(slice.take_out({{"k.cu", 4, "error"}, {"k.cu", 5, "error"}}));
  EXPECT_TRUE(holds(body_of(slice), "struct S {\n  int size;\n  void host() ;"));
}

TEST(DeviceSlice, KeepsTheBodyThatStandsInTheOtherBranchOfADeclaration) {
  const std::string body =
      body_of(slice_of("__global__ void k(int* a)\n#ifdef DECLARED\n;\n#else\n{ a[0] = 1; }\n#endif\n"
                       "int main() { return 0; }\n"));
  EXPECT_TRUE(holds(body, "{ a[0] = 1; }"));
  EXPECT_FALSE(holds(body, "main"));
}

TEST(DeviceSlice, AnyBytesEndInSomeText) {
  for (const std::string& text :
       {std::string("{{{{"), std::string("}}}}"), std::string("template <"), std::string(")("), std::string("#include"),
        std::string("operator"), std::string("("), std::string("<"), std::string("class"), std::string("__global__"),
        std::string("struct {"), std::string("k<1><<<"), std::string("\"", 1), std::string("a::b<c<"),
        std::string("template<class T> __global__ void k("), std::string("#define f(x) f(f(x)\nf(f(1"),
        std::string("({;})({"), std::string("namespace {{ template <class T> k<<<(((")}) {
    const DeviceSlice slice = slice_of(text);
    EXPECT_FALSE(slice.text().empty());
    EXPECT_TRUE(slice.instances().empty());
  }
}

}  // namespace
}  // namespace regtune
