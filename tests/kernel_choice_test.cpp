#include "kernel_choice.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

Cubin cubin_with(const std::vector<std::string>& names) {
  Cubin cubin;
  cubin.sm = 90;
  for (const std::string& name : names) {
    CubinKernel kernel;
    kernel.name = name;
    cubin.kernels.push_back(kernel);
  }
  return cubin;
}

const std::string kDecay = "_Z9decayWidePKfPfm";         // decayWide(const float*, float*, unsigned long)
const std::string kSaxpy = "_Z5saxpyPKfPff";             // saxpy(const float*, float*, float)
const std::string kNested = "_ZN2ns5saxpyEPKfPff";       // ns::saxpy(const float*, float*, float)
const std::string kTemplate128 = "_Z5sgemmILi128EEvPf";  // void sgemm<128>(float*)
const std::string kTemplate64 = "_Z5sgemmILi64EEvPf";

std::string chosen(const std::vector<std::string>& names, const std::optional<std::string>& wanted,
                   const std::string& lowered_name = "") {
  return choose_kernel(cubin_with(names), "", "k.cu", wanted, lowered_name).mangled_name;
}

Error refusal(const std::vector<std::string>& names, const std::optional<std::string>& wanted,
              const std::string& source = "", const std::string& lowered_name = "") {
  try {
    choose_kernel(cubin_with(names), source, "k.cu", wanted, lowered_name);
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("k.cu: ", 0), 0u) << error.what();
    return error;
  }
  ADD_FAILURE() << "a kernel was chosen";
  return Error(ErrorKind::internal, "");
}

bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST(KernelChoice, TheOnlyKernelNeedsNoName) {
  EXPECT_EQ(chosen({kDecay}, {}), kDecay);
  EXPECT_EQ(choose_kernel(cubin_with({kDecay}), "", "k.cu", {}, "").display,
            "decayWide(const float*, float*, unsigned long)");
}

TEST(KernelChoice, AKernelAnswersToItsNames) {
  EXPECT_EQ(chosen({kDecay, kSaxpy}, "saxpy"), kSaxpy);
  EXPECT_EQ(chosen({kDecay, kSaxpy}, kSaxpy), kSaxpy) << "the mangled name";
  EXPECT_EQ(chosen({kDecay, kNested}, "ns::saxpy"), kNested);
  EXPECT_EQ(chosen({kTemplate128, kTemplate64}, "sgemm<64>"), kTemplate64);
  EXPECT_EQ(chosen({kTemplate128, kTemplate64}, "sgemm< 64 >"), kTemplate64);
}

TEST(KernelChoice, TheCompilersNameOfATemplateIdIsTheLastWord) {
  // The user's spelling of a template-id need not be the demangler's.
  EXPECT_EQ(chosen({kTemplate128, kTemplate64}, "sgemm<(1<<6)>", kTemplate64), kTemplate64);
  const Error missing = refusal({kTemplate128}, "sgemm<64>", "", kTemplate64);
  EXPECT_EQ(missing.kind(), ErrorKind::no_kernel);
  EXPECT_TRUE(says(missing, "'sgemm<64>'")) << missing.what();
}

TEST(KernelChoice, SaysWhyATextHasNoKernel) {
  const Error off = refusal({}, {}, "#ifdef GPU\n__global__ void k(int* a) { a[0] = 1; }\n#endif\n");
  EXPECT_TRUE(says(off, "an #if leaves out k (line 2)")) << off.what();
  const Error elsewhere = refusal({}, {}, "__global__ void k(int* a);\n");
  EXPECT_TRUE(says(elsewhere, "k (line 1) is declared here and has its body in another file")) << elsewhere.what();
  const Error sliced = refusal({}, {}, "#define A\n#line 1 \"k.cu\"\n\n\n#line 40 \"k.cu\"\n__global__ void k();\n");
  EXPECT_TRUE(says(sliced, "k (line 40)")) << sliced.what() << ": the author's line";
  EXPECT_TRUE(says(refusal({}, {}, "int main() {}\n"), "is this the right file?"));
}

TEST(KernelChoice, SeveralAreListedAndNoneIsGuessed) {
  const Error error = refusal({kDecay, kSaxpy}, {});
  EXPECT_EQ(error.kind(), ErrorKind::several_kernels);
  EXPECT_TRUE(says(error, "2 kernels and none is named"));
  EXPECT_TRUE(says(error, "--kernel NAME"));
  EXPECT_TRUE(says(error, "\n  decayWide(const float*, float*, unsigned long)")) << error.what();
  EXPECT_TRUE(says(error, "\n  saxpy(const float*, float*, float)")) << error.what();
}

TEST(KernelChoice, ANameThatSeveralAnswerToIsNotEnough) {
  const Error error = refusal({kDecay, kTemplate128, kTemplate64}, "sgemm");
  EXPECT_EQ(error.kind(), ErrorKind::several_kernels);
  EXPECT_TRUE(says(error, "2 kernels answer to 'sgemm'")) << error.what();
  EXPECT_FALSE(says(error, "decayWide")) << error.what();
}

TEST(KernelChoice, AWrongNameListsTheRightOnes) {
  const Error error = refusal({kDecay, kSaxpy}, "decayWid");
  EXPECT_EQ(error.kind(), ErrorKind::no_kernel);
  EXPECT_TRUE(says(error, "'decayWid'")) << error.what();
  EXPECT_TRUE(says(error, "\n  decayWide(")) << error.what();
  EXPECT_TRUE(says(error, "\n  saxpy(")) << error.what();
}

TEST(KernelChoice, NoKernelAtAllIsTold) {
  const Error error = refusal({}, {}, "int f();\n");
  EXPECT_EQ(error.kind(), ErrorKind::no_kernel);
  EXPECT_TRUE(says(error, "no kernel (__global__ function)")) << error.what();
  EXPECT_EQ(refusal({}, "k").kind(), ErrorKind::no_kernel);
}

TEST(KernelChoice, ATemplateThatNobodyUsesIsPointedOut) {
  const std::string source = "\ntemplate <int N>\n__global__ void sgemm(float* c) { c[0] = N; }\n";
  const Error error = refusal({}, {}, source);
  EXPECT_EQ(error.kind(), ErrorKind::no_kernel);
  EXPECT_TRUE(says(error, "sgemm is a template: name its arguments, --kernel 'sgemm<...>'")) << error.what();
  EXPECT_TRUE(says(refusal({kSaxpy}, "sgemm", source), "is a template"));
}

TEST(KernelChoice, IsFoundByItsMangledNameOnly) {
  const Cubin cubin = cubin_with({kDecay, kSaxpy});
  ASSERT_NE(find_kernel(cubin, kSaxpy), nullptr);
  EXPECT_EQ(find_kernel(cubin, kSaxpy)->name, kSaxpy);
  EXPECT_EQ(find_kernel(cubin, "saxpy"), nullptr);
  EXPECT_EQ(find_kernel(Cubin{}, ""), nullptr);
}

}  // namespace
}  // namespace regtune
