#pragma once
// A process that prepares something once (a compiler loaded, headers precompiled, an intermediate result) and
// from which workers are forked that all have it. A precompiled header of NVRTC is valid only in processes
// with the same address layout, which forks of one process have and separately started ones have not.
#include <functional>
#include <memory>
#include <string>

#include "worker.hpp"

namespace regtune {

// A worker that the fork server started: a grandchild of this process.
struct ForkedWorker {
  Channel channel;
  pid_t pid = -1;
};

class ForkServer {
 public:
  using Handler = std::function<Message(const Message&)>;
  using WorkerBody = std::function<void(Channel&)>;

  // `handle` answers ask() in the server's process; `body` runs in each worker, with what `handle` left in
  // memory by the time of the fork. The calling process must have one thread only.
  ForkServer(Handler handle, WorkerBody body);

  // Empty when the server died or took longer; `how` then says which. It is replaced by a fresh one, which
  // has prepared nothing.
  std::optional<Message> ask(const Message& request, double limit_ms, std::string& how);
  // For a caller that sends and receives on its own, while the server's workers go on.
  Channel& channel() { return server_->channel(); }
  pid_t pid() const { return server_->pid(); }
  // Ends the server and with it its workers, starts a fresh one, and says how the old one ended.
  std::string restart();
  // Throws Error(internal) when no process can be started.
  ForkedWorker spawn();
  // The same in two steps: several may be begun, and as many are to be finished before anything else is asked.
  void begin_spawn();
  ForkedWorker finish_spawn();
  // Kills the worker if it still runs, and says how it ended. The server must not be at work for channel().
  std::string end(ForkedWorker& worker);
  // Kills the worker without asking the server, which may be at work.
  static void abandon(ForkedWorker& worker);

 private:
  void start();
  Handler handle_;
  WorkerBody body_;
  std::unique_ptr<Worker> server_;
};

}  // namespace regtune
