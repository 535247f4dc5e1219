#pragma once
// The connection of a watched program to the regtune that started it: one for each process, made when the process
// first touches CUDA. What is asked is answered before the program goes on; what is counted goes through shared memory
// (launch_table.hpp). Without regtune at the other end, or once it is gone, the program runs as if nothing were there.
#include <mutex>

#include "launch_table.hpp"
#include "worker.hpp"

namespace regtune {

class SupervisorLink {
 public:
  // Connected on the first call; nullptr: there is nobody to talk to.
  static SupervisorLink* of_this_process();

  // Empty when the supervisor is gone.
  Message ask(const Message& question);
  LaunchTable& table() { return *table_; }
  Channel& channel() { return channel_; }
  // Held while something is asked; a launch that is tuned holds it throughout.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  SupervisorLink(Channel channel, LaunchTable* table) : channel_(std::move(channel)), table_(table) {}
  static SupervisorLink* connect();

  Channel channel_;
  LaunchTable* table_;
  std::recursive_mutex mutex_;
  bool gone_ = false;
};

}  // namespace regtune
