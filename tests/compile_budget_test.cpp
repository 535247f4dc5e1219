#include "compile_budget.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

class CompileBudgetTest : public testing::Test {
 protected:
  CompileBudget budget_of(std::optional<double> limit_s) {
    return CompileBudget(limit_s, [this] { return now_; });
  }
  void pass(double seconds) {
    now_ += std::chrono::duration_cast<CompileBudget::Time::duration>(std::chrono::duration<double>(seconds));
  }

  CompileBudget::Time now_;
};

TEST_F(CompileBudgetTest, RunsOnlyWhileCompilersHaveWork) {
  CompileBudget budget = budget_of(10);
  pass(100);
  EXPECT_EQ(budget.used_s(), 0) << "nothing has begun";
  budget.run();
  pass(4);
  budget.run();  // it runs already
  pass(2);
  EXPECT_DOUBLE_EQ(budget.used_s(), 6);
  budget.stop();
  pass(100);
  EXPECT_DOUBLE_EQ(budget.used_s(), 6) << "the GPU had the time";
  budget.stop();
  EXPECT_FALSE(budget.spent());
  budget.run();
  pass(3.5);
  EXPECT_FALSE(budget.spent());
  pass(0.5);
  EXPECT_TRUE(budget.spent());
}

TEST_F(CompileBudgetTest, IsNeverSpentWithoutALimit) {
  CompileBudget budget = budget_of({});
  budget.run();
  pass(1e6);
  EXPECT_FALSE(budget.limited());
  EXPECT_FALSE(budget.spent());
}

TEST_F(CompileBudgetTest, OfNothingIsSpentFromTheStart) {
  EXPECT_TRUE(budget_of(0).spent());
}

TEST_F(CompileBudgetTest, BeginsAnewWhenWhatWasCompiledIsOfNoUse) {
  CompileBudget budget = budget_of(10);
  budget.run();
  pass(20);
  EXPECT_TRUE(budget.spent());
  budget.restart();
  EXPECT_FALSE(budget.spent());
  pass(9);
  EXPECT_FALSE(budget.spent());
  pass(1);
  EXPECT_TRUE(budget.spent()) << "it went on running";
}

TEST_F(CompileBudgetTest, SaysWhichOptionSetIt) {
  EXPECT_EQ(budget_of(90).reason(), "the compile budget of 90 s was spent before its turn; see --compile-budget");
}

TEST(CostNote, IsGivenWhereTheWaitIsLong) {
  EXPECT_EQ(cost_note({480, 480 * 41.0, 16}, {}),
            "about 480 compilations of 41 s on 16 jobs: 20 min; --compile-budget S limits it to S seconds, spent where "
            "it can matter");
  EXPECT_EQ(cost_note({480, 480 * 0.1, 16}, {}), "");
  EXPECT_NE(cost_note({480, 480 * 41.0, 16, true}, {}).find("480 compilations of up to 41 s on"), std::string::npos);
  EXPECT_EQ(cost_note({0, 0, 1}, {}), "");
  EXPECT_NE(cost_note({240, 240 * 60.0, 1}, {}).find("on 1 job: 4.0 h"), std::string::npos);
}

TEST(CostNote, SaysWhatABudgetIsSpentOnWhereItDoesNotReach) {
  EXPECT_EQ(cost_note({100, 6400, 16}, 120),
            "about 100 compilations of 64 s on 16 jobs: 7 min; --compile-budget 120 goes to the author's code, launch "
            "bounds, the caps at which occupancy changes, and then on");
  EXPECT_EQ(cost_note({100, 6400, 16}, 1000), "about 100 compilations of 64 s on 16 jobs: 7 min");
}

}  // namespace
}  // namespace regtune
