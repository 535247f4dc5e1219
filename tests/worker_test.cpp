#include "worker.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace regtune {
namespace {

using State = Channel::State;
using Clock = std::chrono::steady_clock;

constexpr double kPatience = 20000;  // ms; far more than a loaded machine needs

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Answers every message with itself until the parent closes the channel.
void echo(Channel& channel) {
  while (true) {
    const Channel::Received received = channel.receive();
    if (received.state != State::message || !channel.send(received.message)) return;
  }
}

// Puts bytes on the channel that no `send` would write.
void send_raw(Channel& channel, const std::string& bytes) {
  if (write(channel.descriptor(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) _exit(9);
}

std::string length_prefix(std::uint32_t size) {
  return {reinterpret_cast<const char*>(&size), sizeof size};
}

TEST(Worker, AnswersMessagesInOrder) {
  Worker worker(echo);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(worker.channel().send({{"id", i}}));
  for (int i = 0; i < 100; ++i) {
    const Channel::Received received = worker.channel().receive(after_ms(kPatience));
    ASSERT_EQ(received.state, State::message);
    EXPECT_EQ(received.message.at("id"), i);
  }
}

TEST(Worker, KeepsEveryKindOfValue) {
  Worker worker(echo);
  const Message sent{{"bytes", Message::binary({0, 255, 10})},
                     {"text", "a\xffz"},
                     {"none", nullptr},
                     {"largest", UINT64_MAX},
                     {"real", 0.1},
                     {"list", {1, "two", {3.0}}}};
  ASSERT_TRUE(worker.channel().send(sent));
  const Channel::Received received = worker.channel().receive(after_ms(kPatience));
  ASSERT_EQ(received.state, State::message);
  EXPECT_EQ(received.message, sent);
}

TEST(Worker, CarriesAMessageThatNoSocketBufferHolds) {
  Worker worker(echo);
  std::vector<std::uint8_t> bytes(32 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7919 >> 8);
  // The child reads all of it before it answers, so neither side waits for the other.
  ASSERT_TRUE(worker.channel().send(Message::binary(bytes)));
  const Channel::Received received = worker.channel().receive(after_ms(kPatience));
  ASSERT_EQ(received.state, State::message);
  EXPECT_TRUE(received.message == Message::binary(bytes));
}

TEST(Worker, ACrashClosesTheChannelAndIsNamed) {
  Worker worker([](Channel& channel) {
    channel.receive();
    signal(SIGSEGV, SIG_DFL);  // sanitizers catch it
    raise(SIGSEGV);
  });
  worker.channel().send("go");
  EXPECT_EQ(worker.channel().receive(after_ms(kPatience)).state, State::closed);
  const std::string how = worker.end();
  EXPECT_NE(how.find("was killed by signal 11"), std::string::npos) << how;
  EXPECT_EQ(worker.end(), "ended already");
}

TEST(Worker, AnEarlyExitIsToldWithItsCode) {
  Worker worker([](Channel&) { _exit(7); });
  EXPECT_EQ(worker.channel().receive(after_ms(kPatience)).state, State::closed);
  EXPECT_EQ(worker.end(), "exited with code 7");
  Worker done([](Channel& channel) { channel.send("last words"); });
  EXPECT_EQ(done.channel().receive(after_ms(kPatience)).message, "last words");
  EXPECT_EQ(done.channel().receive(after_ms(kPatience)).state, State::closed);
  EXPECT_EQ(done.end(), "exited with code 0");
}

TEST(Worker, AnExceptionEndsTheChildOnly) {
  testing::internal::CaptureStderr();
  Worker worker([](Channel&) { throw std::runtime_error("planted"); });
  EXPECT_EQ(worker.channel().receive(after_ms(kPatience)).state, State::closed);
  EXPECT_EQ(worker.end(), "exited with code 3");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("planted"), std::string::npos);
}

TEST(Worker, AHangIsLeftAtTheDeadlineAndKilled) {
  Worker worker([](Channel&) {
    while (true) pause();
  });
  const auto start = Clock::now();
  EXPECT_EQ(worker.channel().receive(after_ms(50)).state, State::timed_out);
  EXPECT_GE(ms_since(start), 49);
  const pid_t pid = worker.pid();
  EXPECT_NE(worker.end().find("was killed by signal 9"), std::string::npos);
  EXPECT_EQ(kill(pid, 0), -1) << "it still runs, or was not reaped";
}

TEST(Worker, HalfAMessageIsNoMessage) {
  Worker slow([](Channel& channel) {
    send_raw(channel, length_prefix(1000) + "begun");
    while (true) pause();
  });
  EXPECT_EQ(slow.channel().receive(after_ms(100)).state, State::timed_out);
  Worker dead([](Channel& channel) { send_raw(channel, length_prefix(1000) + "begun"); });
  EXPECT_EQ(dead.channel().receive(after_ms(kPatience)).state, State::closed);
  Worker in_length([](Channel& channel) { send_raw(channel, "ab"); });
  EXPECT_EQ(in_length.channel().receive(after_ms(kPatience)).state, State::closed);
}

TEST(Worker, GarbageCountsAsClosed) {
  for (const std::string& garbage : {
           length_prefix(0xffffffff) + "x",                            // longer than any message
           length_prefix(0),                                           // no value at all
           length_prefix(3) + "\xff\xff\xff",                          // no CBOR
           length_prefix(9) + "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",  // a list of 2^63 values, none of them there
           length_prefix(2) + std::string("\x01\x02"),                 // a value and something behind it
       }) {
    Worker worker([&](Channel& channel) {
      send_raw(channel, garbage);
      while (true) pause();
    });
    EXPECT_EQ(worker.channel().receive(after_ms(kPatience)).state, State::closed) << garbage.size();
  }
}

TEST(Worker, SendingToADeadChildFailsWithoutASignal) {
  Worker worker([](Channel&) {});
  ASSERT_EQ(worker.channel().receive(after_ms(kPatience)).state, State::closed);
  const Message large = Message::binary(std::vector<std::uint8_t>(4 << 20));
  EXPECT_FALSE(worker.channel().send(large));
}

TEST(Worker, MovingEndsTheOneThatIsReplaced) {
  Worker first(echo);
  const pid_t replaced = first.pid();
  first = Worker(echo);
  EXPECT_NE(first.pid(), replaced);
  EXPECT_EQ(kill(replaced, 0), -1);
  Worker moved = std::move(first);
  ASSERT_TRUE(moved.channel().send("still there"));
  EXPECT_EQ(moved.channel().receive(after_ms(kPatience)).message, "still there");
}

// The pipe's writing end is held by the grandchild alone, so its end of file tells that the grandchild died.
TEST(Worker, DiesWithItsParent) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    close(pipe_ends[0]);
    Worker worker([&](Channel& channel) {
      channel.send("up");
      while (true) pause();
    });
    close(pipe_ends[1]);
    if (worker.channel().receive(after_ms(kPatience)).state != State::message) _exit(1);
    kill(getpid(), SIGKILL);
  }
  close(pipe_ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the parent did not get as far as dying";
  Channel grandchild(pipe_ends[0]);  // owns the descriptor; a read with a deadline
  EXPECT_EQ(grandchild.receive(after_ms(kPatience)).state, State::closed);
}

TEST(Worker, HandsOverAnOpenDescriptor) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  Worker worker([&](Channel& channel) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    const int handed = channel.receive_descriptor(after_ms(kPatience));
    _exit(handed >= 0 && write(handed, "x", 1) == 1 ? 0 : 1);
  });
  ASSERT_TRUE(worker.channel().send_descriptor(pipe_ends[1]));
  close(pipe_ends[1]);
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  close(pipe_ends[0]);
  EXPECT_EQ(worker.channel().receive_descriptor(after_ms(kPatience)), -1) << "none came";
  EXPECT_EQ(worker.end(), "exited with code 0");
}

TEST(Worker, LeavesCtrlCToItsParent) {
  Worker worker(echo);
  ASSERT_TRUE(worker.channel().send("before"));
  ASSERT_EQ(worker.channel().receive(after_ms(kPatience)).message, "before");
  kill(worker.pid(), SIGINT);
  ASSERT_TRUE(worker.channel().send("after"));
  EXPECT_EQ(worker.channel().receive(after_ms(kPatience)).message, "after");
}

}  // namespace
}  // namespace regtune
