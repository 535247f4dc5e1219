#pragma once
// A child process with a message channel. Compilers and the GPU are driven in such children only, so that a
// crash, a hang or an out-of-memory costs one variant and never the sweep. Messages are JSON values, sent as
// length-prefixed CBOR over a socket pair. The child dies with its parent.
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

namespace regtune {

using Message = nlohmann::json;
using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // empty: wait for ever

Deadline after_ms(double ms);

// Bytes as a value of a message, and back: machine code, and text that need not be UTF-8. The latter throws
// Message::exception for a value of another kind.
Message binary(const std::string& bytes);
std::string bytes_of(const Message& binary_value);

// One end of the socket pair. Owns the descriptor.
class Channel {
 public:
  enum class State { message, timed_out, closed };
  struct Received {
    State state = State::closed;
    Message message;
  };

  explicit Channel(int descriptor = -1) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Channel& operator=(Channel&& other) noexcept;
  ~Channel();

  // False when the other side is gone.
  bool send(const Message& message);
  // A message is only ever received whole; a peer that sends anything else counts as closed.
  Received receive(Deadline deadline = {});
  // An open file descriptor goes to the other process, which then owns a copy of it.
  bool send_descriptor(int descriptor);
  int receive_descriptor(Deadline deadline);  // -1 when none came
  int descriptor() const { return descriptor_; }

 private:
  enum class Read { done, timed_out, closed };
  Read read_exactly(char* target, std::size_t size, Deadline deadline);
  int descriptor_;
};

class Worker {
 public:
  // Forks; `body` runs in the child with its end of the channel, and the child exits when it returns. An
  // exception of the body ends the child, which the parent sees as a closed channel. The parent must have
  // one thread only.
  explicit Worker(const std::function<void(Channel&)>& body);
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;
  ~Worker();  // kills and reaps

  Channel& channel() { return channel_; }
  // The child's channel is somebody else's from here on; the child stays ours to end.
  Channel release_channel() { return std::exchange(channel_, Channel(-1)); }
  pid_t pid() const { return pid_; }
  // Kills the child if it still runs, reaps it, and says how it ended: "was killed by signal 11
  // (Segmentation fault)", "exited with code 3".
  std::string end();

 private:
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace regtune
