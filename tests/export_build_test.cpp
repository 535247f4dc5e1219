// What is exported gives the code that was timed: a patched source and a header, through a real NVRTC, and the header
// through nvcc where there is one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "code_equality.hpp"
#include "compile.hpp"
#include "cubin.hpp"
#include "export_text.hpp"
#include "nvrtc_compile.hpp"
#include "source_patch.hpp"
#include "temporary_folder.hpp"
#include "toolkit.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string kernel_file(const std::string& name) {
  const char* told = std::getenv("REGTUNE_SOURCE");
  return std::filesystem::path(told ? told : REGTUNE_SOURCE_FOLDER) / "kernels" / name;
}

class ExportBuild : public NvrtcTest {
 protected:
  // The code of `text` under that policy, as a tuning compiles it.
  std::string code(const std::string& text, const RegisterPolicy& policy, const std::string& instance = "",
                   const std::string& architecture = "sm_90") {
    LaunchDescription description;
    if (!instance.empty()) description.kernel = instance;
    const CompileUnit unit = compile_unit({"k.cu", text}, description, architecture, pool_.identity());
    const CompiledCode compiled = pool_.prepare({0, compile_request(unit, {policy}, NvrtcOutput::cubin, ""), {}, true});
    EXPECT_TRUE(compiled.compiled) << compiled.failure << text;
    return compiled.cubin;
  }

  CompilePool pool_{1, 300};
};

struct PatchCase {
  std::string text;
  std::string kernel;  // bare
  std::string mangled;
  std::string instance;  // of a template
};

TEST_F(ExportBuild, APatchedSourceIsTheCodeThatWasTimed) {
  const std::string loop =
      "  float a[24];\n  for (int i = 0; i < 24; ++i) a[i] = p[i * n + threadIdx.x];\n"
      "  for (int j = 0; j < n; ++j)\n    for (int i = 0; i < 24; ++i) a[i] = a[i] * a[(i + 7) % 24] + p[j];\n"
      "  for (int i = 0; i < 24; ++i) p[i * n + threadIdx.x] = a[i];\n}\n";
  const std::vector<PatchCase> cases{
      {file_text(kernel_file("decay_bounded.cu")), "decayBounded", "_Z12decayBoundedPKfPfm", ""},
      {file_text(kernel_file("matmul_registers.cu")), "matmulRegisters", "_Z15matmulRegistersPK6float2PK6float4PS2_iii",
       ""},
      {"extern \"C\" __global__ void\n__launch_bounds__(1024, 2)\nf(float* p, int n) {\n" + loop, "f", "f", ""},
      {"namespace ns {\ntemplate <int N>\n__global__ void __launch_bounds__(N * 2,\n 1) f(float* p, int n) {\n" + loop +
           "}\n",
       "f", "_ZN2ns1fILi64EEEvPfi", "ns::f<64>"},
      {"__global__ __maxnreg__(40) void f(float* p, int n);\n__global__ void f(float* p, int n) {\n" + loop, "f",
       "_Z1fPfi", ""}};
  for (const PatchCase& one : cases) {
    for (const RegisterPolicy& policy :
         std::vector<RegisterPolicy>{LaunchBounds{256, 0}, LaunchBounds{256, 6}, MaxRegisters{48}, CompilerDefault{}}) {
      const std::string patched = with_budget(one.text, {one.kernel, one.kernel, policy, false, {}});
      const auto found =
          difference(code(one.text, policy, one.instance), code(patched, AuthorsOwn{}, one.instance), one.mangled);
      EXPECT_FALSE(found) << *found << "\n" << patched.substr(0, 2000);
    }
  }
}

TEST_F(ExportBuild, APatchThatSpillsToSharedMemoryIsTheCodeThatWasTimed) {
  if (nvrtc()->major() < 13) GTEST_SKIP() << "NVRTC 13 knows the pragma";
  const std::string text = file_text(kernel_file("decay_bounded.cu"));
  SourceBudget budget{"decayBounded", "decayBounded", LaunchBounds{256, 8}, true, {}};
  budget.spills_to_shared = true;
  CompileUnit unit = compile_unit({"k.cu", text}, {}, "sm_90", pool_.identity());
  unit.kernel_name = "decayBounded";
  Build build{LaunchBounds{256, 8}};
  build.choice.spills_to_shared = true;
  const CompiledCode timed = pool_.prepare({0, compile_request(unit, build, NvrtcOutput::cubin, ""), {}, true});
  ASSERT_TRUE(timed.compiled) << timed.failure;
  ASSERT_GT(read_cubin(timed.cubin).kernels.at(0).shared_spill_store_bytes, 0);
  const auto found = difference(timed.cubin, code(with_budget(text, budget), AuthorsOwn{}), "_Z12decayBoundedPKfPfm");
  EXPECT_FALSE(found) << *found;
}

// The kernel whose budget is exported, as a user writes it.
constexpr const char* kUser = R"(
extern "C" __global__ void REGTUNE_BOUNDS_f f(float* p) { p[threadIdx.x] += 1; }
)";

std::string exported_header(RegisterPolicy in_source) {
  TunedAs as;
  as.kernel = as.signature = "f";
  as.in_source = in_source;
  return header_text(exported_kernels({tuned_record(as)}, {})).text;
}

TEST_F(ExportBuild, TheHeaderHoldsOnItsArchitectureOnly) {
  const std::string text = exported_header(LaunchBounds{256, 4}) + kUser;
  const auto bound = [&](const std::string& source, const std::string& architecture) {
    return read_cubin(code(source, AuthorsOwn{}, "", architecture)).kernels.at(0).max_threads_per_block;
  };
  EXPECT_EQ(bound(text, "sm_90"), 256);
  EXPECT_EQ(bound(text, "sm_80"), 0);
  EXPECT_EQ(bound("#define REGTUNE_ELSE_f __launch_bounds__(64)\n" + text, "sm_80"), 64);
  EXPECT_EQ(bound("#define REGTUNE_ELSE_f __launch_bounds__(64)\n" + text, "sm_90"), 256);
  EXPECT_EQ(bound("#define REGTUNE_ELSE_f __launch_bounds__(64)\n" + exported_header(AuthorsOwn{}) + kUser, "sm_90"),
            64);
}

TEST_F(ExportBuild, TheHeaderServesNvcc) {
  const std::vector<std::filesystem::path> found = program_candidates(nvcc_program());
  if (found.empty()) GTEST_SKIP() << "no nvcc in PATH, CUDA_HOME, CUDA_PATH or the usual folders";
  const std::string nvcc = found.front();
  const TemporaryFolder folder;
  folder.write("bounds.h", exported_header(LaunchBounds{256, 4}));
  folder.write("k.cu", "#include \"bounds.h\"\n" + std::string(kUser) + "int main() { f<<<1, 1>>>(nullptr); }\n");
  for (const auto& [architecture, threads] : {std::pair{"sm_90", 256}, std::pair{"sm_80", 0}}) {
    const std::string command = "cd '" + folder.path().string() + "' && " + nvcc + " -cubin -arch=" + architecture +
                                " -o k.cubin k.cu >log 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << file_text(folder.path() / "log");
    EXPECT_EQ(read_cubin(file_text(folder.path() / "k.cubin")).kernels.at(0).max_threads_per_block, threads);
  }
}

}  // namespace
}  // namespace regtune
