#include "child_program.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "temporary_folder.hpp"
#include "worker.hpp"

namespace regtune {
namespace {

ProgramRun run_in_shell(const std::string& script, double limit_s = 20) {
  return run_program({{"/bin/sh", "-c", script}, limit_s});
}

double seconds_of(const std::function<void()>& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  int number = 0;
  in >> number;
  return number;
}

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 500; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

bool runs(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}

TEST(ChildProgram, GivesWhatIsPrintedOnBothChannelsAndHowItEnded) {
  const ProgramRun good = run_in_shell("echo out; echo err >&2");
  EXPECT_TRUE(good.succeeded);
  EXPECT_EQ(good.output, "out\nerr\n");
  const ProgramRun bad = run_in_shell("exit 3");
  EXPECT_FALSE(bad.succeeded);
  EXPECT_EQ(bad.how, "exited with code 3");
  EXPECT_EQ(run_in_shell("kill -9 $$").how, "was killed by signal 9");
}

TEST(ChildProgram, HandsWordsOnAsTheyAre) {
  const ProgramRun run = run_program({{"/bin/echo", "$HOME", "a b", "'", "*"}});
  EXPECT_EQ(run.output, "$HOME a b ' *\n");
}

TEST(ChildProgram, SetsVariablesBesideThoseThatThereAre) {
  ProgramRequest request{{"/bin/sh", "-c", "echo $TMPDIR; echo $PATH"}};
  request.environment = {{"TMPDIR", "/nowhere"}};
  const ProgramRun run = run_program(request);
  EXPECT_EQ(run.output, std::string("/nowhere\n") + getenv("PATH") + "\n");
}

TEST(ChildProgram, AProgramThatIsNotThereIsARunThatFailed) {
  const ProgramRun run = run_program({{"/nowhere/nvcc"}});
  EXPECT_FALSE(run.succeeded);
  EXPECT_EQ(run.how, "exited with code 127");
  EXPECT_EQ(run.output, "it cannot be started: No such file or directory");
}

TEST(ChildProgram, DropsWhatIsPrintedBeyondTheLimit) {
  ProgramRequest request{{"/bin/sh", "-c", "head -c 300000 /dev/zero"}};
  request.most_output_bytes = 1000;
  const ProgramRun run = run_program(request);
  EXPECT_TRUE(run.succeeded);
  EXPECT_EQ(run.output.size(), 1000U);
}

TEST(ChildProgram, ReadsNothing) {
  EXPECT_EQ(run_in_shell("cat").output, "");
}

TEST(ChildProgram, EndsAllThatItStartedWhenItsTimeIsUp) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "pid").string();
  ProgramRun run;
  const double seconds = seconds_of([&] { run = run_in_shell("sleep 60 & echo $! > " + file + "; wait", 0.5); });
  EXPECT_FALSE(run.succeeded);
  EXPECT_EQ(run.how, "took longer than 0.5 s and was stopped");
  EXPECT_LT(seconds, 10);
  const int grandchild = number_in(file);
  ASSERT_GT(grandchild, 0);
  EXPECT_TRUE(comes_true([&] { return !runs(grandchild); }));
}

TEST(ChildProgram, AProgramThatClosesItsOutputIsStillWaitedForWithinItsTime) {
  const ProgramRun run = run_in_shell("exec >/dev/null 2>&1; sleep 0.3; exit 4");
  EXPECT_EQ(run.how, "exited with code 4");
  EXPECT_EQ(run_in_shell("exec >/dev/null 2>&1; sleep 60", 0.5).how, "took longer than 0.5 s and was stopped");
}

TEST(ChildProgram, EndsWithTheProcessThatAskedForIt) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "pid").string();
  Worker worker([&](Channel&) { run_in_shell("sleep 60 & echo $! > " + file + "; wait", 50); });
  ASSERT_TRUE(comes_true([&] { return number_in(file) > 0; }));
  const int grandchild = number_in(file);
  EXPECT_TRUE(runs(grandchild));
  worker.end();  // by SIGKILL
  EXPECT_TRUE(comes_true([&] { return !runs(grandchild); }));
}

}  // namespace
}  // namespace regtune
