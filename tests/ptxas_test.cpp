// ptxas as the compiler of a sweep, with the real ptxas and PTX that nvcc makes of kernels/*.cu. Skipped, with the
// reason, where one of them is missing.
#include "ptxas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analyze_command.hpp"
#include "child_program.hpp"
#include "compilation.hpp"
#include "kernel_choice.hpp"
#include "program.hpp"
#include "signature.hpp"
#include "temporary_folder.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

namespace fs = std::filesystem;

template <class Work>
std::string message_of(const Work& work, ErrorKind kind) {
  try {
    work();
  } catch (const Error& failure) {
    EXPECT_EQ(failure.kind(), kind);
    return failure.what();
  }
  ADD_FAILURE() << "it is no error";
  return "";
}

class PtxasSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (program_candidates(nvcc_program()).empty()) GTEST_SKIP() << "there is no nvcc here, which makes the PTX";
    if (program_candidates(ptxas_program()).empty()) GTEST_SKIP() << "there is no ptxas here";
  }

  // Of a file or of a text.
  std::string ptx_of(const fs::path& source) {
    const fs::path made = folder_.path() / "made.ptx";
    const ProgramRun run = run_program({{program_candidates(nvcc_program()).front().string(), "-ptx",
                                         "-arch=compute_90", "-o", made.string(), source.string()}});
    EXPECT_TRUE(run.succeeded) << run.output;
    std::ifstream in(made);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static fs::path kernel_file(const std::string& name) { return source_folder() / "kernels" / name; }

  Compilation begin(const std::string& ptx, const std::vector<std::string>& options = {},
                    std::optional<FrontEnd> only = {}) {
    source_ = Source{"k.ptx", ptx};
    description_ = {};
    description_.options = options;
    return begin_compilation({source_, description_, "sm_90", only}, {}, nullptr, pool_, quiet_);
  }

  std::vector<BuildCode> codes_of(Compilation& compilation, const std::vector<Build>& builds) {
    const Cubin cubin = read_cubin(compilation.sweep->first_code().cubin);
    const CubinKernel& kernel = cubin.kernels.front();
    compilation.sweep->begin(kernel.name, unqualified_name(kernel_signature(kernel, "")), gpu_limits(9, 0).value(),
                             builds);
    std::vector<BuildCode> codes(builds.size());
    while (std::optional<BuildCode> code = compilation.sweep->next())
      codes.at(static_cast<std::size_t>(std::find(builds.begin(), builds.end(), code->build) - builds.begin())) =
          std::move(*code);
    return codes;
  }

  TemporaryFolder folder_;
  CompilePool pool_{2, 120};
  Progress quiet_{true};
  Source source_;
  LaunchDescription description_;
};

TEST_F(PtxasSweep, CapsAreHonouredInTheCode) {
  Compilation compilation = begin(ptx_of(kernel_file("decay_wide.cu")));
  EXPECT_EQ(compilation.unit.front_end, FrontEnd::ptxas);
  EXPECT_EQ(compilation.sweep->route(), "ptxas");
  EXPECT_EQ(front_end_of(pool_.identity(FrontEnd::ptxas).name), FrontEnd::ptxas);
  const std::vector<BuildCode> codes =
      codes_of(compilation, {{AuthorsOwn{}}, {CompilerDefault{}}, {RegisterCap{32}}, {RegisterCap{128}}});
  for (const BuildCode& code : codes) ASSERT_TRUE(code.facts) << code.failure;
  EXPECT_EQ(codes[0].facts->code_hash, codes[1].facts->code_hash) << "this PTX declares nothing of registers";
  EXPECT_EQ(codes[0].facts->spill_store_bytes, 0);
  EXPECT_GT(codes[0].facts->registers_per_thread, 32);
  EXPECT_EQ(codes[2].facts->register_ceiling, 32);
  EXPECT_EQ(codes[2].facts->registers_per_thread, 32);
  EXPECT_GT(codes[2].facts->spill_store_bytes, 0);
  EXPECT_EQ(codes[2].facts->budget.status, BudgetStatus::in_force);
  EXPECT_EQ(codes[3].facts->register_ceiling, 128);
}

TEST_F(PtxasSweep, TheAuthorsBoundsHoldInTheAuthorsCodeAlone) {
  const std::string ptx = ptx_of(kernel_file("decay_bounded.cu"));
  ASSERT_NE(ptx.find(".minnctapersm"), std::string::npos) << "nvcc writes the bounds of the source";
  Compilation compilation = begin(ptx);
  const std::vector<BuildCode> codes =
      codes_of(compilation, {{AuthorsOwn{}}, {CompilerDefault{}}, {RegisterCap{32}}, {RegisterCap{128}}});
  for (const BuildCode& code : codes) ASSERT_TRUE(code.facts) << code.failure;
  EXPECT_EQ(codes[0].facts->register_ceiling, 48) << "__launch_bounds__(256, 5)";
  EXPECT_EQ(codes[0].facts->max_threads_per_block, 256);
  EXPECT_EQ(codes[1].facts->max_threads_per_block, 0);
  EXPECT_EQ(codes[2].facts->register_ceiling, 32);
  EXPECT_EQ(codes[2].facts->budget.status, BudgetStatus::in_force);
  EXPECT_EQ(codes[3].facts->register_ceiling, 128);
  EXPECT_EQ(codes[3].facts->spill_store_bytes, 0);
}

TEST_F(PtxasSweep, WhereTheBlockIsFixedAMostOfRegistersBinds) {
  std::string ptx = ptx_of(kernel_file("decay_wide.cu"));
  const std::size_t body = ptx.find("\n{");
  ASSERT_NE(body, std::string::npos);
  ptx.insert(body, "\n.reqntid 256, 1, 1");
  Compilation compilation = begin(ptx);
  const std::vector<BuildCode> codes = codes_of(compilation, {{AuthorsOwn{}}, {MaxRegisters{40}}});
  ASSERT_TRUE(codes[0].facts && codes[1].facts) << codes[1].failure;
  EXPECT_EQ(codes[0].facts->required_threads_per_block, 256);
  EXPECT_EQ(codes[1].facts->required_threads_per_block, 256) << "the program's block stays";
  EXPECT_EQ(codes[1].facts->registers_per_thread, 40);
}

TEST_F(PtxasSweep, PtxOfOneGpuAloneIsCompiledForIt) {
  std::string ptx = ptx_of(kernel_file("decay_wide.cu"));
  ptx.insert(ptx.find(".target sm_90") + 13, "a");
  Compilation compilation = begin(ptx);
  EXPECT_TRUE(compilation.sweep->first_code().compiled);
}

TEST_F(PtxasSweep, OptionsThatAreForPtxasReachIt) {
  const std::string ptx = ptx_of(kernel_file("decay_wide.cu"));
  Compilation plain = begin(ptx);
  const std::string optimized = codes_of(plain, {{AuthorsOwn{}}})[0].facts->code_hash;
  Compilation less = begin(ptx, {"-Xptxas=-O1"});
  EXPECT_NE(codes_of(less, {{AuthorsOwn{}}})[0].facts->code_hash, optimized);
}

TEST_F(PtxasSweep, PtxOfANewerCudaSaysWhatIsNeeded) {
  std::string ptx = ptx_of(kernel_file("decay_wide.cu"));
  const std::size_t version = ptx.find(".version ") + 9;
  ptx.replace(version, ptx.find('\n', version) - version, "99.0");
  const std::string message = message_of([&] { begin(ptx); }, ErrorKind::source_not_compiled);
  EXPECT_NE(message.find("PTX of a newer CUDA needs its ptxas: name that by REGTUNE_PTXAS"), std::string::npos)
      << message;
  EXPECT_NE(message.find("Unsupported .version 99.0"), std::string::npos) << message;
  EXPECT_NE(message.find("ptxas k.ptx, line"), std::string::npos) << "under its own name: " << message;
}

TEST_F(PtxasSweep, AnotherCompilerForPtxIsRefused) {
  const std::string message =
      message_of([&] { begin(".version 9.0\n.target sm_90\n", {}, FrontEnd::nvcc); }, ErrorKind::usage);
  EXPECT_EQ(message, "k.ptx is PTX, which ptxas alone compiles; leave out --compiler nvcc");
}

TEST_F(PtxasSweep, AStudyOfAPtxFileHasCapsAndNoBounds) {
  AnalyzeRequest request;
  request.source = folder_.write("decay.ptx", ptx_of(kernel_file("decay_wide.cu")));
  request.architectures = "sm_90";
  request.cache = folder_.path() / "cache.db";
  request.flags.kernel = "decayWide";
  const Analysis analysis = analyze(request, quiet_);
  ASSERT_EQ(analysis.studies.size(), 1u);
  const TuningRecord& record = analysis.studies.front().record;
  EXPECT_TRUE(record.compiler.starts_with("ptxas ")) << record.compiler;
  EXPECT_EQ(record.signature, "decayWide(const float*, float*, unsigned long)");
  EXPECT_EQ(record.trials.size(), 2u + (255 - 24 + 1)) << "as it is, without a cap, and every cap";
  for (const Trial& trial : record.trials) {
    EXPECT_FALSE(std::holds_alternative<LaunchBounds>(trial.variant.policy));
    EXPECT_FALSE(trial.variant.choice.renamed);
  }
}

TEST(PtxasOptions, WhatIsPassedOnToPtxasStandsBare) {
  EXPECT_EQ(ptxas_options({"-Xptxas=-O1,-dlcm=cg", "-Xptxas", "-v", "--ptxas-options=-O2", "-lineinfo"}),
            (std::vector<std::string>{"-O1", "-dlcm=cg", "-v", "-O2", "-lineinfo"}));
  EXPECT_EQ(ptxas_options({"-Xptxas"}), std::vector<std::string>{"-Xptxas"});
}

}  // namespace
}  // namespace regtune
