#include "signature.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace regtune {
namespace {

CubinKernel kernel_of(const std::string& mangled_name, const std::vector<int>& sizes) {
  CubinKernel kernel;
  kernel.name = mangled_name;
  int offset = 0;
  for (const int size : sizes) {
    offset = (offset + size - 1) / size * size;
    kernel.parameters.push_back({static_cast<int>(kernel.parameters.size()), offset, size});
    offset += size;
  }
  return kernel;
}

std::vector<std::string> names(const KernelSignature& signature) {
  std::vector<std::string> found;
  for (const KernelParameter& parameter : signature.parameters) found.push_back(parameter.name);
  return found;
}

std::vector<std::string> types(const KernelSignature& signature) {
  std::vector<std::string> found;
  for (const KernelParameter& parameter : signature.parameters) found.push_back(parameter.type);
  return found;
}

using Strings = std::vector<std::string>;

TEST(Signature, DemanglesWithConstInFront) {
  EXPECT_EQ(demangle("_Z9decayWidePKfPfm"), "decayWide(const float*, float*, unsigned long)");
  EXPECT_EQ(demangle("_ZN1a1b5sgemmILi128EfEEvPKT0_PS2_i"), "a::b::sgemm<128, float>(const float*, float*, int)");
  EXPECT_EQ(demangle("_Z4packIL4Mode1ELj7ELb1EJPKfxEEvDpT2_"),
            "pack<(Mode)1, 7u, true, const float*, long long>(const float*, long long)");
  EXPECT_EQ(
      demangle("_Z3vec3VecIPKfEPFviEPKPVKihPS_IS_IKiEE6float4b"),
      "vec(Vec<const float*>, void(*)(int), const volatile int* const*, unsigned char, Vec<Vec<const int>>*, float4, "
      "bool)");
  EXPECT_EQ(demangle("_ZN33_GLOBAL__N__00000000_4_t_cu_plain6hiddenENS_1PEPf"), "hidden(P, float*)");
  EXPECT_EQ(demangle("_Z5emptyv"), "empty()");
}

TEST(Signature, LeavesAloneWhatIsNotMangled) {
  EXPECT_EQ(demangle("saxpy"), "saxpy");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
}

TEST(Signature, TakesNamesFromTheTextAndTypesFromTheCode) {
  const KernelSignature signature =
      kernel_signature(kernel_of("_Z9decayWidePKfPfm", {8, 8, 8}),
                       "__global__ void decayWide(const real* in, real* __restrict__ out, size_t n) {}");
  EXPECT_EQ(signature.name, "decayWide");
  EXPECT_EQ(signature.display, "decayWide(const float*, float*, unsigned long)");
  EXPECT_EQ(names(signature), (Strings{"in", "out", "n"}));
  EXPECT_EQ(types(signature), (Strings{"const float*", "float*", "unsigned long"}));
  EXPECT_EQ(signature.parameters[2].offset_bytes, 16);
  EXPECT_EQ(signature.parameters[2].size_bytes, 8);
}

TEST(Signature, NumbersParametersThatTheTextDoesNotShow) {
  const KernelSignature signature =
      kernel_signature(kernel_of("_Z1kPfif", {8, 4, 4}), "__global__ void k(float*, int n, float);");
  EXPECT_EQ(names(signature), (Strings{"arg0", "n", "arg2"}));
  EXPECT_EQ(names(kernel_signature(kernel_of("_Z1kPf", {8}), "KERNEL(k, float*)")), Strings{"arg0"});
}

TEST(Signature, TellsOverloadsApartByCountAndThenByType) {
  const std::string text =
      "__global__ void late(float* a) {}\n__global__ void late(float* b, int count) {}\n"
      "__global__ void late(double* c, long other) {}\nvoid late(int host);\n";
  EXPECT_EQ(names(kernel_signature(kernel_of("_Z4latePf", {8}), text)), Strings{"a"});
  EXPECT_EQ(names(kernel_signature(kernel_of("_Z4latePfi", {8, 4}), text)), (Strings{"b", "count"}));
  EXPECT_EQ(names(kernel_signature(kernel_of("_Z4latePdl", {8, 8}), text)), (Strings{"c", "other"}));
}

TEST(Signature, PrefersTheDefinitionsNames) {
  const std::string text = "__global__ void k(float*, int);\n__global__ void k(float* x, int n) {}\n";
  EXPECT_EQ(names(kernel_signature(kernel_of("_Z1kPfi", {8, 4}), text)), (Strings{"x", "n"}));
}

TEST(Signature, FindsTemplatesInNamespaces) {
  const KernelSignature signature = kernel_signature(
      kernel_of("_ZN1a1b5sgemmILi128EfEEvPKT0_PS2_i", {8, 8, 4}),
      "namespace a::b { template <int T, class F> __global__ void sgemm(const F* x, F* y, int n) {} }");
  EXPECT_EQ(signature.name, "a::b::sgemm<128, float>");
  EXPECT_EQ(names(signature), (Strings{"x", "y", "n"}));
  EXPECT_EQ(types(signature), (Strings{"const float*", "float*", "int"}));
}

TEST(Signature, TakesTheTypesOfExternCFromTheText) {
  const KernelSignature signature = kernel_signature(kernel_of("plain", {8, 8, 8, 8, 4, 8, 4}),
                                                     "extern \"C\" __global__ void plain(float const *__restrict__ x, "
                                                     "size_t n, float y[4], const std::uint32_t* const z, "
                                                     "long unsigned count, unsigned m, half2 *);");
  EXPECT_EQ(signature.display,
            "plain(const float*, unsigned long, float*, const unsigned int*, unsigned long, unsigned int, half2*)");
  EXPECT_EQ(types(signature), (Strings{"const float*", "unsigned long", "float*", "const unsigned int*",
                                       "unsigned long", "unsigned int", "half2*"}));
  EXPECT_EQ(signature.name, "plain");
}

TEST(Signature, KnowsTexturesAndTensorMapsByTheAuthorsWords) {
  const KernelSignature mangled = kernel_signature(
      kernel_of("_Z1k14CUtensorMap_stPfyy", {128, 8, 8, 8}),
      "__global__ void k(const __grid_constant__ CUtensorMap map, float* out, cudaTextureObject_t image, "
      "unsigned long long n) {}");
  EXPECT_EQ(types(mangled), (Strings{"CUtensorMap", "float*", "cudaTextureObject_t", "unsigned long long"}));
  EXPECT_EQ(names(mangled), (Strings{"map", "out", "image", "n"}));
  const KernelSignature plain =
      kernel_signature(kernel_of("k", {128, 8}),
                       "extern \"C\" __global__ void k(__grid_constant__ const CUtensorMap map, CUtexObject t);");
  EXPECT_EQ(types(plain), (Strings{"CUtensorMap", "CUtexObject"}));
  EXPECT_EQ(types(kernel_signature(kernel_of("_Z1kPKy", {8}), "__global__ void k(const cudaTextureObject_t* all) {}")),
            (Strings{"const unsigned long long*"}));
}

TEST(Signature, LeavesTypesOpenWhereTheTextHidesThem) {
  const KernelSignature signature =
      kernel_signature(kernel_of("plain", {8, 4}), "extern \"C\" __global__ void plain(ARGS) {}");
  EXPECT_EQ(signature.display, "plain");
  EXPECT_EQ(names(signature), (Strings{"arg0", "arg1"}));
  EXPECT_EQ(types(signature), (Strings{"", ""}));
}

TEST(Signature, DropsAParametersOwnConst) {
  const KernelSignature signature = kernel_signature(
      kernel_of("k", {4, 8, 8}),
      "extern \"C\" __global__ void k(const int n, const float* const x, float const* const * volatile y);");
  EXPECT_EQ(types(signature), (Strings{"int", "const float*", "const float* const*"}));
}

TEST(Signature, RecognisesWhatAUserCallsAKernel) {
  const KernelSignature plain = kernel_signature(kernel_of("_Z9decayWidePKfPfm", {8, 8, 8}), "");
  for (const char* name :
       {"decayWide", "::decayWide", "_Z9decayWidePKfPfm", "decayWide(const float*, float*, unsigned long)"}) {
    EXPECT_TRUE(names_kernel(plain, name)) << name;
  }
  for (const char* name : {"", "decay", "Wide", "decayWide2", "ns::decayWide", "decayWide<1>", "::"}) {
    EXPECT_FALSE(names_kernel(plain, name)) << name;
  }
  const KernelSignature nested = kernel_signature(kernel_of("_ZN1a1b5sgemmILi128EfEEvPKT0_PS2_i", {8, 8, 4}), "");
  for (const char* name :
       {"sgemm", "b::sgemm", "a::b::sgemm", "sgemm<128,float>", " a::b::sgemm< 128 , float >", "sgemm<128u, float>"}) {
    EXPECT_TRUE(names_kernel(nested, name)) << name;
  }
  for (const char* name : {"a::sgemm", "sgemm<12, float>", "sgemm<128, double>", "gemm", "b"}) {
    EXPECT_FALSE(names_kernel(nested, name)) << name;
  }
}

TEST(Signature, RecognisesTemplateArgumentsHoweverConstIsPlaced) {
  const KernelSignature signature = kernel_signature(kernel_of("_Z4packIL4Mode1ELj7ELb1EJPKfxEEvDpT2_", {8, 8}), "");
  EXPECT_TRUE(names_kernel(signature, "pack<(Mode)1, 7, true, float const *, long long>"));
  EXPECT_FALSE(names_kernel(signature, "pack<(Mode)1, 7, true, float*, long long>"));
}

TEST(Signature, SurvivesHostileNamesAndTexts) {
  std::string nested = "extern \"C\" __global__ void k(";
  for (int i = 0; i < 100'000; ++i) nested += "V<";
  for (int i = 0; i < 100'000; ++i) nested += '>';
  nested += " x);";
  EXPECT_EQ(names(kernel_signature(kernel_of("k", {8}), nested)), Strings{"x"});
  kernel_signature(kernel_of("_Z1kIXsrSt", {8}), nested);
  demangle("_Z" + std::string(100'000, 'P'));
  names_kernel(kernel_signature(kernel_of("k", {8}), ""), std::string(100'000, '<'));
}

}  // namespace
}  // namespace regtune
