// One budget for all sizes of a kernel: chosen among what was measured, with what each size loses by it.
#include "exported_budget.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "regtune/error.hpp"
#include "tuned_record.hpp"

namespace regtune {
namespace {

// At that size every budget with its speed-up over the author's code, which comes first.
struct Timed {
  RegisterPolicy policy;
  double speedup;
  int spill_bytes = 0;
};

TuningRecord run_of(std::int64_t n, const std::vector<Timed>& timed, const TunedAs& as = {}) {
  TuningRecord record = tuned_record(as);
  record.sizes = {{"n", n}};
  record.settings.margin = 0.005;
  record.trials.clear();
  int best = 0;
  for (const Timed& one : timed) {
    const int id = static_cast<int>(record.trials.size());
    StaticFacts facts;
    facts.spill_store_bytes = one.spill_bytes;
    Measurement measured;
    measured.speedup = {one.speedup * 0.99, one.speedup, one.speedup * 1.01};
    record.trials.push_back({{id, one.policy, {256, 1, 1}}, record.author_shape, facts, measured});
    if (one.speedup > timed[static_cast<std::size_t>(best)].speedup) best = id;
  }
  record.verdict->reference_id = 0;
  record.verdict->best_id = best;
  record.verdict->best_in_source_id = best;
  const double speedup = timed[static_cast<std::size_t>(best)].speedup;
  record.verdict->speedup = record.verdict->speedup_in_source = {speedup * 0.99, speedup, speedup * 1.01};
  return record;
}

const LaunchBounds three{256, 3};
const LaunchBounds four{256, 4};

TEST(ExportedBudget, OfOneSizeIsTheVerdicts) {
  const ExportedKernels exported = exported_kernels({tuned_record({})}, {});
  ASSERT_EQ(exported.kernels.size(), 1u);
  const ExportedKernel& kernel = exported.kernels.front();
  EXPECT_EQ(kernel.name, "sgemm");
  EXPECT_EQ(kernel.best.variant.policy, RegisterPolicy(RegisterCap{57}));
  EXPECT_EQ(kernel.in_source.variant.policy, RegisterPolicy(LaunchBounds{256, 4}));
  EXPECT_DOUBLE_EQ(kernel.best.speedup, 1.12);
  EXPECT_DOUBLE_EQ(kernel.in_source.speedup, 1.06);
  EXPECT_TRUE(exported.notes.empty());
}

TEST(ExportedBudget, OfSeveralSizesIsTheBestMeanAndSaysWhatEachLoses) {
  const ExportedKernels exported = exported_kernels({run_of(1024, {{AuthorsOwn{}, 1}, {three, 1.2}, {four, 1.1}}),
                                                     run_of(4096, {{AuthorsOwn{}, 1}, {three, 0.8}, {four, 1.15}})},
                                                    {});
  const ExportedChoice& choice = exported.kernels.at(0).in_source;
  EXPECT_EQ(choice.variant.policy, RegisterPolicy(four));
  EXPECT_NEAR(choice.speedup, std::sqrt(1.1 * 1.15), 1e-12);
  ASSERT_EQ(choice.shares.size(), 2u);
  EXPECT_NEAR(choice.shares[0].loss, 1.2 / 1.1 - 1, 1e-12);
  EXPECT_NEAR(choice.shares[1].loss, 0, 1e-12);
  EXPECT_DOUBLE_EQ(choice.shares[0].weight, 0.5);
}

TEST(ExportedBudget, FollowsTheWeights) {
  const std::vector<TuningRecord> runs{run_of(1024, {{AuthorsOwn{}, 1}, {three, 1.2}, {four, 1.1}}),
                                       run_of(4096, {{AuthorsOwn{}, 1}, {three, 0.9}, {four, 1.15}})};
  EXPECT_EQ(exported_kernels(runs, {{{{"n", 1024}}, 9}}).kernels.at(0).in_source.variant.policy, RegisterPolicy(three));
  EXPECT_EQ(exported_kernels(runs, {{{{"n", 4096}}, 9}}).kernels.at(0).in_source.variant.policy, RegisterPolicy(four));
  try {
    exported_kernels(runs, {{{{"n", 7}}, 9}});
    ADD_FAILURE() << "a weight of nothing was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("n=7"), std::string::npos) << error.what();
  }
}

TEST(ExportedBudget, LeavesTheAuthorsCodeWhereNothingIsBetterByMoreThanTheMargin) {
  const ExportedKernels exported = exported_kernels(
      {run_of(1024, {{AuthorsOwn{}, 1}, {three, 1.1}}), run_of(4096, {{AuthorsOwn{}, 1}, {three, 0.912}})}, {});
  EXPECT_EQ(exported.kernels.at(0).best.variant.policy, RegisterPolicy(AuthorsOwn{}));
  EXPECT_NEAR(exported.kernels.at(0).best.shares[0].loss, 0.1, 1e-12);
}

TEST(ExportedBudget, AmongEqualsTakesTheOneWithTheFewestSpillsAndThenTheSimplest) {
  const auto run = [](std::int64_t n) {
    return run_of(n, {{AuthorsOwn{}, 1}, {RegisterCap{64}, 1.2}, {three, 1.2, 8}, {four, 1.199}});
  };
  const ExportedKernels exported = exported_kernels({run(1024), run(4096)}, {});
  EXPECT_EQ(exported.kernels.at(0).best.variant.policy, RegisterPolicy(four));
}

TEST(ExportedBudget, TakesOnlyWhatWasMeasuredAtEverySize) {
  const ExportedKernels exported = exported_kernels(
      {run_of(1024, {{AuthorsOwn{}, 1}, {three, 1.5}, {four, 1.1}}), run_of(4096, {{AuthorsOwn{}, 1}, {four, 1.1}})},
      {});
  EXPECT_EQ(exported.kernels.at(0).in_source.variant.policy, RegisterPolicy(four));
}

TEST(ExportedBudget, NeverMixesSourcesAndSaysSo) {
  TunedAs older;
  older.source = "tag 0";
  const ExportedKernels exported = exported_kernels(
      {run_of(1024, {{AuthorsOwn{}, 1}, {four, 1.1}}), run_of(4096, {{AuthorsOwn{}, 1}, {three, 1.3}}, older),
       run_of(1024, {{AuthorsOwn{}, 1}, {three, 1.3}}, older)},
      {});
  ASSERT_EQ(exported.kernels.size(), 1u);
  EXPECT_EQ(exported.kernels[0].runs.size(), 1u);
  ASSERT_EQ(exported.notes.size(), 1u) << "the size that was tuned again needs no word";
  EXPECT_NE(exported.notes[0].find("n=4096"), std::string::npos) << exported.notes[0];
}

TEST(ExportedBudget, TakesTheNewestModelOfAnArchitectureAndNamesTheOther) {
  TunedAs h100;
  h100.gpu = {"NVIDIA H100", 9, 0, 114};
  TunedAs a100;
  a100.gpu = {"NVIDIA A100", 8, 0, 108};
  const ExportedKernels exported = exported_kernels({tuned_record({}), tuned_record(h100), tuned_record(a100)}, {});
  ASSERT_EQ(exported.kernels.size(), 2u);
  EXPECT_EQ(exported.kernels[0].newest().architecture, "sm_80");
  EXPECT_EQ(exported.kernels[1].newest().gpu->id.name, "NVIDIA H200");
  ASSERT_EQ(exported.notes.size(), 1u);
  EXPECT_NE(exported.notes[0].find("NVIDIA H100"), std::string::npos);
}

TEST(ExportedBudget, NamesAreLongEnoughToTellKernelsApart) {
  TunedAs one, other, lone;
  one.kernel = "_Z5scaleILi4EEvPf";
  one.signature = "void scale<4>(float*)";
  other.kernel = "_Z5scaleILi8EEvPf";
  other.signature = "void scale<8>(float*)";
  lone.kernel = "_ZN2ns4copyEPf";
  lone.signature = "ns::copy(float*)";
  const ExportedKernels exported = exported_kernels({tuned_record(one), tuned_record(other), tuned_record(lone)}, {});
  ASSERT_EQ(exported.kernels.size(), 3u);
  EXPECT_EQ(exported.kernels[0].name, "copy");
  EXPECT_EQ(exported.kernels[1].name, "scale_4");
  EXPECT_EQ(exported.kernels[2].name, "scale_8");
}

}  // namespace
}  // namespace regtune
