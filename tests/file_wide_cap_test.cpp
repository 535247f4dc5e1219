// The one cap for a file, on runs that were recorded on an H200 and are taken here for kernels of one file, and on
// small ones made up.
#include "file_wide_cap.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "record_json.hpp"

namespace regtune {
namespace {

TuningRecord recorded(const std::string& name) {
  std::ifstream in(std::string(REGTUNE_SOURCE_FOLDER) + "/tests/data/h200/" + name + ".json");
  return record_from_json(nlohmann::json::parse(in), name);
}

TuningRecord weighted(TuningRecord record, double weight) {
  record.description = "weight = " + std::to_string(weight) + "\n";
  return record;
}

// Codes by the ratio of their times to the author's, each timed in `rounds` rounds whose noise is `noise`.
class MadeUp {
 public:
  explicit MadeUp(const std::string& name, double author_ms = 1) : author_ms_(author_ms) {
    record_.signature = record_.kernel = name;
    record_.gpu.emplace();
    record_.author_shape = {{4, 1, 1}, {256, 1, 1}, 0};
    add(AuthorsOwn{}, 1);
    record_.verdict.emplace();
  }
  MadeUp& add(const RegisterPolicy& policy, double ratio, int rounds = 60, double noise = 0.001) {
    Measurement measured;
    for (int round = 1; round <= rounds; ++round) {
      const double drift = 1 + 0.1 * (round % 7);  // of the GPU, in all codes of a round alike
      measured.race.push_back({round, author_ms_ * ratio * drift * (1 + noise * (round % 3 - 1))});
    }
    measured.time_ms = {author_ms_ * ratio, author_ms_ * ratio, author_ms_ * ratio};
    put(policy, measured);
    return *this;
  }
  MadeUp& same_as(const RegisterPolicy& policy, int id) {
    put(policy, SameCodeAs{id});
    return *this;
  }
  MadeUp& failing(const RegisterPolicy& policy) {
    put(policy, Faulted{"planted"});
    return *this;
  }
  MadeUp& best_in_source(int id) {
    record_.verdict->best_in_source_id = id;
    return *this;
  }
  MadeUp& own_bound(const std::string& bound) {
    record_.author_bounds = bound;
    record_.trials.front().facts->max_threads_per_block = 256;
    return *this;
  }
  TuningRecord& record() { return record_; }

 private:
  void put(const RegisterPolicy& policy, const Outcome& outcome) {
    StaticFacts facts;
    facts.registers_per_thread = 32;
    facts.occupancy = Occupancy{4, 0.5, Limiter::registers};
    record_.trials.push_back({{static_cast<int>(record_.trials.size()), policy, record_.author_shape.block},
                              record_.author_shape,
                              facts,
                              outcome});
  }
  double author_ms_;
  TuningRecord record_;
};

TEST(FileWideCap, IsTheOneThatRecordedKernelsShareBest) {
  const FileWideChoice choice = file_wide_cap({recorded("decay_wide"), recorded("matmul_registers")});
  ASSERT_TRUE(choice.cap) << choice.why_none;
  const FileWideCap& file = *choice.cap;
  EXPECT_EQ(file.caps_compared, 197) << "of 232: the others left a race after one launch";
  EXPECT_EQ(file.registers_per_thread, 88) << "87 is faster by a tenth of the margin, and 88 leaves more room";
  EXPECT_NEAR(1 / file.speedup.median, 0.8925, 1e-3) << "by tests/file_wide_figures.py";
  EXPECT_NEAR(1 / file.speedup_of_bounds.median, 0.8531, 1e-3);
  EXPECT_NEAR(file.loss.median, 0.8925 / 0.8531 - 1, 0.01) << "each kernel's loss is paired by its own rounds";
  EXPECT_LE(file.loss.low, file.loss.median);
  EXPECT_GE(file.loss.high, file.loss.median);
  ASSERT_EQ(file.kernels.size(), 2u);
  EXPECT_NEAR(file.kernels[0].share, 0.5713, 0.001);
  EXPECT_EQ(file.kernels[0].best_bound, "__launch_bounds__(256)");
  EXPECT_EQ(file.kernels[1].best_bound, "__launch_bounds__(256, 2)");
  EXPECT_LT(file.kernels[1].loss.median, 0) << "the best bound is slower there than this cap";
  EXPECT_NE(file_wide_text(choice).find("by __launch_bounds__(256, 2): gains 0.7 % (0.6 % to 0.8 %)"),
            std::string::npos)
      << file_wide_text(choice);
  EXPECT_FALSE(file.enough_rounds) << "caps that lose to a bound leave the race early";
  EXPECT_NE(file_wide_text(choice).find("too few for 99 % confidence"), std::string::npos) << file_wide_text(choice);
}

TEST(FileWideCap, AKernelWithABoundOfItsOwnStaysAtTheAuthorsCode) {
  const FileWideChoice choice = file_wide_cap({recorded("decay_wide"), recorded("decay_bounded")});
  ASSERT_TRUE(choice.cap) << choice.why_none;
  const KernelUnderCap& bounded = choice.cap->kernels[1];
  EXPECT_EQ(bounded.own_bound, "it has its own __launch_bounds__(256, 5)");
  EXPECT_EQ(bounded.speedup.median, 1);
  EXPECT_EQ(bounded.speedup.low, 1);
  EXPECT_NEAR(bounded.loss.median, 1 / 0.2513 - 1, 0.02) << "its own bound is what costs, and no cap cures it";
  EXPECT_NEAR(1 / choice.cap->speedup.median, 0.99, 0.002);
  EXPECT_FALSE(choice.cap->gains && choice.cap->speedup.median < 1.005);
}

TEST(FileWideCap, WeightsSayHowOftenAKernelIsLaunched) {
  const auto choice_with = [](double weight) {
    MadeUp a("a"), b("b");
    a.add(RegisterCap{32}, 0.8).add(RegisterCap{64}, 0.95).add(LaunchBounds{256, 4}, 0.8).best_in_source(3);
    b.add(RegisterCap{32}, 1.1).add(RegisterCap{64}, 0.9).add(LaunchBounds{256, 3}, 0.9).best_in_source(3);
    return file_wide_cap({a.record(), weighted(b.record(), weight)});
  };
  EXPECT_EQ(choice_with(1).cap->registers_per_thread, 64) << "0.925 of the time against 0.95";
  EXPECT_EQ(choice_with(0.25).cap->registers_per_thread, 32) << "0.86 against 0.94";
  EXPECT_DOUBLE_EQ(choice_with(3).cap->kernels[1].share, 0.75);
  EXPECT_NE(file_wide_text(choice_with(3)).find("75 % of the time (weight 3)"), std::string::npos)
      << file_wide_text(choice_with(3));
}

TEST(FileWideCap, WithoutWeightsALongerKernelCountsForMore) {
  MadeUp a("a", 10), b("b", 1);
  a.add(RegisterCap{32}, 0.9).add(RegisterCap{64}, 1);
  b.add(RegisterCap{32}, 1.2).add(RegisterCap{64}, 0.8);
  const FileWideChoice choice = file_wide_cap({a.record(), b.record()});
  EXPECT_EQ(choice.cap->registers_per_thread, 32);
  EXPECT_NEAR(choice.cap->kernels[0].share, 10.0 / 11, 1e-9);
}

TEST(FileWideCap, OnlyCapsThatWereTimedInEveryKernelCount) {
  MadeUp a("a"), b("b");
  a.add(RegisterCap{32}, 0.5).add(RegisterCap{48}, 0.7).add(RegisterCap{64}, 0.9).add(RegisterCap{80}, 0.6);
  b.failing(RegisterCap{32}).add(RegisterCap{48}, 1, 1).add(RegisterCap{64}, 0.9).same_as(RegisterCap{80}, 3);
  const FileWideChoice choice = file_wide_cap({a.record(), b.record()});
  EXPECT_EQ(choice.cap->caps_compared, 2) << "32 faulted in b, and one round of 48 is no measurement";
  EXPECT_EQ(choice.cap->registers_per_thread, 80) << "in b it is the code of the cap of 64";
  EXPECT_NEAR(choice.cap->kernels[1].speedup.median, 1 / 0.9, 1e-3);
}

TEST(FileWideCap, GainsOnlyWhereTheWholeIntervalLiesAboveTheMargin) {
  const auto of = [](double ratio, int rounds, double noise) {
    MadeUp a("a"), b("b");
    a.add(RegisterCap{64}, ratio, rounds, noise);
    b.add(RegisterCap{64}, ratio, rounds, noise);
    return file_wide_cap({a.record(), b.record()});
  };
  const FileWideChoice clear = of(0.9, 60, 0.0001);
  EXPECT_TRUE(clear.cap->gains);
  EXPECT_TRUE(clear.cap->enough_rounds);
  EXPECT_EQ(file_wide_text(clear).find("too few"), std::string::npos);
  EXPECT_FALSE(of(0.999, 60, 0.0001).cap->gains);
  EXPECT_NE(file_wide_text(of(0.999, 60, 0.0001)).find("leave it out"), std::string::npos);
  EXPECT_FALSE(of(0.98, 60, 0.05).cap->gains) << "within the noise";
  EXPECT_FALSE(of(0.9, 4, 0.0001).cap->enough_rounds);
}

TEST(FileWideCap, TiesGoToTheCapThatWasCompiledThenToTheLargest) {
  MadeUp a("a"), b("b");
  for (MadeUp* kernel : {&a, &b})
    kernel->add(RegisterCap{60}, 0.9).same_as(RegisterCap{61}, 1).same_as(RegisterCap{62}, 1);
  EXPECT_EQ(file_wide_cap({a.record(), b.record()}).cap->registers_per_thread, 62);
  b.record().trials.back().facts->budget.status = BudgetStatus::inferred;
  EXPECT_EQ(file_wide_cap({a.record(), b.record()}).cap->registers_per_thread, 61);
}

TEST(FileWideCap, SaysWhyThereIsNone) {
  MadeUp a("a"), b("b");
  a.add(RegisterCap{32}, 0.9);
  b.add(RegisterCap{64}, 0.9);
  EXPECT_EQ(file_wide_cap({a.record(), b.record()}).why_none, "no cap was timed in every kernel");
  EXPECT_EQ(file_wide_cap({a.record()}).why_none, "fewer than two kernels were timed");
  a.own_bound("256, 4");
  b.own_bound("128");
  EXPECT_NE(file_wide_cap({a.record(), b.record()}).why_none.find("bound of its own"), std::string::npos);
  b.record().verdict.reset();
  EXPECT_EQ(file_wide_cap({a.record(), b.record()}).why_none, "b was not timed");
  const std::string text = file_wide_text(file_wide_cap({a.record(), b.record()}));
  EXPECT_NE(text.find("none is named: b was not timed"), std::string::npos) << text;
}

TEST(FileWideCap, TheTextNamesEachKernelsLossAndWhatAFlagIs) {
  MadeUp a("a(float*)"), b("b(float*)");
  a.add(RegisterCap{32}, 0.8).add(LaunchBounds{256, 4}, 0.75).best_in_source(2);
  b.own_bound("256, 5");
  const std::string text = file_wide_text(file_wide_cap({a.record(), b.record()}));
  EXPECT_NE(text.find("--maxrregcount=32: the file is 1.111x"), std::string::npos) << text;
  EXPECT_NE(text.find("  a(float*): 50 % of the time; 1.250x"), std::string::npos) << text;
  EXPECT_NE(text.find("1.333x by __launch_bounds__(256, 4): loses 6.7 %"), std::string::npos) << text;
  EXPECT_NE(text.find("stays at the author's code: it has its own __launch_bounds__(256, 5), and no cap changes it"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("a bound travels with its kernel"), std::string::npos);
}

}  // namespace
}  // namespace regtune
