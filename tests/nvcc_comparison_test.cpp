// Whether a gain holds in nvcc's builds, on a GPU made of numbers.
#include "nvcc_comparison.hpp"

#include <gtest/gtest.h>

#include "fake_bench.hpp"

namespace regtune {
namespace {

struct Setup {
  TuningRecord record;
  NvccBuilds builds;
};

Setup setup_with(Verdict::Kind kind) {
  Setup setup;
  setup.record.verdict.emplace();
  setup.record.verdict->kind = kind;
  setup.record.verdict->best_id = setup.record.verdict->best_in_source_id = kind == Verdict::Kind::improved ? 3 : 0;
  setup.builds.comparison.codes = {{0, 40, 0, 0, "", {}, 0, ""}, {3, 48, 0, 0, "", {}, 0, ""}};
  setup.builds.candidates = {{0, "k", "", {}}, {3, "k", "", {}}};
  return setup;
}

NvccCode confirmed(const std::map<int, FakeCode>& codes, Verdict::Kind kind = Verdict::Kind::improved) {
  Setup setup = setup_with(kind);
  FakeBench bench(codes, {}, 1);
  confirm_by_nvcc(bench, setup.record, 60, setup.builds);
  EXPECT_EQ(setup.builds.comparison.codes.front().finding, "") << "nothing is claimed of the author's code";
  return setup.builds.comparison.codes.back();
}

TEST(NvccComparison, AGainThatIsThereTooHolds) {
  const NvccCode code = confirmed({{0, {1.05}}, {3, {1.0}}});
  EXPECT_TRUE(code.finding.starts_with("the gain holds (1.0")) << code.finding;
  EXPECT_NEAR(code.speedup.median, 1.05, 0.002);
  EXPECT_GE(code.rounds, 30);
}

TEST(NvccComparison, AGainThatIsGoneDoesNotHold) {
  EXPECT_TRUE(confirmed({{0, {0.9}}, {3, {1.0}}}).finding.starts_with("the gain does not hold"));
}

TEST(NvccComparison, WithoutAWinnerNothingIsTimed) {
  EXPECT_EQ(confirmed({{0, {1.05}}, {3, {1.0}}}, Verdict::Kind::no_gain), (NvccCode{3, 48, 0, 0, "", {}, 0, ""}));
}

TEST(NvccComparison, WithoutNvccsCodeOfTheReferenceNothingIsTimed) {
  Setup setup = setup_with(Verdict::Kind::improved);
  setup.builds.candidates.erase(setup.builds.candidates.begin());
  FakeBench bench({{0, {1.05}}, {3, {1.0}}}, {}, 1);
  confirm_by_nvcc(bench, setup.record, 60, setup.builds);
  EXPECT_EQ(setup.builds.comparison.codes.back().finding, "");
}

}  // namespace
}  // namespace regtune
