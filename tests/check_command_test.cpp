#include "check_command.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

using Texts = std::vector<std::string>;

CheckedKernel kernel(int registers, int spilled = 0, int stack = 0, int shared = 0) {
  return {"sm_90", "_Z1fPf", "f(float*)", registers,   spilled,
          spilled, stack,    shared,      {256, 1, 1}, Occupancy{4, 0.5, Limiter::registers},
          ""};
}

TEST(CheckLimits, ArePassedAtTheLimitAndBrokenAboveIt) {
  const CheckLimits limits{8, 64, 0.5, 16};
  EXPECT_EQ(compare_with_limits({kernel(64, 4, 16)}, limits).breaches, Texts{});
  const Texts breaches = compare_with_limits({kernel(65, 5, 17)}, limits).breaches;
  EXPECT_EQ(breaches, (Texts{"f(float*), sm_90: spills 10 bytes (5 stored, 5 loaded per thread), and 8 are allowed",
                             "f(float*), sm_90: takes 65 registers, and 64 are allowed",
                             "f(float*), sm_90: has a stack frame of 17 bytes, and 16 are allowed"}));
}

TEST(CheckLimits, OfNothingAreNeverBroken) {
  EXPECT_EQ(compare_with_limits({kernel(255, 1000, 2000)}, {}).breaches, Texts{});
}

TEST(CheckLimits, CountAKernelThatCannotBeLaunchedAsABreachOfOccupancy) {
  CheckedKernel refused = kernel(255);
  refused.occupancy.reset();
  refused.why_not_launchable = "too many registers";
  EXPECT_EQ(compare_with_limits({refused}, {{}, {}, 0.1, {}}).breaches,
            Texts{"f(float*), sm_90: cannot be launched: too many registers"});
  const Texts low = compare_with_limits({kernel(64)}, {{}, {}, 0.75, {}}).breaches;
  ASSERT_EQ(low.size(), 1u);
  EXPECT_NE(low[0].find("occupancy of 0.500 with blocks of 256 threads, limited by registers"), std::string::npos);
}

TEST(Baseline, BreachesWhereWorseAndNotesWhereBetter) {
  const Baseline baseline{"NVRTC 12.9", {kernel(64, 4, 8, 100)}};
  const CheckFindings same = compare_with_baseline({kernel(64, 4, 8, 100)}, "NVRTC 13.0", baseline);
  EXPECT_EQ(same.breaches, Texts{});
  EXPECT_EQ(same.notes, Texts{});
  const CheckFindings worse = compare_with_baseline({kernel(65, 6, 8, 100)}, "NVRTC 13.0", baseline);
  EXPECT_EQ(worse.notes, Texts{});
  EXPECT_EQ(worse.breaches,
            (Texts{"f(float*), sm_90: registers: 65, and 64 in the baseline (NVRTC 12.9 then, NVRTC 13.0 now)",
                   "f(float*), sm_90: spill bytes: 12, and 8 in the baseline (NVRTC 12.9 then, NVRTC 13.0 now)"}));
  const CheckFindings better = compare_with_baseline({kernel(60, 4, 8, 100)}, "NVRTC 12.9", baseline);
  EXPECT_EQ(better.breaches, Texts{});
  EXPECT_EQ(better.notes, Texts{"f(float*), sm_90: registers: 60, and 64 in the baseline: improved, refresh it with "
                                "--write-baseline"});
}

TEST(Baseline, ComparesWithTheSameArchitectureOnly) {
  CheckedKernel other = kernel(32);
  other.architecture = "sm_80";
  const CheckFindings findings = compare_with_baseline({kernel(64)}, "NVRTC 13.0", {"NVRTC 13.0", {other}});
  EXPECT_EQ(findings.breaches, Texts{});
  EXPECT_EQ(findings.notes, Texts{"f(float*), sm_90: not in the baseline: add it with --write-baseline"});
}

TEST(Baseline, SurvivesARoundTrip) {
  const Baseline read = baseline_from_text(baseline_json({kernel(64, 4, 8, 100)}, "NVRTC 13.0").dump(), "b.json");
  EXPECT_EQ(read.compiler, "NVRTC 13.0");
  ASSERT_EQ(read.kernels.size(), 1u);
  EXPECT_EQ(read.kernels[0].architecture, "sm_90");
  EXPECT_EQ(read.kernels[0].kernel, "_Z1fPf");
  EXPECT_EQ(read.kernels[0].registers_per_thread, 64);
  EXPECT_EQ(read.kernels[0].spill_load_bytes, 4);
  EXPECT_EQ(read.kernels[0].stack_frame_bytes, 8);
  EXPECT_EQ(read.kernels[0].static_shared_bytes, 100);
}

TEST(Baseline, RefusesWhatIsNone) {
  nlohmann::json good = baseline_json({kernel(64)}, "NVRTC 13.0");
  nlohmann::json newer = good, negative = good, text = good, real = good, without = good;
  newer["regtune_baseline"] = 2;
  negative["kernels"][0]["registers_per_thread"] = -1;
  text["kernels"][0]["registers_per_thread"] = "64";
  real["kernels"][0]["registers_per_thread"] = 64.5;
  without["kernels"][0].erase("kernel");
  for (const std::string& document : {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
                                      newer.dump(), negative.dump(), text.dump(), real.dump(), without.dump()}) {
    try {
      baseline_from_text(document, "b.json");
      ADD_FAILURE() << document << " was taken";
    } catch (const Error& refused) {
      EXPECT_EQ(refused.kind(), ErrorKind::bad_description);
      EXPECT_NE(std::string(refused.what()).find("--baseline b.json: not a baseline"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace regtune
