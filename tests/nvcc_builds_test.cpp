// Whether a gain holds in nvcc's builds, on a GPU made of numbers.
#include "nvcc_builds.hpp"

#include <gtest/gtest.h>

#include "fake_bench.hpp"

namespace regtune {
namespace {

struct Situation {
  TuningRecord record;
  NvccCodes codes;
};

Situation situation_with(Verdict::Kind kind) {
  Situation situation;
  situation.record.verdict.emplace();
  situation.record.verdict->kind = kind;
  situation.record.verdict->best_id = situation.record.verdict->best_in_source_id =
      kind == Verdict::Kind::improved ? 3 : 0;
  situation.codes.comparison.codes = {{0, 40, 0, 0, "", {}, 0, ""}, {3, 48, 0, 0, "", {}, 0, ""}};
  // Behind those of NVRTC's codes: a bench that had loaded one of them would time that one again.
  situation.record.trials.resize(4);
  situation.codes.candidates = {{4, "k", "", {}}, {7, "k", "", {}}};
  return situation;
}

NvccCode confirmed(const std::map<int, FakeCode>& codes, Verdict::Kind kind = Verdict::Kind::improved) {
  Situation situation = situation_with(kind);
  FakeBench bench(codes, {}, 1);
  confirm_by_nvcc(bench, situation.record, 60, situation.codes);
  EXPECT_EQ(situation.codes.comparison.codes.front().finding, "") << "nothing is claimed of the author's code";
  return situation.codes.comparison.codes.back();
}

TEST(NvccComparison, AGainThatIsThereTooHolds) {
  const NvccCode code = confirmed({{4, {1.05}}, {7, {1.0}}});
  EXPECT_TRUE(code.finding.starts_with("the gain holds (1.0")) << code.finding;
  EXPECT_NEAR(code.speedup.median, 1.05, 0.002);
  EXPECT_GE(code.rounds, 30);
}

TEST(NvccComparison, AGainThatIsGoneDoesNotHold) {
  EXPECT_TRUE(confirmed({{4, {0.9}}, {7, {1.0}}}).finding.starts_with("the gain does not hold"));
}

TEST(NvccComparison, AGainWithinTheMarginDoesNotHold) {
  const NvccCode code = confirmed({{4, {1.003}}, {7, {1.0}}});
  EXPECT_TRUE(code.finding.starts_with("the gain does not hold (1.00")) << code.finding;
}

TEST(NvccComparison, WithoutAWinnerNothingIsTimed) {
  EXPECT_EQ(confirmed({{4, {1.05}}, {7, {1.0}}}, Verdict::Kind::no_gain), (NvccCode{3, 48, 0, 0, "", {}, 0, ""}));
}

TEST(NvccComparison, WithoutNvccsCodeOfTheReferenceNothingIsTimed) {
  Situation situation = situation_with(Verdict::Kind::improved);
  situation.codes.candidates.erase(situation.codes.candidates.begin());
  FakeBench bench({{4, {1.05}}, {7, {1.0}}}, {}, 1);
  confirm_by_nvcc(bench, situation.record, 60, situation.codes);
  EXPECT_EQ(situation.codes.comparison.codes.back().finding, "");
}

}  // namespace
}  // namespace regtune
