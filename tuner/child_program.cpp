#include "child_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace regtune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNotStarted = 127;  // as a shell says it
constexpr int kMostDescriptors = 4096;

// Pointers into strings that outlive it, as exec wants them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& set) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool is_set = std::any_of(set.begin(), set.end(),
                                    [&](const auto& variable) { return text.starts_with(variable.first + "="); });
    if (!is_set) all.push_back(text);
  }
  for (const auto& [name, value] : set) all.push_back(name + "=" + value);
  return all;
}

void close_all_but(std::initializer_list<int> kept) {
  for (int descriptor = 3; descriptor < kMostDescriptors; ++descriptor)
    if (std::find(kept.begin(), kept.end(), descriptor) == kept.end()) close(descriptor);
}

void on_child_ended(int) {}

// Stands between the caller and the program, in a process of its own. It ends the program's whole group when the caller
// closes its end of `caller`, which is also what a caller's death does; a signal could not be relied on, since the
// program's own children would not get it. Calls nothing that allocates: the caller was forked with all its memory.
[[noreturn]] void guard(int caller, int output, char* const* words, char* const* environment, const char* folder) {
  setpgid(0, 0);  // a key that interrupts the caller's group must not end the guard before its work is done
  close_all_but({caller, output});
  sigset_t child_ended;
  sigset_t before;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child_ended, &before);
  sigdelset(&before, SIGCHLD);
  signal(SIGCHLD, on_child_ended);
  const pid_t program = fork();
  if (program == 0) {
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close_all_but({});
    if (*folder == '\0' || chdir(folder) == 0) execve(words[0], words, environment);
    constexpr std::string_view kFailed = "it cannot be started: ";
    const char* const why = strerror(errno);
    if (write(STDERR_FILENO, kFailed.data(), kFailed.size()) < 0 || write(STDERR_FILENO, why, strlen(why)) < 0)
      _exit(kNotStarted);
    _exit(kNotStarted);
  }
  int status = kNotStarted << 8;
  if (program < 0) {
    send(caller, &status, sizeof status, MSG_NOSIGNAL);
    _exit(0);
  }
  setpgid(program, program);
  close(output);
  while (waitpid(program, &status, WNOHANG) == 0) {
    pollfd watched{caller, POLLIN, 0};
    if (ppoll(&watched, 1, nullptr, &before) > 0) {  // nothing is ever sent: the caller has closed its end
      kill(-program, SIGKILL);
      waitpid(program, &status, 0);
      break;
    }
  }
  kill(-program, SIGKILL);  // what it left behind
  send(caller, &status, sizeof status, MSG_NOSIGNAL);
  _exit(0);
}

std::string spell_end(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

// False when nothing came until then.
bool wait_for(int descriptor, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched{descriptor, POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(std::min<long long>(left, 1 << 30))) > 0) return true;
  }
}

// Reads until all who could write have ended: false when that is not so in time.
bool read_all(int output, Clock::time_point end, const ProgramRequest& request, std::string& text) {
  std::array<char, 65536> buffer{};
  while (true) {
    if (!wait_for(output, end)) return false;
    const ssize_t count = read(output, buffer.data(), buffer.size());
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return true;
    const std::size_t room = request.most_output_bytes - std::min(request.most_output_bytes, text.size());
    if (count > 0) text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  }
}

}  // namespace

ProgramRun run_program(const ProgramRequest& request) {
  ProgramRun run;
  std::vector<std::string> words = request.words;
  std::vector<std::string> variables = environment_with(request.environment);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  std::array<int, 2> lifeline{};
  std::array<int, 2> output{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline.data()) != 0) {
    run.how = "could not be started: no descriptor is left";
    return run;
  }
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    for (const int descriptor : lifeline) close(descriptor);
    run.how = "could not be started: no descriptor is left";
    return run;
  }
  const pid_t its_guard = fork();
  if (its_guard == 0) guard(lifeline[1], output[1], argv.data(), envp.data(), request.folder.c_str());
  close(lifeline[1]);
  close(output[1]);
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(request.limit_s));
  // A program may close what it prints to before it ends.
  const bool in_time = its_guard > 0 && read_all(output[0], end, request, run.output) && wait_for(lifeline[0], end);
  int status = 0;
  const bool told =
      in_time && recv(lifeline[0], &status, sizeof status, MSG_WAITALL) == static_cast<ssize_t>(sizeof status);
  close(lifeline[0]);
  close(output[0]);
  if (its_guard > 0) waitpid(its_guard, nullptr, 0);
  run.succeeded = told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (its_guard < 0)
    run.how = "could not be started: no process is left";
  else if (!in_time)
    run.how = fmt::format("took longer than {:g} s and was stopped", request.limit_s);
  else
    run.how = told ? spell_end(status) : "ended, and nobody saw how";
  return run;
}

}  // namespace regtune
