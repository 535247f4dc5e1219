// nvcc as the compiler of a sweep, with the real nvcc: the file as it is, with all its host code, under every kind of
// budget; what NVRTC refuses; and what nvcc makes of NVRTC's winners. Skipped, with the reason, where there is no nvcc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "check_command.hpp"
#include "compilation.hpp"
#include "kernel_choice.hpp"
#include "nvcc_builds.hpp"
#include "nvrtc_compile.hpp"
#include "signature.hpp"
#include "temporary_folder.hpp"

namespace regtune {
namespace {

const std::string kHostAndDevice = R"(#include <cstdint>
#include <iostream>
#include <vector>
#include "beside.h"
__global__ void __launch_bounds__(128, 8) k(const float* in, float* out, uint64_t n) {
  float x[24];
#pragma unroll
  for (int i = 0; i < 24; ++i) x[i] = in[threadIdx.x + i * n];
#pragma unroll
  for (int s = 0; s < STEPS; ++s)
#pragma unroll
    for (int i = 0; i < 24; ++i) x[i] = x[i] * x[(i + 1) % 24] + x[(i + 7) % 24];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 24; ++i) sum += x[i];
  out[threadIdx.x] = sum;
}
int main() {
  std::vector<float> data(4096);
  k<<<1, 128>>>(nullptr, nullptr, data.size());
  std::cout << data.front() << std::endl;
}
)";

// The host's compiler knows a type that NVRTC does not.
const std::string kOnlyForNvcc = R"(#include <cstdio>
__global__ void wide(long* p) {
  __int128 product = (__int128)p[0] * p[1];
  p[2] = (long)(product >> 64);
}
int main() { wide<<<1, 1>>>(nullptr); puts("done"); }
)";

class NvccSweep : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    if (!pool_.nvcc()) GTEST_SKIP() << pool_.why_no_nvcc();
    folder_.write("beside.h", "#define STEPS 8\n");
    // Tests run with older libraries of CUDA too; then plain nvcc compiles everything.
    links_ = pool_.nvcc()->why_no_linker.empty();
  }

  Source source(const std::string& text) { return read_source(folder_.write("k.cu", text)); }

  Compilation begin(const std::string& text, std::optional<FrontEnd> only = FrontEnd::nvcc,
                    const std::optional<std::string>& kernel = std::nullopt, Store* store = nullptr) {
    source_ = source(text);
    description_ = {};
    description_.kernel = kernel;
    return begin_compilation({source_, description_, "sm_90", only}, {}, store, pool_, quiet_);
  }

  std::vector<BuildCode> codes_of(Compilation& compilation, const std::vector<Build>& builds) {
    const CompiledCode& first = compilation.sweep->first_code();
    const Cubin cubin = read_cubin(first.cubin);
    const std::string kernel = first.lowered_names.empty() ? cubin.kernels.front().name : first.lowered_names.front();
    compilation.sweep->begin(kernel, unqualified_name(kernel_signature(*find_kernel(cubin, kernel), "")),
                             gpu_limits(9, 0).value(), builds);
    std::vector<BuildCode> codes;
    while (std::optional<BuildCode> code = compilation.sweep->next()) codes.push_back(std::move(*code));
    return codes;
  }

  TemporaryFolder folder_;
  CompilePool pool_{2, 120};
  Progress quiet_{true};
  bool links_ = true;
  Source source_;
  LaunchDescription description_;
};

TEST_F(NvccSweep, CompilesEveryKindOfBudgetFromTheFileAsItIsAndLinksTheCodeThatNvccGives) {
  Compilation compilation = begin(kHostAndDevice);
  SourceChoice renamed;
  renamed.renamed = true;
  const std::vector<BuildCode> codes = codes_of(compilation, {{AuthorsOwn{}},
                                                              {CompilerDefault{}},
                                                              {RegisterCap{24}},
                                                              {RegisterCap{40}},
                                                              {LaunchBounds{128, 4}},
                                                              {MaxRegisters{40}},
                                                              {CompilerDefault{}, renamed}});
  EXPECT_TRUE(compilation.sweep->route().starts_with(links_ ? "nvcc, LTO-IR once, then nvJitLink" : "plain nvcc: "))
      << compilation.sweep->route();
  ASSERT_EQ(codes.size(), 7u);
  for (const BuildCode& code : codes) {
    ASSERT_TRUE(code.facts) << code.failure;
    if (std::holds_alternative<AuthorsOwn>(code.build.policy)) {
      EXPECT_EQ(code.facts->max_threads_per_block, 128);
    } else if (code.build.policy == RegisterPolicy{LaunchBounds{128, 4}}) {
      EXPECT_EQ(code.facts->register_ceiling, 128);
    } else {
      EXPECT_EQ(code.facts->max_threads_per_block, 0) << "the author's bound is stripped";
    }
    if (code.build.policy == RegisterPolicy{RegisterCap{24}}) {
      EXPECT_EQ(code.facts->registers_per_thread, 24);
      EXPECT_GT(code.facts->spill_store_bytes, 0);
    }
    EXPECT_EQ(code.kernel.find("cutlass_k") != std::string::npos, code.build.choice.renamed) << code.kernel;
    if (!std::holds_alternative<AuthorsOwn>(code.build.policy)) {
      EXPECT_EQ(compilation.sweep->difference_from_plain(code), std::nullopt);
    }
  }
  std::ifstream file(folder_.path() / "k.cu");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kHostAndDevice);
}

TEST_F(NvccSweep, AKernelThatNoOtherFileMayNameIsCompiledByPlainNvcc) {
  Compilation compilation =
      begin("namespace { __global__ void k(int* p) { *p = 3; } }\nint main() { k<<<1, 1>>>(nullptr); }\n");
  const std::vector<BuildCode> codes =
      codes_of(compilation, {{AuthorsOwn{}}, {RegisterCap{40}}, {LaunchBounds{128, 4}}});
  EXPECT_TRUE(compilation.sweep->route().starts_with(links_ ? "plain nvcc: a kernel that is static" : "plain nvcc: "))
      << compilation.sweep->route();
  ASSERT_EQ(codes.size(), 3u);
  for (const BuildCode& code : codes) EXPECT_TRUE(code.facts) << code.failure;
}

TEST_F(NvccSweep, MakesTheInstanceThatIsNamedAndKnowsItsName) {
  Compilation compilation =
      begin("template <int N, class T> __global__ void scale(T* p) { p[0] *= N; }\nint main() {}\n", FrontEnd::nvcc,
            "scale<2 + 2, float>");
  ASSERT_EQ(compilation.sweep->first_code().lowered_names, std::vector<std::string>{"_Z5scaleILi4EfEvPT0_"});
  for (const BuildCode& code : codes_of(compilation, {{AuthorsOwn{}}, {RegisterCap{40}}}))
    EXPECT_TRUE(code.facts) << code.failure;
}

TEST_F(NvccSweep, ServesWhereNvrtcDoesNotTakeTheFileAndSaysSo) {
  Compilation compilation = begin(kOnlyForNvcc, std::nullopt);
  EXPECT_EQ(compilation.unit.front_end, FrontEnd::nvcc);
  ASSERT_EQ(compilation.unit.source_notes.size(), 1u);
  const std::string& note = compilation.unit.source_notes.front();
  EXPECT_TRUE(note.starts_with("NVRTC does not take this file, so nvcc")) << note;
  EXPECT_NE(note.find("k.cu(3): error"), std::string::npos) << note;
  try {
    begin(kOnlyForNvcc, FrontEnd::nvrtc);
    ADD_FAILURE() << "NVRTC alone took it";
  } catch (const Error& refused) {
    EXPECT_EQ(refused.kind(), ErrorKind::source_not_compiled);
  }
}

TEST_F(NvccSweep, ACheckFallsBackLikewise) {
  CheckRequest request;
  request.source = folder_.write("only.cu", kOnlyForNvcc);
  request.architectures = "sm_80,sm_90";
  const CheckResult result = check(request, quiet_);
  EXPECT_TRUE(result.compiler.starts_with("nvcc ")) << result.compiler;
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels.front().signature, "wide(long*)");
}

TEST_F(NvccSweep, WhatNeitherTakesIsToldWithBothCompilersWordsAndTheAuthorsLines) {
  try {
    begin("#include <cstdio>\n__global__ void k(int* p) {\n  *p = nobody_knows;\n}\nint main() { puts(\"\"); }\n",
          std::nullopt);
    ADD_FAILURE() << "it was taken";
  } catch (const Error& refused) {
    EXPECT_EQ(refused.kind(), ErrorKind::source_not_compiled);
    const std::string text = refused.what();
    EXPECT_NE(text.find("NVRTC"), std::string::npos) << text;
    EXPECT_NE(text.find("nvcc"), std::string::npos) << text;
    EXPECT_NE(text.find("k.cu(3): error"), std::string::npos) << text;
  }
}

TEST_F(NvccSweep, CodesOfOneCompilerAnswerForNoOther) {
  Store store = Store::open(folder_.path() / "cache.db");
  const std::string text = "__global__ void k(int* p) { *p = 3; }\n";
  const std::vector<Build> builds{{AuthorsOwn{}}, {CompilerDefault{}}};
  const auto kept_of = [&](FrontEnd front_end) {
    Compilation compilation = begin(text, front_end, {}, &store);
    std::size_t kept = 0;
    for (const BuildCode& code : codes_of(compilation, builds)) kept += code.kept ? 1 : 0;
    return kept;
  };
  EXPECT_EQ(kept_of(FrontEnd::nvcc), 0u);
  EXPECT_EQ(kept_of(FrontEnd::nvrtc), 0u);
  EXPECT_EQ(kept_of(FrontEnd::nvcc), 2u);
  EXPECT_EQ(kept_of(FrontEnd::nvrtc), 2u);
}

TEST_F(NvccSweep, ARunThatTakesTooLongIsOneCodeLess) {
  CompilePool pool(1, 0.05);
  const CompilerIdentity* nvcc = pool.nvcc();
  ASSERT_NE(nvcc, nullptr) << pool.why_no_nvcc();
  const CompileUnit unit = compile_unit(source("__global__ void k() {}\n"), {}, "sm_90", *nvcc);
  const CompiledCode code = pool.prepare({0, request_for(unit, {AuthorsOwn{}}, NvrtcOutput::cubin, ""), {}, true});
  EXPECT_FALSE(code.compiled);
  EXPECT_EQ(code.failure, "nvcc took longer than 0.05 s and was stopped");
}

class NvccBesideNvrtc : public NvccSweep {
 protected:
  // As NVRTC's run leaves it: uint64_t is unsigned long long there.
  TuningRecord record_of(const std::string& text) {
    source_ = source(text);
    TuningRecord record;
    record.architecture = "sm_90";
    record.gpu.emplace();
    record.gpu->limits = gpu_limits(9, 0).value();
    record.kernel = "_Z1kPKfPfy";
    record.signature = "k(const float*, float*, unsigned long long)";
    for (const RegisterPolicy& policy : {RegisterPolicy{AuthorsOwn{}}, RegisterPolicy{RegisterCap{48}}}) {
      Trial& trial = record.trials.emplace_back();
      trial.variant = Variant(static_cast<int>(record.trials.size()) - 1, policy, {128, 1, 1});
    }
    record.verdict.emplace();
    record.verdict->kind = Verdict::Kind::improved;
    record.verdict->best_id = 1;
    return record;
  }
};

TEST_F(NvccBesideNvrtc, CompilesAuthorAndWinnerAndKeepsThem) {
  Store store = Store::open(folder_.path() / "cache.db");
  const TuningRecord record = record_of(kHostAndDevice);
  for (const bool again : {false, true}) {
    NvccBuilds builds({source_, description_, "sm_90", {}}, record, &store, pool_);
    builds.begin({{AuthorsOwn{}}, {RegisterCap{64}}});  // of which one is not recommended
    EXPECT_EQ(pool_.unfinished(Asker::nvcc_builds), again ? 0u : 2u);
    const NvccCodes codes = builds.finish(record);
    EXPECT_TRUE(codes.comparison.compiler.starts_with("nvcc ")) << codes.comparison.compiler;
    ASSERT_EQ(codes.comparison.codes.size(), 2u) << again;
    for (const NvccCode& code : codes.comparison.codes) {
      EXPECT_EQ(code.failure, "");
      EXPECT_GT(code.registers_per_thread, 24);
    }
    EXPECT_LE(codes.comparison.codes.back().registers_per_thread, 48);
    ASSERT_EQ(codes.candidates.size(), 2u);
    EXPECT_EQ(codes.candidates.front().id, 2) << "the trials' ids are those of NVRTC's codes";
    EXPECT_EQ(codes.candidates.front().kernel, "_Z1kPKfPfm") << "as nvcc spells its types";
  }
}

TEST_F(NvccBesideNvrtc, WhatNvccDoesNotCompileIsToldInOneLine) {
  const TuningRecord record = record_of("__global__ void k(float* p) {\n  *p = nobody_knows;\n}\n");
  const NvccCodes codes = NvccBuilds({source_, description_, "sm_90", {}}, record, nullptr, pool_).finish(record);
  EXPECT_TRUE(codes.candidates.empty());
  const std::string& failure = codes.comparison.codes.front().failure;
  EXPECT_NE(failure.find("k.cu(2): error"), std::string::npos) << failure;
  EXPECT_EQ(failure.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace regtune
