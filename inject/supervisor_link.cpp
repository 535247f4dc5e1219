#include "supervisor_link.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "supervisor_socket.hpp"

namespace regtune {
namespace {

// A process of its own has a connection of its own: after a fork the child's first question makes another.
std::atomic<SupervisorLink*> link_of_process{nullptr};
std::atomic<bool> has_tried{false};
std::mutex connecting;

void forget_parents_link() {
  // What the parent holds locked stays locked in the copy: the old link is left where it lies.
  link_of_process = nullptr;
  has_tried = false;
  new (&connecting) std::mutex;
}

LaunchTable* share_table(int& descriptor) {
  descriptor = memfd_create("regtune launches", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, sizeof(LaunchTable)) != 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(LaunchTable), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) LaunchTable;
}

}  // namespace

SupervisorLink* SupervisorLink::connect() {
  const char* const path = std::getenv(kSocketVariable);
  if (!path || std::strlen(path) >= sizeof(sockaddr_un::sun_path)) return nullptr;
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return nullptr;
  Channel channel(descriptor);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return nullptr;
  int shared = -1;
  LaunchTable* const table = share_table(shared);
  if (!table) return nullptr;
  const bool told = channel.send({{"ask", "hello"}, {"process", getpid()}}) && channel.send_descriptor(shared);
  close(shared);
  if (!told) return nullptr;
  pthread_atfork(nullptr, nullptr, &forget_parents_link);
  return new SupervisorLink(std::move(channel), table);
}

SupervisorLink* SupervisorLink::of_this_process() {
  if (has_tried.load(std::memory_order_acquire)) return link_of_process.load(std::memory_order_acquire);
  const std::lock_guard lock(connecting);
  if (!has_tried) {
    link_of_process = connect();
    has_tried = true;
  }
  return link_of_process;
}

Message SupervisorLink::ask(const Message& question) {
  const std::lock_guard lock(mutex_);
  if (gone_) return {};
  if (!channel_.send(question)) {
    gone_ = true;
    return {};
  }
  Channel::Received received = channel_.receive();
  gone_ = received.state != Channel::State::message;
  return gone_ ? Message() : std::move(received.message);
}

}  // namespace regtune
