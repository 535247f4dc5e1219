#include "worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "interruption.hpp"
#include "regtune/error.hpp"

namespace regtune {
namespace {

// A cubin is the largest thing sent; nothing honest comes near this.
constexpr std::uint32_t kLargestMessage = 1u << 30;

int milliseconds_left(Deadline deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min<long long>(left, 1 << 30));
}

std::pair<Channel, Channel> channel_pair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(ErrorKind::gpu_failed,
                fmt::format("cannot make a channel for a child process: {}; are there too many open files?",
                            std::strerror(errno)));
  return {Channel(ends[0]), Channel(ends[1])};
}

// One byte that carries one descriptor beside it. Its parts point to each other: it stays where it was made.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

}  // namespace

Deadline after_ms(double ms) {
  return std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(ms * 1000));
}

Message binary(const std::string& bytes) {
  return Message::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

std::string bytes_of(const Message& binary_value) {
  const auto& bytes = binary_value.get_binary();
  return {bytes.begin(), bytes.end()};
}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Channel::~Channel() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Channel::send(const Message& message) {
  const std::vector<std::uint8_t> body = Message::to_cbor(message);
  const auto size = static_cast<std::uint32_t>(body.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes.append(body.begin(), body.end());
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(descriptor_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

Channel::Read Channel::read_exactly(char* target, std::size_t size, Deadline deadline) {
  std::size_t got = 0;
  while (got < size) {
    stop_if_interrupted();
    pollfd waiting{descriptor_, POLLIN, 0};
    const int left = milliseconds_left(deadline);
    const int ready = poll(&waiting, 1, until_next_look(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left != 0 && until_next_look(left) != left) continue;
    if (ready == 0) return Read::timed_out;
    const ssize_t n = read(descriptor_, target + got, size - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::closed;
    got += static_cast<std::size_t>(n);
  }
  return Read::done;
}

Channel::Received Channel::receive(Deadline deadline) {
  const auto stopped = [](Read read) {
    return Received{read == Read::timed_out ? State::timed_out : State::closed, {}};
  };
  std::uint32_t size = 0;
  if (const Read read = read_exactly(reinterpret_cast<char*>(&size), sizeof size, deadline); read != Read::done)
    return stopped(read);
  if (size > kLargestMessage) return {State::closed, {}};
  std::vector<std::uint8_t> body(size);
  if (const Read read = read_exactly(reinterpret_cast<char*>(body.data()), size, deadline); read != Read::done)
    return stopped(read);
  try {
    return {State::message, Message::from_cbor(body)};
  } catch (const Message::exception&) {  // asked not to throw, from_cbor still does for a list of 2^63 values
    return {State::closed, {}};
  }
}

bool Channel::send_descriptor(int descriptor) {
  DescriptorMessage message;
  cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(descriptor_, &message.header, MSG_NOSIGNAL) == 1;
}

int Channel::receive_descriptor(Deadline deadline) {
  pollfd waiting{descriptor_, POLLIN, 0};
  if (poll(&waiting, 1, milliseconds_left(deadline)) <= 0) return -1;
  DescriptorMessage message;
  if (recvmsg(descriptor_, &message.header, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

Worker::Worker(const std::function<void(Channel&)>& body) : channel_(-1) {
  auto [ours, theirs] = channel_pair();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0)
    throw Error(ErrorKind::gpu_failed,
                fmt::format("cannot start a child process: {}; try fewer --jobs", std::strerror(errno)));
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent died before the line above
    leave_interruption_to_parent();     // which ends us
    { Channel closing = std::move(ours); }
    int code = 0;
    try {
      body(theirs);
    } catch (const std::exception& failure) {
      fmt::print(stderr, "regtune: child process: {}\n", failure.what());
      code = 3;
    }
    // No destructors of the parent's objects and no flush of its buffers: they are not ours.
    _exit(code);
  }
  channel_ = std::move(ours);
}

Worker::Worker(Worker&& other) noexcept : channel_(std::move(other.channel_)), pid_(std::exchange(other.pid_, -1)) {}

Worker& Worker::operator=(Worker&& other) noexcept {
  std::swap(channel_, other.channel_);
  std::swap(pid_, other.pid_);
  return *this;
}

Worker::~Worker() {
  end();
}

std::string Worker::end() {
  if (pid_ < 0) return "ended already";
  // A child that closed its channel is on its way out: let its own exit status tell, for a moment.
  int status = 0;
  pid_t reaped = 0;
  for (int i = 0; i < 20 && (reaped = waitpid(pid_, &status, WNOHANG)) == 0; ++i) {
    pollfd waiting{channel_.descriptor(), 0, 0};
    // An open channel: it still runs. A released one tells nothing.
    if (channel_.descriptor() >= 0 && poll(&waiting, 1, 0) == 0) break;
    usleep(1000);
  }
  if (reaped == 0) {
    kill(pid_, SIGKILL);
    while ((reaped = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (reaped > 0 && WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (reaped > 0 && WIFEXITED(status)) return fmt::format("exited with code {}", WEXITSTATUS(status));
  return "ended";
}

}  // namespace regtune
