#include "process_cpu.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "worker.hpp"

namespace regtune {
namespace {

// Does nothing else until the process itself has used that much.
void use(double seconds) {
  volatile double sum = 0;
  while (process_cpu_seconds(getpid()).value() < seconds)
    for (int i = 0; i < 1000; ++i) sum = sum + i;
}

TEST(ProcessCpu, CountsWhatAnotherProcessUsesAndNotHowLongItLives) {
  Worker worker([](Channel& channel) {
    use(0.05);
    channel.send({{"used", true}});
    channel.receive();  // for ever
  });
  ASSERT_EQ(worker.channel().receive(after_ms(30000)).state, Channel::State::message);
  const double used = process_cpu_seconds(worker.pid()).value();
  EXPECT_GE(used, 0.05);
  usleep(200000);
  EXPECT_LT(process_cpu_seconds(worker.pid()).value() - used, 0.1) << "it has slept";
}

TEST(ProcessCpu, TellsOfADeadProcessUntilItIsReaped) {
  Worker worker([](Channel&) { use(0.02); });
  const pid_t process = worker.pid();
  EXPECT_EQ(worker.channel().receive(after_ms(30000)).state, Channel::State::closed);
  EXPECT_GE(process_cpu_seconds(process).value(), 0.02);
  worker.end();
  EXPECT_FALSE(process_cpu_seconds(process));
}

}  // namespace
}  // namespace regtune
