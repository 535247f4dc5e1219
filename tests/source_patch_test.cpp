// Budgets written into an author's text, and the diff that says so, applied by patch(1).
#include "source_patch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "regtune/error.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

SourceBudget bounds(const std::string& kernel, RegisterPolicy policy = LaunchBounds{256, 4}) {
  return {kernel + "(float*)", kernel, policy, false, {}};
}

std::string refusal(const std::string& text, const SourceBudget& budget) {
  try {
    const std::string written = with_budget(text, budget);
    ADD_FAILURE() << "written: " << written;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::no_kernel);
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(SourcePatch, PutsABoundBehindVoid) {
  EXPECT_EQ(with_budget("__global__ void f(float* p) {}\n", bounds("f")),
            "__global__ void __launch_bounds__(256, 4) f(float* p) {}\n");
  EXPECT_EQ(with_budget("extern \"C\" __global__ void f(float* p) {}\n", bounds("f", MaxRegisters{64})),
            "extern \"C\" __global__ void __maxnreg__(64) f(float* p) {}\n");
  EXPECT_EQ(with_budget("template <class T = void>\nstatic void __global__\nf(T* p) {}\n", bounds("f")),
            "template <class T = void>\nstatic void __global__ __launch_bounds__(256, 4)\nf(T* p) {}\n");
  EXPECT_EQ(with_budget("__global__ std::enable_if_t<B, void> f(float* p) {}\n", bounds("f")),
            "__global__ __launch_bounds__(256, 4) std::enable_if_t<B, void> f(float* p) {}\n");
}

TEST(SourcePatch, ReplacesTheBoundThatStandsThere) {
  EXPECT_EQ(with_budget("__global__ __launch_bounds__(128) void f(float* p) {}\n", bounds("f")),
            "__global__ __launch_bounds__(256, 4) void f(float* p) {}\n");
  EXPECT_EQ(with_budget("__global__ void __launch_bounds__(kThreads,\n    kBlocks) f(float* p) {}\n", bounds("f")),
            "__global__ void __launch_bounds__(256, 4)\n f(float* p) {}\n")
      << "every line keeps its number";
  EXPECT_EQ(with_budget("__global__ void __maxnreg__(32) f(float* p) {}\n", bounds("f")),
            "__global__ void __launch_bounds__(256, 4) f(float* p) {}\n");
  EXPECT_EQ(with_budget("__launch_bounds__(128)\n__global__ void f(float* p) {}\n", bounds("f")),
            "__launch_bounds__(256, 4)\n__global__ void f(float* p) {}\n")
      << "an attribute on a line of its own, in front";
}

TEST(SourcePatch, WritesTheStatementForSpillingBehindTheBrace) {
  const std::string statement = "asm volatile(\".pragma \\\"enable_smem_spilling\\\";\");";
  SourceBudget budget = bounds("f");
  budget.spills_to_shared = true;
  EXPECT_EQ(with_budget("__global__ void f(float* p);\n__global__ void f(float* p) {\n  p[0] = 1;\n}\n", budget),
            "__global__ void f(float* p);\n__global__ void __launch_bounds__(256, 4) f(float* p) { " + statement +
                "\n  p[0] = 1;\n}\n")
      << "and not into a declaration";
  EXPECT_EQ(with_budget("__global__ void __launch_bounds__(128)\nf(float* p)\n{ p[0] = 1; }\n", budget),
            "__global__ void __launch_bounds__(256, 4)\nf(float* p)\n{ " + statement + " p[0] = 1; }\n");
  EXPECT_TRUE(holds(refusal("#define K __global__ void f(float* p)\nK {}\n", budget),
                    "write __launch_bounds__(256, 4) in front of its name, and " + statement +
                        " as the first statement of its body"));
}

TEST(SourcePatch, TakesABoundOutAndLeavesItsLine) {
  EXPECT_EQ(with_budget("__global__ void __launch_bounds__(128) f(float* p) {}\n", bounds("f", CompilerDefault{})),
            "__global__ void f(float* p) {}\n");
  EXPECT_EQ(with_budget("__global__ void\n  __launch_bounds__(128)\nf(float* p) {}\n", bounds("f", CompilerDefault{})),
            "__global__ void\n\nf(float* p) {}\n");
  EXPECT_EQ(with_budget("__global__ __launch_bounds__(128)void f(float* p) {}\n", bounds("f", CompilerDefault{})),
            "__global__ void f(float* p) {}\n");
}

TEST(SourcePatch, KeepsTheBlocksOfACluster) {
  const std::string text = "__global__ void __launch_bounds__(128, 1, 2) f(float* p) {}\n";
  EXPECT_TRUE(holds(with_budget(text, bounds("f")), "__launch_bounds__(256, 4, 2) f"));
  EXPECT_TRUE(holds(with_budget(text, bounds("f", CompilerDefault{})), "__launch_bounds__(0, 0, 2) f"));
  EXPECT_TRUE(holds(with_budget(text, bounds("f", MaxRegisters{64})), "void __maxnreg__(64) f"));
}

TEST(SourcePatch, TouchesThatKernelOnly) {
  const std::string text =
      "// f(float*) __launch_bounds__(1)\n__global__ void f(float* p);\n__global__ void g(float* p) {}\n"
      "__device__ void h() { const char* s = \"__global__ void f()\"; }\n__global__ void f(float* p) { h(); }\n";
  const std::string changed = with_budget(text, bounds("f"));
  EXPECT_EQ(changed, text.substr(0, text.rfind("f(float* p) {")) + "__launch_bounds__(256, 4) f(float* p) { h(); }\n");
  EXPECT_TRUE(holds(with_budget(changed, bounds("g", LaunchBounds{128, 0})), "void __launch_bounds__(128) g("));
}

TEST(SourcePatch, WritesTheValuesOfTunedMacros) {
  SourceBudget budget = bounds("f");
  budget.macros = {{"UNROLL", "4"}};
  EXPECT_EQ(with_budget("#define UNROLL 2  // times\n__global__ void f(float* p) {}\n", budget).substr(0, 16),
            "#define UNROLL 4");
  EXPECT_TRUE(holds(refusal("__global__ void f(float* p) {}\n", budget), "UNROLL=4"));
}

TEST(SourcePatch, WritesBothSidesOfACondition) {
  const std::string text = "#if A\n__global__ void f(float* p) {}\n#else\n__global__ void f(float* p) { }\n#endif\n";
  const std::string changed = with_budget(text, bounds("f"));
  const auto first = changed.find("__launch_bounds__");
  EXPECT_NE(changed.find("__launch_bounds__", first + 1), std::string::npos) << changed;
}

TEST(SourcePatch, RefusesWhatItCannotSee) {
  EXPECT_TRUE(holds(refusal("#define K(n) __global__ void n(float* p)\nK(f) {}\n", bounds("f")), "a macro makes its"));
  EXPECT_TRUE(holds(refusal("#include \"f.cuh\"\n", bounds("f")), "a header holds it"));
  EXPECT_TRUE(holds(refusal("#include \"f.cuh\"\n", bounds("f")), "write __launch_bounds__(256, 4) in front"));
  EXPECT_TRUE(holds(refusal("__global__ void f(float* p) {}\n__global__ void f(int n) {}\n", bounds("f")),
                    "several kernels of that name"));
  SourceBudget hidden = bounds("f");
  hidden.author_has_bounds = true;
  EXPECT_TRUE(holds(refusal("#define B __launch_bounds__(64)\n__global__ void B f(float* p) {}\n", hidden),
                    "a macro of the file makes its bound"));
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What patch(1), or git apply, makes of `before`.
std::string patched(const std::string& before, const std::string& after, const std::string& command) {
  const TemporaryFolder folder;
  folder.write("src/k.cu", before);
  folder.write("k.patch", unified_diff(before, after, "src/k.cu"));
  const std::string line = "cd '" + folder.path().string() + "' && " + command + " k.patch >log 2>&1 </dev/null";
  EXPECT_EQ(std::system(line.c_str()), 0) << text_of(folder.path() / "log") << text_of(folder.path() / "k.patch");
  return text_of(folder.path() / "src/k.cu");
}

TEST(SourcePatch, DiffsApply) {
  std::string text = "first\r\n";
  for (int i = 0; i < 40; ++i) text += "line " + std::to_string(i) + "\n";
  text += "no end";
  std::vector<std::string> afters;
  for (const std::vector<int>& changed :
       std::vector<std::vector<int>>{{0}, {5}, {5, 6, 9}, {5, 12}, {5, 13, 30}, {39}, {0, 1, 2, 3, 38, 39}}) {
    std::string after = text;
    for (const int line : changed) {
      const std::string mark = "line " + std::to_string(line) + "\n";
      after.insert(after.find(mark) + mark.size() - 1, " more");
    }
    afters.push_back(after);
  }
  afters.push_back(text + " at all");
  afters.push_back("F" + text.substr(1));
  for (const std::string& after : afters) {
    EXPECT_EQ(patched(text, after, "patch --binary -p1 -i"), after);
    EXPECT_EQ(patched(text, after, "git apply --whitespace=nowarn"), after);
  }
  EXPECT_EQ(unified_diff(text, text, "k.cu"), "");
}

}  // namespace
}  // namespace regtune
