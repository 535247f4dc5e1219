// PTX on a real GPU: a file of it, and programs that carry it and nothing else. Skipped where there is no nvcc, which
// makes them.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "on_gpu.hpp"
#include "program.hpp"
#include "record_json.hpp"
#include "shell.hpp"
#include "toolkit.hpp"

namespace regtune {
namespace {

// Without an argument its kernel is in its own fat binary; with one it is loaded from that file by the driver.
constexpr const char* kProgram = R"(#include <cuda.h>
#include <cstdio>
#include <vector>
#include "decay_bounded.cu"
int main(int argc, char** argv) {
  unsigned long n = 1ul << 24;
  float *in, *out;
  cudaMalloc(&in, n * 4), cudaMalloc(&out, n * 4);
  std::vector<float> host(n);
  for (unsigned long i = 0; i < n; ++i) host[i] = float(i % 1000) / 1000;
  cudaMemcpy(in, host.data(), n * 4, cudaMemcpyHostToDevice);
  CUmodule module;
  CUfunction function;
  void* arguments[] = {&in, &out, &n};
  if (argc > 1 && (cuModuleLoad(&module, argv[1]) || cuModuleGetFunction(&function, module, "_Z12decayBoundedPKfPfm")))
    return 2;
  for (int i = 0; i < 20; ++i) {
    if (argc > 1)
      cuLaunchKernel(function, n / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
    else
      decayBounded<<<n / 256, 256>>>(in, out, n);
  }
  cudaMemcpy(host.data(), out, n * 4, cudaMemcpyDeviceToHost);
  unsigned sum = 0;
  for (float& x : host) sum = sum * 31 + *(unsigned*)&x;
  printf("%u %s\n", sum, cudaGetErrorString(cudaGetLastError()));
}
)";

class PtxOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (program_candidates(nvcc_program()).empty()) GTEST_SKIP() << "there is no nvcc here";
    if (program_candidates(ptxas_program()).empty()) GTEST_SKIP() << "there is no ptxas here";
    program_.write("decay_bounded.cu", text_of(source_folder() / "kernels/decay_bounded.cu"));
    program_.write("app.cu", kProgram);
  }
  void build(const std::string& words) const {
    const Said said = run("cd '" + program_.folder().string() + "' && '" +
                          program_candidates(nvcc_program()).front().string() + "' -O3 " + words);
    ASSERT_EQ(said.exit_code, 0) << said.text;
  }
  std::string unwatched(const std::string& arguments) const {
    return run("cd '" + program_.folder().string() + "' && ./app " + arguments).text;
  }
  TuningRecord recorded() const {
    return record_from_json(nlohmann::json::parse(text_of(program_.folder() / "run.json")), "run.json");
  }
  // The bound that has aged is found in its PTX too.
  static void expect_gain(const TuningRecord& record) {
    EXPECT_TRUE(record.compiler.starts_with("ptxas ")) << record.compiler;
    ASSERT_TRUE(record.verdict);
    ASSERT_EQ(record.verdict->kind, Verdict::Kind::improved) << record.verdict->reason;
    EXPECT_GT(record.verdict->speedup.low, 2) << "on an H200 NVRTC's codes gain 3.97x";
  }

  Program program_{false};
};

constexpr const char* kConfirm = "from PTX: confirm with a build";

TEST_F(PtxOnGpu, AFileIsTunedLikeASource) {
  build("-ptx -arch=compute_80 decay_bounded.cu");
  program_.write("decay_bounded.regtune.toml",
                 "kernel = \"decayBounded\"\n"
                 "sizes = { n = 16777216 }\n"
                 "block = 256\n"
                 "grid = \"ceil_div(n, block)\"\n"
                 "[args]\n"
                 "arg0 = { buffer = \"n\", init = \"uniform(0, 1)\" }\n"
                 "arg1 = { buffer = \"n\", output = true }\n"
                 "arg2 = \"n\"\n");
  const Ending ending = program_.run({"decay_bounded.ptx", "--budget", "20", "--quiet", "--record", "run.json"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(holds(ending.out, kConfirm));
  expect_gain(recorded());
  EXPECT_EQ(program_.run({"verify", "decayBounded", "--set", "n=16777216"}).exit_code, 0);
}

TEST_F(PtxOnGpu, OfAFileThatAProgramLoadsIsTunedInsideIt) {
  build("-ptx -arch=compute_80 decay_bounded.cu");
  build("-o app app.cu -lcuda");
  for (const char* where : {"", "--in-process"}) {
    SCOPED_TRACE(where);
    std::vector<std::string> words{"run", "-k", "decayBounded", "--budget", "20", "--quiet", "--record", "run.json"};
    if (*where) words.emplace_back(where);
    words.insert(words.end(), {"--", "./app", "decay_bounded.ptx"});
    const Ending ending = program_.run(words);
    EXPECT_EQ(ending.out, unwatched("decay_bounded.ptx")) << ending.err;
    EXPECT_TRUE(holds(ending.err, kConfirm));
    expect_gain(recorded());
  }
  const Ending applied = program_.run({"run", "--apply", "--", "./app", "decay_bounded.ptx"});
  EXPECT_EQ(applied.out, unwatched("decay_bounded.ptx"));
  EXPECT_TRUE(holds(applied.err, "20 launches with tuned code ("));
  EXPECT_TRUE(holds(applied.err, ", from PTX)"));
}

TEST_F(PtxOnGpu, InAProgramsFatBinaryIsTunedInsideIt) {
  if (program_candidates(cuobjdump_program()).empty()) GTEST_SKIP() << "there is no cuobjdump here";
  build("-gencode arch=compute_80,code=compute_80 -o app app.cu -lcuda");
  const Ending ending =
      program_.run({"run", "-k", "decayBounded", "--budget", "20", "--quiet", "--record", "run.json", "--", "./app"});
  EXPECT_EQ(ending.out, unwatched("")) << ending.err;
  EXPECT_TRUE(holds(ending.err, kConfirm));
  expect_gain(recorded());
  const Ending applied = program_.run({"run", "--apply", "--", "./app"});
  EXPECT_EQ(applied.out, unwatched(""));
  EXPECT_TRUE(holds(applied.err, ", from PTX)"));
}

}  // namespace
}  // namespace regtune
