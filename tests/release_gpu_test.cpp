// A bundle is timed on a real GPU where no compiler can be found, and what it gives leaves the cache again. The program
// may be carried to a machine with a GPU (gpu_test.cpp).
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "on_gpu.hpp"
#include "program.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

constexpr const char* kSpill = R"cuda(/*regtune
kernel = "spill"
sizes = { n = "1 << 22" }
block = 256
grid = "ceil_div(n, block)"
[args]
in = { buffer = "n", init = "uniform(0, 1)" }
out = { buffer = "n", output = true }
n = "n"
*/
#include "steps.h"
__global__ void __launch_bounds__(256, 8) spill(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float state[40];
  for (int k = 0; k < 40; ++k) state[k] = in[i] + k;
  for (int step = 0; step < STEPS; ++step)
    for (int k = 0; k < 40; ++k) state[k] = state[k] * 0.99f + state[(k + 1) % 40] * 0.01f;
  float sum = 0;
  for (int k = 0; k < 40; ++k) sum += state[k];
  out[i] = sum;
}
)cuda";

class ReleaseGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
    program_.write("spill.cu", kSpill);
    program_.write("steps.h", "#define STEPS 60\n");
  }

  std::string said(const std::vector<std::string>& arguments, int exit_code = 0) {
    const Ending ending = program_.run(arguments);
    EXPECT_EQ(ending.exit_code, exit_code) << ending.out << ending.err;
    return ending.out;
  }

  Program program_{false};
};

TEST_F(ReleaseGpu, ABundleIsTimedWithoutACompilerAndAnswersLookups) {
  const std::string tag = said({"tag", "spill.cu"}).substr(0, 32);
  said({"bundle", "spill.cu", "-o", "spill.rtb", "--no-rename", "--quiet"});
  for (const char* name : {"spill.cu", "steps.h"}) std::filesystem::remove(program_.folder() / name);
  setenv("REGTUNE_NVRTC", "/nowhere/libnvrtc.so", 1);
  setenv("REGTUNE_NVJITLINK", "/nowhere/libnvJitLink.so", 1);
  const TuningRecord run = record_from_json(
      nlohmann::json::parse(said({"spill.rtb", "--json", "--quiet", "--budget", "10", "--no-rename"})), "stdout");
  unsetenv("REGTUNE_NVRTC");
  unsetenv("REGTUNE_NVJITLINK");
  ASSERT_TRUE(run.verdict);
  EXPECT_EQ(run.verdict->kind, Verdict::Kind::improved) << "eight blocks of 256 threads leave it 32 registers";
  EXPECT_EQ(run.source_hash, tag);
  EXPECT_GT(run.verdict->speedup.low, 1.05);
  EXPECT_TRUE(holds(said({"lookup", "spill", "--set", "n=1<<22"}), "faster than the author's code"));
  // With or without a bound: several budgets give the fastest code, and the author's own bound is the slow one.
  const std::string header = said({"export", "spill"});
  EXPECT_TRUE(holds(header, "__CUDA_ARCH__ == 900\n#define REGTUNE_BOUNDS_spill"));
  EXPECT_FALSE(holds(header, "REGTUNE_BOUNDS_spill __launch_bounds__(256, 8)"));
  EXPECT_TRUE(holds(header, "over the author's code, n=4194304"));
  said({"export", "-o", "tuned.db"});
  EXPECT_TRUE(holds(said({"db", "verify", "tuned.db"}), "1 runs, 1 answers"));
}

TEST_F(ReleaseGpu, SeveralSizesAreTunedInOneRunAndExportedAsOneBudget) {
  const nlohmann::json runs = nlohmann::json::parse(
      said({"spill.cu", "--set", "n=1<<18,1<<22", "--json", "--quiet", "--budget", "10", "--no-rename"}));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs.at(0).at("sizes").at("n"), 1 << 18);
  const nlohmann::json exported = nlohmann::json::parse(said({"export", "spill", "--json", "--quiet"}));
  EXPECT_EQ(exported.at("kernels").at(0).at("in_source").at("sizes").size(), 2u);
  EXPECT_TRUE(holds(said({"export", "spill", "--weight", "n=1<<22:9"}), "weight 90 %"));
  // The codes of the winners go along.
  said({"export", "-o", "tuned.db"});
  EXPECT_FALSE(holds(said({"db", "verify", "tuned.db"}), " 0 codes"));
}

}  // namespace
}  // namespace regtune
