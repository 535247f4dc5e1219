// The compiler, and the reading of what it really makes. Needs NVRTC, no GPU.
#include "nvrtc.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "gpu_limits.hpp"
#include "nvrtc_compile.hpp"
#include "static_facts.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

// 40 values that live at once: spills under a small cap. The body is the same under every name.
std::string wide_body(const std::string& head) {
  return head + R"((const float* p, float* o, int n) {
  float v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = p[i * n + threadIdx.x];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i) s += v[i] * v[(i * 7 + 3) % 40] * v[39 - i];
#pragma unroll
  for (int i = 0; i < 40; ++i) { s = s * v[i] + v[(i + 11) % 40]; o[i * n + threadIdx.x] = s; }
  double d = p[1];
  o[threadIdx.x] = s + float(d * v[3]);
}
)";
}

const std::string wide = wide_body("extern \"C\" __global__ void wide");

const std::string callee = R"(
__device__ __noinline__ float inner(const float* p, int n) {
  float v[40];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = p[i * n];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 40; ++i) s = s * v[i] + v[(i * 7 + 3) % 40] * v[39 - i];
  return s;
}
extern "C" __global__ void caller(const float* p, float* o, int n) { o[threadIdx.x] = inner(p + threadIdx.x, n); }
)";

const std::string local_array = R"(
extern "C" __global__ void local_array(const float* p, float* o, const int* index) {
  float v[64];
  for (int i = 0; i < 64; ++i) v[i] = p[i];
  for (int i = 0; i < 64; ++i) v[index[i]] += v[index[i + 1]];
  o[threadIdx.x] = v[index[threadIdx.x]];
}
)";

const std::string parameters = R"(
struct Pair { float a; double b; char c; };
struct Large { char bytes[5000]; };
extern "C" __global__ void small(Pair pair, const float* in, double d, bool b, char c, float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = pair.a * float(pair.b * d) * in[0];
  __syncthreads();
  if (b) out[0] = c + s[127 - threadIdx.x];
}
extern "C" __global__ void large(int n, Large l, float* out) { out[0] = l.bytes[n]; }
)";

class NvrtcLibrary : public NvrtcTest {};

TEST_F(NvrtcLibrary, TellsItsVersionAndArchitectures) {
  EXPECT_GE(std::stoi(nvrtc()->version()), 12);
  EXPECT_NE(nvrtc()->version().find('.'), std::string::npos);
  EXPECT_NE(nvrtc()->library_path().find("nvrtc"), std::string::npos);
  const std::vector<int> architectures = nvrtc()->supported_architectures();
  EXPECT_TRUE(std::is_sorted(architectures.begin(), architectures.end()));
  EXPECT_NE(std::find(architectures.begin(), architectures.end(), 90), architectures.end());
}

TEST_F(NvrtcLibrary, FindsTheToolkitsHeaders) {
  const CompilerReply reply = reply_to(
      "#include <cuda_fp16.h>\n#include <cuda/std/cstdint>\n#include <cooperative_groups.h>\n"
      "extern \"C\" __global__ void k(__half* p, cuda::std::uint32_t n) { p[n] = __float2half(1.0f); }",
      {"--gpu-architecture=sm_90"});
  EXPECT_TRUE(reply.compiled) << reply.log;
}

// A library of its own, which a toolkit has and the compiler's wheels have not.
TEST_F(NvrtcLibrary, FindsTheHeadersOfCurandBesideItsOwn) {
  const auto folders = include_folders(nvrtc()->library_path());
  const bool is_there = std::any_of(folders.begin(), folders.end(), [](const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "curand_kernel.h");
  });
  if (!is_there) GTEST_SKIP() << "there is no curand_kernel.h beside " << nvrtc()->library_path();
  const CompilerReply reply = reply_to(
      "#include <curand_kernel.h>\nextern \"C\" __global__ void k(curandState* s, float* p) "
      "{ p[threadIdx.x] = curand_uniform(s + threadIdx.x); }",
      {"--gpu-architecture=sm_90"});
  EXPECT_TRUE(reply.compiled) << reply.log;
}

// As pip unpacks it: the loader knows nothing of the folder. In a process of its own, which has no other NVRTC.
TEST_F(NvrtcLibrary, TakesItsBuiltinsFromItsOwnFolder) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path file = fs::canonical(nvrtc()->library_path());
  const std::string builtins =
      "libnvrtc-builtins.so." + std::to_string(nvrtc()->major()) + "." + std::to_string(nvrtc()->minor());
  ASSERT_TRUE(fs::exists(file.parent_path() / builtins));
  fs::copy_file(file, folder.path() / "libnvrtc.so");
  fs::copy_file(file.parent_path() / builtins, folder.path() / builtins);
  const pid_t child = fork();
  if (child == 0) {
    setenv("REGTUNE_NVRTC", (folder.path() / "libnvrtc.so").c_str(), 1);
    const Nvrtc copy = Nvrtc::open();
    NvrtcRequest request;
    request.source = "__global__ void k() {}";
    request.file_name = "k.cu";
    request.options = {"--gpu-architecture=sm_90"};
    if (!copy.compile(request).compiled) _exit(1);
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    _exit(text.find((folder.path() / builtins).string()) != std::string::npos ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST_F(NvrtcLibrary, RepliesWithTheLineOfAnError) {
  const CompilerReply reply =
      reply_to("extern \"C\" __global__ void k() {\n  undeclared = 1;\n}\n", {"--gpu-architecture=sm_90"});
  EXPECT_FALSE(reply.compiled);
  EXPECT_TRUE(reply.cubin.empty());
  EXPECT_NE(reply.log.find("test.cu(2)"), std::string::npos) << reply.log;
  EXPECT_EQ(reply.log.find('\0'), std::string::npos);
}

TEST_F(NvrtcLibrary, RepliesToAnUnknownArchitectureOrOption) {
  EXPECT_FALSE(reply_to(wide, {"--gpu-architecture=sm_42"}).compiled);
  EXPECT_NE(reply_to(wide, {"--gpu-architecture=sm_42"}).log, "");
  const CompilerReply reply = reply_to(wide, {"--gpu-architecture=sm_90", "--no-such-option"});
  EXPECT_FALSE(reply.compiled);
  EXPECT_NE(reply.log, "");
}

TEST_F(NvrtcLibrary, TellsWhichOptionsItAccepts) {
  EXPECT_TRUE(nvrtc()->accepts_option("--maxrregcount=64"));
  EXPECT_FALSE(nvrtc()->accepts_option("--no-such-option"));
  EXPECT_EQ(nvrtc()->accepts_option("--no-cache"), nvrtc()->has_own_cache());
}

TEST_F(NvrtcLibrary, PrecompilesHeadersFromOneVersionOn) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(nvrtc()->accepts_option("--pch"), nvrtc()->precompiles_headers());
  std::filesystem::current_path(before);
}

TEST_F(NvrtcLibrary, SaysWhenAVirtualArchitectureGivesNoMachineCode) {
  const CompilerReply reply = nvrtc()->compile({wide, "test.cu", {"--gpu-architecture=compute_90"}, {}});
  EXPECT_FALSE(reply.compiled);
  EXPECT_NE(reply.log.find("sm_90"), std::string::npos);
}

TEST_F(NvrtcLibrary, RefusesASourceWithAZeroByte) {
  const CompilerReply reply = reply_to(std::string("int a;\0int b;", 13), {"--gpu-architecture=sm_90"});
  EXPECT_FALSE(reply.compiled);
  EXPECT_NE(reply.log.find("offset 6"), std::string::npos) << reply.log;
}

TEST_F(NvrtcLibrary, LowersNameExpressions) {
  NvrtcRequest request{"template <int N, typename T> __global__ void scale(T* p) { p[threadIdx.x] *= N; }",
                       "test.cu",
                       {"--gpu-architecture=sm_90"},
                       {"scale<4, float>", "scale<8, double>"}};
  const CompilerReply reply = nvrtc()->compile(request);
  ASSERT_TRUE(reply.compiled) << reply.log;
  ASSERT_EQ(reply.lowered_names.size(), 2u);
  const Cubin cubin = read_cubin(reply.cubin);
  std::set<std::string> names;
  for (const auto& kernel : cubin.kernels) names.insert(kernel.name);
  EXPECT_EQ(names, std::set<std::string>(reply.lowered_names.begin(), reply.lowered_names.end()));

  request.name_expressions = {"no_such_kernel<3>"};
  EXPECT_FALSE(nvrtc()->compile(request).compiled);
}

class CubinOfNvrtc : public NvrtcTest {};

TEST_F(CubinOfNvrtc, SpillsEqualThePtxasReport) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " lists no spills in the machine code";
  int compared = 0;
  for (const int architecture : {75, 80, 86, 89, 90, 100, 120}) {
    if (!supports(architecture)) continue;
    for (const int registers : {24, 32}) {
      const Compiled compiled = compile(wide + local_array + parameters, architecture, {cap(registers)});
      EXPECT_EQ(compiled.cubin.sm, architecture);
      const CubinKernel& kernel = compiled.kernel("wide");
      EXPECT_GT(kernel.spill_store_bytes, 0) << architecture;
      EXPECT_GT(kernel.spill_load_bytes, 0) << architecture;
      ASSERT_EQ(compiled.report.entries.size(), compiled.cubin.kernels.size());
      for (const CubinKernel& each : compiled.cubin.kernels) {
        const auto found = discrepancy(each, compiled.entry(each.name));
        EXPECT_FALSE(found.has_value()) << "sm_" << architecture << ": " << *found;
        EXPECT_EQ(compiled.entry(each.name).architecture, "sm_" + std::to_string(architecture));
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 8);
}

TEST_F(CubinOfNvrtc, SpillsOfCalledFunctionsAreCounted) {
  if (older_than_12_9()) GTEST_SKIP() << "NVRTC " << nvrtc()->version() << " lists no spills in the machine code";
  for (const int architecture : {80, 90}) {
    const Compiled compiled = compile(callee, architecture, {cap(24)});
    const CubinKernel& kernel = compiled.kernel("caller");
    const PtxasEntry& entry = compiled.entry("caller");
    ASSERT_EQ(entry.functions.size(), 1u) << compiled.log;
    EXPECT_GT(entry.functions.front().spill_store_bytes, 0);
    EXPECT_EQ(kernel.spill_store_bytes, entry.spill_store_bytes());
    EXPECT_EQ(kernel.spill_load_bytes, entry.spill_load_bytes());
    EXPECT_EQ(kernel.stack_frame_bytes, entry.cumulative_stack_bytes.value_or(-1));
  }
}

TEST_F(CubinOfNvrtc, ALocalArrayIsAFrameAndNotASpill) {
  const Compiled compiled = compile(local_array, 90);
  const CubinKernel& kernel = compiled.kernel("local_array");
  EXPECT_GE(kernel.stack_frame_bytes, 256);
  EXPECT_EQ(kernel.spill_store_bytes, 0);
  EXPECT_EQ(kernel.spill_load_bytes, 0);
}

TEST_F(CubinOfNvrtc, ParametersHaveTheirOffsetsAndSizes) {
  for (const int architecture : {75, 90, 100, 120}) {
    if (!supports(architecture)) continue;
    const Compiled compiled = compile(parameters, architecture);
    std::vector<std::pair<int, int>> small, large;
    for (const auto& parameter : compiled.kernel("small").parameters) {
      small.emplace_back(parameter.offset_bytes, parameter.size_bytes);
    }
    for (const auto& parameter : compiled.kernel("large").parameters) {
      large.emplace_back(parameter.offset_bytes, parameter.size_bytes);
    }
    EXPECT_EQ(small, (std::vector<std::pair<int, int>>{{0, 24}, {24, 8}, {32, 8}, {40, 1}, {41, 1}, {48, 8}}));
    EXPECT_EQ(large, (std::vector<std::pair<int, int>>{{0, 4}, {4, 5000}, {5008, 8}}));
    EXPECT_EQ(compiled.kernel("small").static_shared_bytes, 512);
    EXPECT_EQ(compiled.kernel("large").static_shared_bytes, 0);
  }
}

TEST_F(CubinOfNvrtc, TheHashIsOfTheCodeAndNotOfTheCap) {
  const std::string source = "extern \"C\" __global__ void few(float* p) { p[threadIdx.x] += 1; }";
  const CubinKernel at_100 = compile(source, 90, {cap(100)}).kernel("few");
  const CubinKernel at_200 = compile(source, 90, {cap(200)}).kernel("few");
  EXPECT_NE(at_100.register_ceiling, at_200.register_ceiling);
  EXPECT_EQ(at_100.code_hash, at_200.code_hash);
  EXPECT_NE(compile(wide, 90, {cap(24)}).kernel("wide").code_hash,
            compile(wide, 90, {cap(64)}).kernel("wide").code_hash);
}

TEST_F(CubinOfNvrtc, TheHashDoesNotHoldTheKernelsName) {
  const Compiled compiled =
      compile(wide_body("extern \"C\" __global__ void first") + wide_body("extern \"C\" __global__ void second"), 90);
  EXPECT_EQ(compiled.kernel("first").code_hash, compiled.kernel("second").code_hash);
  const std::string other = "extern \"C\" __global__ void other(";
  const std::string renamed = callee + other +
                              "const float* p, float* o, int n) { o[threadIdx.x] = inner(p + "
                              "threadIdx.x, n); }";
  const Compiled callers = compile(renamed, 90, {cap(24)});
  EXPECT_EQ(callers.kernel("caller").code_hash, callers.kernel("other").code_hash);
}

TEST_F(CubinOfNvrtc, TheHashDoesNotHoldLineNumbers) {
  const std::string moved = "\n\n\n" + wide;
  EXPECT_EQ(compile(wide, 90, {"-lineinfo"}).kernel("wide").code_hash,
            compile(moved, 90, {"-lineinfo"}).kernel("wide").code_hash);
  EXPECT_EQ(compile(wide, 90).kernel("wide").code_hash, compile(wide, 90, {"-lineinfo"}).kernel("wide").code_hash);
}

TEST_F(CubinOfNvrtc, AChangedConstantTableOrCalleeChangesTheHash) {
  const auto table = [](const char* values) {
    return std::string("__constant__ float table[4] = {") + values +
           "};\nextern \"C\" __global__ void k(float* p, int n) { p[0] = table[n]; }";
  };
  const auto hash_of = [](const std::string& source, const char* name) {
    return compile(source, 90).kernel(name).code_hash;
  };
  EXPECT_EQ(hash_of(table("1, 2, 3, 4"), "k"), hash_of(table("1, 2, 3, 4"), "k"));
  EXPECT_NE(hash_of(table("1, 2, 3, 4"), "k"), hash_of(table("1, 2, 3, 5"), "k"));
  std::string other = callee;
  other.replace(other.find("* 7 + 3"), 7, "* 3 + 7");
  EXPECT_NE(hash_of(callee, "caller"), hash_of(other, "caller"));
}

TEST_F(CubinOfNvrtc, DamagedCopiesAreReadOrRefusedAndNeverCrash) {
  const std::string whole = compile(wide + callee + parameters, 90, {cap(24)}).bytes;
  std::mt19937_64 random(1);
  int refused = 0;
  const auto survive = [&](std::string_view bytes) {
    try {
      read_cubin(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::source_not_compiled);
      ++refused;
    }
  };
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    survive(damaged);
  }
  // Most of the bytes are code. The headers and the tables, at both ends, are where damage can lead astray.
  constexpr std::size_t tables = 8192;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    const std::size_t from_start = random() % std::min(tables, damaged.size());
    const std::size_t at = i % 2 == 0 ? from_start : damaged.size() - 1 - from_start;
    damaged[at] ^= static_cast<char>(1 + random() % 255);
    survive(damaged);
  }
  EXPECT_GT(refused, 100);
  // A cut in the last bytes may do no harm: the program headers, which are not read, stand there.
  refused = 0;
  for (std::size_t i = 0; i < 500; ++i) survive(std::string_view(whole).substr(0, whole.size() * i / 500));
  EXPECT_GE(refused, 490);
}

class StaticFactsOfNvrtc : public NvrtcTest {};

TEST_F(StaticFactsOfNvrtc, TheReportCompletesAListOfSpillsThatEndsEarly) {
  // Not from the cubin: what a cubin with more than 8,191 spills looks like beside its report.
  const Compiled compiled = compile(wide, 90, {cap(24)});
  CubinKernel shortened = compiled.kernel("wide");
  shortened.spill_store_bytes /= 2;
  const PtxasEntry& entry = compiled.entry("wide");
  const StaticFacts facts = static_facts(shortened, &entry, RegisterCap{24}, *gpu_limits("sm_90"), std::nullopt);
  EXPECT_GT(facts.spill_store_bytes, 0);
  EXPECT_EQ(facts.spill_store_bytes, entry.spill_store_bytes());
  EXPECT_EQ(facts.spill_load_bytes, entry.spill_load_bytes());
  EXPECT_TRUE(discrepancy(shortened, entry).has_value());
  if (older_than_12_9()) return;  // it lists none at all, and the report is all there is
  EXPECT_FALSE(discrepancy(compiled.kernel("wide"), entry).has_value());
}

}  // namespace
}  // namespace regtune
