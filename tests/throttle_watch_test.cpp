#include "throttle_watch.hpp"

#include <gtest/gtest.h>

namespace regtune {
namespace {

using Readings = std::vector<ClockReading>;
const Readings kFree{{1980}};
const Readings kCapped{{1500, {"power cap"}}};
const Readings kNothing;

TEST(ThrottleWatch, KeepsEveryRoundWhereNothingIsRead) {
  ThrottleWatch watch;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(watch.keeps_round(kNothing));
  EXPECT_FALSE(watch.summary());
}

TEST(ThrottleWatch, DropsARoundUnderAThrottleAndNamesTheReason) {
  ThrottleWatch watch;
  EXPECT_TRUE(watch.keeps_round(kFree));
  EXPECT_FALSE(watch.keeps_round(kCapped));
  EXPECT_TRUE(watch.keeps_round(kFree));
  const ClockWatch seen = watch.summary().value();
  EXPECT_EQ(seen.readings, 3);
  EXPECT_EQ(seen.rounds_dropped, 1);
  EXPECT_FALSE(seen.gave_up_dropping);
  EXPECT_EQ(seen.throttled_by, std::vector<std::string>{"power cap"});
  EXPECT_EQ(seen.min_sm_mhz, 1500);
  EXPECT_EQ(seen.median_sm_mhz, 1980);
  EXPECT_EQ(seen.max_sm_mhz, 1980);
}

TEST(ThrottleWatch, HoldsAThrottleForOnUntilAReadingSaysOtherwise) {
  ThrottleWatch watch;
  EXPECT_FALSE(watch.keeps_round(kCapped));
  EXPECT_FALSE(watch.keeps_round(kNothing));
  EXPECT_TRUE(watch.keeps_round(kFree));
  EXPECT_TRUE(watch.keeps_round(kNothing));
}

TEST(ThrottleWatch, DropsARoundThatWasThrottledForAMoment) {
  ThrottleWatch watch;
  EXPECT_FALSE(watch.keeps_round(Readings{{1980}, {1500, {"heat"}}, {1980}}));
  EXPECT_TRUE(watch.keeps_round(kNothing));
}

TEST(ThrottleWatch, GivesUpWhereEveryRoundWouldBeDropped) {
  ThrottleWatch watch;
  int dropped = 0;
  for (int i = 0; i < 100; ++i) dropped += watch.keeps_round(kCapped) ? 0 : 1;
  EXPECT_EQ(dropped, 8);
  EXPECT_TRUE(watch.summary()->gave_up_dropping);
  EXPECT_EQ(watch.summary()->rounds_dropped, 8);
  EXPECT_TRUE(watch.keeps_round(kFree));
}

TEST(ThrottleWatch, DropsNoMoreRoundsThanItKeepsButForAFew) {
  ThrottleWatch watch;
  int kept = 0;
  for (int i = 0; i < 400; ++i) kept += watch.keeps_round(i % 5 == 0 ? kFree : kCapped) ? 1 : 0;
  EXPECT_GE(kept, 196);
}

}  // namespace
}  // namespace regtune
