#include "watched_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "injected_library.hpp"
#include "interruption.hpp"
#include "regtune/error.hpp"
#include "supervisor_socket.hpp"

namespace regtune {
namespace {

// A process that has connected tells at once who it is.
constexpr double kHelloLimitMs = 5000;

int listen_at(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path)
    throw Error(ErrorKind::internal,
                fmt::format("{} is too long for a socket; set TMPDIR to a shorter folder", path.string()));
  std::strcpy(address.sun_path, path.c_str());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  constexpr int kWaiting = 128;
  if (descriptor < 0 || bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(descriptor, kWaiting) != 0)
    throw Error(ErrorKind::internal, fmt::format("no socket can be made at {}: {}; set TMPDIR to a folder that takes "
                                                 "one",
                                                 path.string(), std::strerror(errno)));
  return descriptor;
}

// In front of what the user preloads.
std::string preloaded(const std::filesystem::path& library) {
  const char* const others = std::getenv("LD_PRELOAD");
  return others && *others ? library.string() + ":" + others : library.string();
}

const LaunchTable* mapped_table(int descriptor) {
  void* const memory = mmap(nullptr, sizeof(LaunchTable), PROT_READ, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const LaunchTable*>(memory);
}

}  // namespace

WatchedProgram::WatchedProgram(const ProgramCommand& command) {
  if (folder_.path().empty())
    throw Error(ErrorKind::internal, "no folder for temporary files can be made; set TMPDIR to one that is writable");
  listening_ = listen_at(folder_.path() / "socket");
  start(command);
}

WatchedProgram::~WatchedProgram() {
  for (const Process& process : processes_) munmap(const_cast<LaunchTable*>(process.table), sizeof(LaunchTable));
  if (end_of_program_ >= 0) close(end_of_program_);
  if (listening_ >= 0) close(listening_);
}

void WatchedProgram::start(const ProgramCommand& command) {
  const std::filesystem::path library = folder_.path() / "libregtune_inject.so";
  std::ofstream(library, std::ios::binary) << injected_library();
  // What exec has to say if it fails comes through here; it closes by itself if not.
  int failed[2];
  if (pipe2(failed, O_CLOEXEC) != 0) throw Error(ErrorKind::internal, "no pipe can be made; close some files");
  std::fflush(nullptr);
  program_ = fork();
  if (program_ == 0) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    setenv("LD_PRELOAD", preloaded(library).c_str(), 1);
    setenv(kSocketVariable, (folder_.path() / "socket").c_str(), 1);
    if (command.keeps_images) setenv(kImagesVariable, "1", 1);
    if (command.compiles_anew) setenv("CUPY_CACHE_IN_MEMORY", "1", 0);
    std::vector<std::string> words = command.words;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t told = write(failed[1], &why, sizeof why);
    _exit(127);
  }
  close(failed[1]);
  int why = program_ < 0 ? errno : 0;
  if (program_ > 0 && read(failed[0], &why, sizeof why) != sizeof why) why = 0;
  close(failed[0]);
  if (why != 0)
    throw Error(ErrorKind::file_not_found, fmt::format("{} cannot be started: {}; write the program as a shell would "
                                                       "find it, behind --",
                                                       command.words.front(), std::strerror(why)));
  end_of_program_ = static_cast<int>(syscall(SYS_pidfd_open, program_, 0));
}

void WatchedProgram::accept_process() {
  const int descriptor = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) return;
  Process process{Channel(descriptor)};
  const Channel::Received hello = process.channel.receive(after_ms(kHelloLimitMs));
  if (hello.state != Channel::State::message) return;
  const int shared = process.channel.receive_descriptor(after_ms(kHelloLimitMs));
  process.table = shared >= 0 ? mapped_table(shared) : nullptr;
  if (shared >= 0) close(shared);
  if (process.table) processes_.push_back(std::move(process));
}

bool WatchedProgram::has_ended() {
  if (program_ < 0) return true;
  int status = 0;
  if (waitpid(program_, &status, WNOHANG) != program_) return false;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  program_ = -1;
  return true;
}

std::optional<WatchedProgram::Question> WatchedProgram::next() {
  while (true) {
    stop_if_interrupted();
    std::vector<pollfd> waited{{listening_, POLLIN, 0}, {end_of_program_, POLLIN, 0}};
    for (const Process& process : processes_)
      waited.push_back({process.gone ? -1 : process.channel.descriptor(), POLLIN, 0});
    if (poll(waited.data(), waited.size(), until_next_look(-1)) < 0 && errno != EINTR) return {};
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (waited[i + 2].revents == 0) continue;
      Channel::Received received = processes_[i].channel.receive();
      if (received.state == Channel::State::message) return Question{static_cast<int>(i), std::move(received.message)};
      processes_[i].gone = true;
    }
    if (waited[0].revents != 0) {
      accept_process();
      continue;  // whoever has come may have asked already
    }
    if (has_ended()) return {};
  }
}

}  // namespace regtune
