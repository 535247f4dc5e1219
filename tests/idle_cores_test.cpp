// When workers had nothing to do, by what a pool noted.
#include "idle_cores.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

using Clock = std::chrono::steady_clock;
using When = IdleInterval::When;

constexpr pid_t kServer = 1;

Clock::time_point at(double seconds) {
  return Clock::time_point(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

void answer(CompileUsage& usage, pid_t process, double begun_s, double ended_s) {
  const double cpu_s = (ended_s - begun_s) / 2;
  const Message reply{
      {"pid", process}, {"cpu_s", cpu_s}, {"begun_s", begun_s}, {"ended_s", ended_s}, {"peak_mib", 1.0}};
  usage.add_answer(reply, 0, at(begun_s));
}

TEST(IdleCores, AreBusyAtJobsAndIdleBeforeBetweenAndAfterThem) {
  CompileUsage usage;
  answer(usage, kServer, 10, 14);
  answer(usage, 2, 10.5, 12);
  answer(usage, 2, 12.25, 14);
  answer(usage, 3, 11, 13.5);
  const IdleCores idle = idle_cores(usage, kServer, 2, 10, 14);
  ASSERT_EQ(idle.lanes.size(), 2u);
  EXPECT_DOUBLE_EQ(idle.answered_s, 1.5 + 1.75 + 2.5);
  EXPECT_DOUBLE_EQ(idle.answered_on_cpu_s, idle.answered_s / 2);
  EXPECT_DOUBLE_EQ(idle.cut_short_s, 0);
  EXPECT_DOUBLE_EQ(idle.idle_s(When::before_first_job), 0.5 + 1);
  EXPECT_DOUBLE_EQ(idle.idle_s(When::between_jobs), 0.25);
  EXPECT_DOUBLE_EQ(idle.idle_s(When::after_last_job), 0.5);
}

TEST(IdleCores, CountOnlyWhatLiesInTheStage) {
  CompileUsage usage;
  answer(usage, 2, 8, 9);    // before it
  answer(usage, 2, 9, 11);   // reaches into it
  answer(usage, 2, 13, 16);  // and out of it
  const IdleCores idle = idle_cores(usage, kServer, 1, 10, 14);
  EXPECT_DOUBLE_EQ(idle.answered_s, 2);
  EXPECT_DOUBLE_EQ(idle.idle_s(When::between_jobs), 2);
  EXPECT_DOUBLE_EQ(idle.idle_s(When::before_first_job) + idle.idle_s(When::after_last_job), 0);
}

// The worker that comes in another's place has its lane: else there would be more lanes than cores.
TEST(IdleCores, AWorkerThatIsEndedLeavesItsLaneToTheNext) {
  CompileUsage usage;
  const double now_s = clock_seconds(Clock::now());
  usage.add_cut_short(2, 0, at(now_s - 3), at(now_s - 3));  // ends now
  const double ended_s = usage.cut_short().front().ended_s;
  answer(usage, 3, ended_s + 1, ended_s + 2);
  const IdleCores idle = idle_cores(usage, kServer, 2, now_s - 3, ended_s + 2);
  ASSERT_EQ(idle.lanes.size(), 2u);
  EXPECT_NEAR(idle.cut_short_s, 3, 0.1);
  EXPECT_NEAR(idle.idle_s(When::between_jobs), 1, 1e-6);
  EXPECT_NEAR(idle.idle_s(When::before_first_job), 5, 0.1) << "nobody was forked for the second core";
}

TEST(IdleCores, AreToldWithTheirIntervalsButForTheShortest) {
  CompileUsage usage;
  answer(usage, 2, 10.25, 12);
  answer(usage, 2, 12.0001, 13);
  const std::string text = idle_text(idle_cores(usage, kServer, 1, 10, 14), 0.0005);
  EXPECT_NE(text.find("0.0-250.0 (before its first job)"), std::string::npos) << text;
  EXPECT_NE(text.find("3000.0-4000.0 (after its last job)"), std::string::npos) << text;
  EXPECT_EQ(text.find("2000.0-2000.1"), std::string::npos) << text;
}

}  // namespace
}  // namespace regtune
