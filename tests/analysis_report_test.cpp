#include "analysis_report.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace regtune {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Code {
  RegisterPolicy policy;
  int ceiling = 255;
  int spilled = 0;  // stored, and loaded once
  int stack = 0;
  Budget budget = {};
};

TuningRecord record_of(const std::vector<Code>& codes) {
  TuningRecord record;
  record.architecture = "sm_90";
  record.signature = "f(float*)";
  record.author_shape = {{1, 1, 1}, {256, 1, 1}, 0};
  for (const Code& code : codes) {
    Trial trial{
        {static_cast<int>(record.trials.size()), code.policy, {256, 1, 1}}, record.author_shape, {}, NotTimed{}};
    trial.facts.emplace();
    trial.facts->registers_per_thread = trial.facts->register_ceiling = code.ceiling;
    trial.facts->spill_store_bytes = trial.facts->spill_load_bytes = code.spilled;
    trial.facts->stack_frame_bytes = code.stack;
    trial.facts->budget = code.budget;
    trial.facts->code_hash = std::to_string(record.trials.size());
    trial.facts->occupancy = Occupancy{4, 0.5, Limiter::registers};
    record.trials.push_back(trial);
  }
  return record;
}

TEST(Diagnosis, NamesTheSmallestCapAndTheTightestBoundThatCureSpills) {
  const auto texts = diagnosis(record_of({{AuthorsOwn{}, 48, 100, 104},
                                          {RegisterCap{62}, 62, 8, 8},
                                          {RegisterCap{63}, 63},
                                          {RegisterCap{64}, 64},
                                          {LaunchBounds{256, 3}, 80},
                                          {LaunchBounds{256, 4}, 64},
                                          {LaunchBounds{256, 5}, 48, 100, 104}}));
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_TRUE(holds(texts[0], "the author's code stores 100 and loads 100 bytes")) << texts[0];
  EXPECT_TRUE(holds(texts[0], "48 registers were not enough")) << texts[0];
  EXPECT_TRUE(holds(texts[0], "more registers cure it: --maxrregcount=63 is the smallest cap")) << texts[0];
  EXPECT_TRUE(holds(texts[0], "__launch_bounds__(256, 4) the tightest bound")) << texts[0];
}

TEST(Diagnosis, NamesTheCapAboveWhichNothingSpillsWhereASmallerOneHappensNotTo) {
  const auto texts = diagnosis(record_of({{AuthorsOwn{}, 255},
                                          {RegisterCap{58}, 58, 8, 8},
                                          {RegisterCap{59}, 59},
                                          {RegisterCap{67}, 67, 12, 12},
                                          {RegisterCap{68}, 68}}));
  EXPECT_EQ(texts.front(),
            "spills: none in the author's code; --maxrregcount=59 is the smallest cap without spills (some above it "
            "spill again, none above 67)");
}

TEST(Diagnosis, SaysSoWhereEveryBudgetSpills) {
  const auto texts = diagnosis(record_of({{AuthorsOwn{}, 255, 40, 40}, {RegisterCap{255}, 255, 40, 40}}));
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_TRUE(holds(texts[0], "every budget spills, so none cures it")) << texts[0];
  EXPECT_FALSE(holds(texts[0], "more registers cure it")) << texts[0];
}

TEST(Diagnosis, TellsAStackFrameFromSpills) {
  const auto texts = diagnosis(
      record_of({{AuthorsOwn{}, 255, 0, 128}, {RegisterCap{40}, 40, 20, 152}, {RegisterCap{80}, 80, 0, 128}}));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_TRUE(holds(texts[0], "none in the author's code; --maxrregcount=80")) << texts[0];
  EXPECT_TRUE(holds(texts[1], "stack frame: 128 bytes also where nothing spills")) << texts[1];
  EXPECT_TRUE(holds(texts[1], "compile-time constant")) << texts[1];
}

TEST(Diagnosis, HasNothingToSayOfAFrameThatHoldsSpillsOnly) {
  const auto texts = diagnosis(record_of({{AuthorsOwn{}, 64}, {RegisterCap{40}, 40, 20, 24}}));
  for (const std::string& text : texts) EXPECT_FALSE(holds(text, "stack frame")) << text;
}

TEST(Diagnosis, GroupsBudgetsByTheReasonWhyTheyAreNotInForce) {
  const auto overridden = [](int cap) {
    return Budget{BudgetStatus::overridden, cap,
                  "--maxrregcount=" + std::to_string(cap) + " is ignored: the ceiling of 64 is set by X"};
  };
  const auto texts =
      diagnosis(record_of({{AuthorsOwn{}, 64},
                           {RegisterCap{40}, 64, 0, 0, overridden(40)},
                           {RegisterCap{41}, 64, 0, 0, overridden(41)},
                           {RegisterCap{255}, 64, 0, 0, {BudgetStatus::inert, 255, "255 does not bind"}}}));
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0], "spills: none under any budget");
  EXPECT_EQ(texts[1], "inert: --maxrregcount=255: 255 does not bind");
  EXPECT_EQ(texts[2], "overridden: --maxrregcount=40..41: --maxrregcount=40 is ignored: the ceiling of 64 is set by X");
}

TEST(Diagnosis, NamesAllInferredCapsInOneLine) {
  const auto inferred = [](int cap, int step) {
    return Budget{BudgetStatus::inferred, cap, fmt::format("not compiled: --maxrregcount={} and more", step)};
  };
  const auto texts = diagnosis(record_of({{AuthorsOwn{}, 64},
                                          {RegisterCap{105}, 64, 0, 0, inferred(105, 104)},
                                          {RegisterCap{112}, 64},
                                          {RegisterCap{113}, 64, 0, 0, inferred(113, 112)}}));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[1],
            "inferred: --maxrregcount=105, --maxrregcount=113: not compiled: the caps around each give one code");
}

TEST(Diagnosis, SaysOfWhichBudgetsNothingIsKnown) {
  TuningRecord record = record_of({{AuthorsOwn{}, 64}, {RegisterCap{40}, 40}, {RegisterCap{41}, 41}});
  for (const std::size_t i : {1, 2}) {
    record.trials[i].facts.reset();
    record.trials[i].outcome = NotCompiled{"the time was up"};
  }
  const auto texts = diagnosis(record);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[1], "not compiled: 2 budgets, of which nothing is known: --maxrregcount=40..41: the time was up");
}

TEST(Ceilings, JoinNeighboursOfOneBlockSize) {
  const auto texts = ceilings(record_of({{AuthorsOwn{}},
                                         {LaunchBounds{256, 0}, 255},
                                         {LaunchBounds{256, 1}, 255},
                                         {LaunchBounds{256, 2}, 128},
                                         {LaunchBounds{512, 1}, 128}}));
  EXPECT_EQ(texts, (std::vector<std::string>{"__launch_bounds__(256), __launch_bounds__(256, 1): 255 registers",
                                             "__launch_bounds__(256, 2): 128 registers",
                                             "__launch_bounds__(512, 1): 128 registers"}));
}

TEST(AnalysisText, ShowsWhatFailedBesideWhatDidNot) {
  Analysis analysis{"NVRTC 13.0", "/tmp/c.db", {}};
  analysis.studies.push_back({record_of({{AuthorsOwn{}, 64}, {RegisterCap{40}, 40, 20, 24}}), 2, 0, ""});
  analysis.studies.push_back({{}, 0, 0, "k.cu: does not compile"});
  analysis.studies.back().record.architecture = "sm_75";
  const std::string text = analysis_text(analysis, {});
  EXPECT_TRUE(holds(text, "sm_90: f(float*)   block 256   shared memory 0 bytes")) << text;
  EXPECT_TRUE(holds(text, "2 budgets -> 2 distinct codes")) << text;
  EXPECT_TRUE(holds(text, "20/20")) << text;
  EXPECT_TRUE(holds(text, "sm_75: k.cu: does not compile")) << text;
  const nlohmann::json json = analysis_json(analysis);
  EXPECT_EQ(json["studies"][0]["distinct_codes"], 2);
  EXPECT_EQ(json["studies"][1]["failure"], "k.cu: does not compile");
}

}  // namespace
}  // namespace regtune
