// nvcc's codes on a real GPU: a winner of NVRTC's confirmed there, and a tuning by nvcc alone, of a file with all its
// host code. Skipped where there is no nvcc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compile.hpp"
#include "on_gpu.hpp"
#include "program.hpp"
#include "record_json.hpp"

namespace regtune {
namespace {

class NvccOnGpu : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    CompilePool pool(1, 60);
    if (!pool.nvcc()) GTEST_SKIP() << pool.why_no_nvcc();
  }

  TuningRecord tuned(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--quiet"});
    const Ending ending = program_.run(arguments);
    if (ending.exit_code != 0) throw std::runtime_error(ending.err);
    return record_from_json(nlohmann::json::parse(ending.out), "stdout");
  }

  std::string bounded() const { return source_folder() / "kernels/decay_bounded.cu"; }

  Program program_{false};
};

TEST_F(NvccOnGpu, AGainOfNvrtcsIsConfirmedInNvccsBuilds) {
  const TuningRecord record = tuned({bounded(), "--confirm", "nvcc", "--no-rename"});
  ASSERT_TRUE(record.verdict);
  ASSERT_EQ(record.verdict->kind, Verdict::Kind::improved) << record.verdict->reason;
  ASSERT_TRUE(record.nvcc);
  ASSERT_GE(record.nvcc->codes.size(), 2u);
  for (const NvccCode& code : record.nvcc->codes) {
    EXPECT_EQ(code.failure, "");
    EXPECT_GT(code.registers_per_thread, 0);
    EXPECT_EQ(code.finding.empty(), code.variant_id == 0) << code.finding;
  }
  const NvccCode& winner = record.nvcc->codes.at(1);
  EXPECT_TRUE(winner.finding.starts_with("the gain holds")) << winner.finding;
  EXPECT_NEAR(winner.speedup.median, record.verdict->speedup.median, 0.1);
  // What was stored says the same.
  const Ending answer = program_.run({"lookup", "decayBounded", "--set", "n=16777216"});
  EXPECT_TRUE(holds(answer.out, "built by nvcc, ")) << answer.err;
}

TEST_F(NvccOnGpu, WithoutConfirmationNothingOfItIsTimed) {
  const TuningRecord record = tuned({bounded(), "--no-rename"});
  ASSERT_TRUE(record.nvcc);
  for (const NvccCode& code : record.nvcc->codes) EXPECT_EQ(code.finding, "");
  EXPECT_FALSE(tuned({bounded(), "--no-rename", "--compiler", "nvrtc"}).nvcc);
}

TEST_F(NvccOnGpu, NvccAloneTunesLikeNvrtc) {
  const TuningRecord record = tuned({bounded(), "--compiler", "nvcc", "--no-rename"});
  EXPECT_TRUE(record.compiler.starts_with("nvcc ")) << record.compiler;
  EXPECT_TRUE(record.route.starts_with("nvcc, LTO-IR once")) << record.route;
  ASSERT_TRUE(record.verdict);
  EXPECT_EQ(record.verdict->kind, Verdict::Kind::improved) << record.verdict->reason;
  EXPECT_FALSE(record.nvcc) << "there is nothing to compare with";
  EXPECT_EQ(program_.run({"verify", "decayBounded", "--set", "n=16777216"}).exit_code, 0);
}

}  // namespace
}  // namespace regtune
