// Ctrl-C, as a person presses it: on the built program with a GPU that computes nothing, in a terminal of its own where
// one matters.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "program.hpp"
#include "scale_kernel.hpp"

namespace regtune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The smallest kernel's launch, and a kernel of many registers.
const std::string kKernel = "/*regtune\n" + std::string(kScaleLaunch) + "*/\n" + R"cuda(
extern "C" __global__ void sum(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  #pragma unroll
  for (int j = 0; j < 12; ++j) s = s * in[(i + j * 7) % n] + in[(i * 3 + j) % n];
  if (i < n) out[i] = s;
}
)cuda";

// The program in a terminal of 80 columns, and all that it writes there.
class Terminal {
 public:
  Terminal(const Program& program, std::vector<std::string> arguments, int columns) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    child_ = forkpty(&master_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    arguments.insert(arguments.begin(), program_path().string());
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    setenv("REGTUNE_CACHE", program.cache().c_str(), 1);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("COLUMNS");
    if (chdir(program.folder().c_str()) == 0) execv(words.front(), words.data());
    _exit(127);
  }
  ~Terminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(master_);
  }

  const std::string& text() const { return text_; }
  void press(char key) const { ASSERT_EQ(write(master_, &key, 1), 1); }
  void resize(int columns) const {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = static_cast<unsigned short>(columns);
    ioctl(master_, TIOCSWINSZ, &size);
  }

  // Reads until `part` was written since `from`; false when that does not happen in time.
  bool wait_for(const std::string& part, std::chrono::seconds limit = 60s, std::size_t from = 0) {
    const auto end = Clock::now() + limit;
    while (Clock::now() < end) {
      if (text_.find(part, from) != std::string::npos) return true;
      if (!read_some(100)) return text_.find(part, from) != std::string::npos;
    }
    return false;
  }

  // The exit code, within that time; -1: it still runs.
  int wait_for_end(std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    while (Clock::now() < end) {
      read_some(20);
      int status = 0;
      if (waitpid(child_, &status, WNOHANG) != child_) continue;
      while (read_some(20)) {
      }
      child_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return -1;
  }

 private:
  bool read_some(int wait_ms) {
    pollfd waiting{master_, POLLIN, 0};
    if (poll(&waiting, 1, wait_ms) <= 0) return true;
    std::array<char, 4096> buffer{};
    const ssize_t count = read(master_, buffer.data(), buffer.size());
    if (count <= 0) return false;
    text_.append(buffer.data(), static_cast<std::size_t>(count));
    return true;
  }

  int master_ = -1;
  pid_t child_ = -1;
  std::string text_;
};

// Of processes whose current folder that is, how many there are.
int running_in(const std::filesystem::path& folder) {
  int count = 0;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::error_code error;
    if (std::filesystem::read_symlink(process.path() / "cwd", error) == folder && !error) ++count;
  }
  return count;
}

class Interruption : public testing::Test {
 protected:
  Interruption() {
    setenv("REGTUNE_CUDA", REGTUNE_FAKE_GPU, 1);
    setenv("FAKE_GPU_SLEEP_US", "20000", 1);
    setenv("XDG_CONFIG_HOME", program_.folder().c_str(), 1);
    program_.write("sum.cu", kKernel);
  }
  ~Interruption() override {
    unsetenv("REGTUNE_CUDA");
    unsetenv("FAKE_GPU_SLEEP_US");
  }
  Program program_{false};
};

TEST_F(Interruption, ATuningOverAGpuThatComputesNothingEndsWithAVerdict) {
  setenv("FAKE_GPU_SLEEP_US", "0", 1);
  const Ending ending = program_.run({"sum.cu", "--budget", "2", "--no-rename"});
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_TRUE(holds(ending.out, "NVIDIA Fake 100"));
  EXPECT_TRUE(holds(ending.out, "stored for NVIDIA Fake 100"));
  EXPECT_EQ(ending.out.find('\x1b'), std::string::npos) << "colours in a file";
}

TEST_F(Interruption, EndsCleanlyWithinASecondAndTheSameCommandGoesOn) {
  Terminal terminal(program_, {"sum.cu", "--no-rename"}, 120);
  ASSERT_TRUE(terminal.wait_for("in the race")) << terminal.text();
  const std::size_t before = terminal.text().size();
  const auto pressed = Clock::now();
  terminal.press(3);  // Ctrl-C, which the terminal sends to all of its processes
  const int code = terminal.wait_for_end(3s);
  EXPECT_EQ(code, 130) << terminal.text();
  EXPECT_LT(Clock::now() - pressed, 2s);
  const std::string said = terminal.text().substr(before);
  EXPECT_TRUE(holds(said, "interrupted: run the same command again to go on: "));
  EXPECT_TRUE(holds(said, " codes"));
  EXPECT_EQ(said.find("child process"), std::string::npos) << said;
  EXPECT_EQ(running_in(program_.folder()), 0) << "a child is left";
  setenv("FAKE_GPU_SLEEP_US", "0", 1);
  const Ending again = program_.run({"sum.cu", "--budget", "2", "--no-rename"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out.find("quarantine"), std::string::npos) << "nothing is blamed for the interruption";
  EXPECT_EQ(again.out.find("faulted"), std::string::npos);
}

TEST_F(Interruption, BySigtermHasItsOwnExitCode) {
  const pid_t child = program_.start({"sum.cu"});
  std::string said;
  for (int i = 0; i < 600 && said.find("racing") == std::string::npos; ++i) {
    std::this_thread::sleep_for(100ms);
    said = text_of(program_.folder() / "stderr.txt");
  }
  kill(-child, SIGTERM);  // as a service is stopped: all of its processes
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_TRUE(holds(text_of(program_.folder() / "stderr.txt"), "run the same command again"));
}

TEST_F(Interruption, OfACompilationWithoutAGpuSaysThatNothingIsStored) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  Terminal terminal(program_, {"sum.cu", "--every-cap"}, 80);
  ASSERT_TRUE(terminal.wait_for("compiled ")) << terminal.text();
  terminal.press(3);
  EXPECT_EQ(terminal.wait_for_end(3s), 130) << terminal.text();
  EXPECT_TRUE(holds(terminal.text(), "interrupted: nothing was stored"));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

// What stands in one line of the screen: what was drawn over it is gone.
std::vector<std::string> drawn_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line, '\r');) {
    const std::size_t clear = line.find("\x1b[K");
    lines.push_back(clear == std::string::npos ? line : line.substr(clear + 3));
  }
  return lines;
}

std::size_t letters(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

TEST_F(Interruption, TheLiveLineFitsTheWindowAlsoWhenItsSizeChanges) {
  setenv("FAKE_GPU_SLEEP_US", "5000", 1);
  Terminal terminal(program_, {"sum.cu", "--color", "never", "--no-rename"}, 60);
  ASSERT_TRUE(terminal.wait_for("in the race")) << terminal.text();
  const std::size_t before = terminal.text().size();
  for (const std::string& line : drawn_lines(terminal.text()))
    if (line.find('\n') == std::string::npos) {
      EXPECT_LE(letters(line), 60u) << line;
    }
  terminal.resize(30);
  ASSERT_TRUE(terminal.wait_for("\u2026", 60s, before)) << "the line is cut in the narrow window";
  const std::size_t cut = terminal.text().find("\u2026", before);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(terminal.wait_for("\r", 60s, terminal.text().size()));
  std::vector<std::string> lines = drawn_lines(terminal.text().substr(cut));
  ASSERT_GE(lines.size(), 3u);
  lines.erase(lines.begin());  // the rest of a line
  for (const std::string& line : lines) EXPECT_LE(letters(line), 30u) << line;
}

TEST_F(Interruption, QuietMeansQuiet) {
  setenv("FAKE_GPU_SLEEP_US", "0", 1);
  const Ending ending = program_.run({"sum.cu", "--budget", "2", "--no-rename", "--quiet"});
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.err, "");
}

}  // namespace
}  // namespace regtune
