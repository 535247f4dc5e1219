#pragma once
// Somebody's program, unmodified, with regtune's library in front of CUDA's (inject/): started, and listened to. Each
// of its processes that touches CUDA has a connection of its own, on which it asks and waits for the answer; what it
// launches stands in a table that it shares. The program's input, output and exit code stay its own.
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch_table.hpp"
#include "scratch_folder.hpp"
#include "worker.hpp"

namespace regtune {

struct ProgramCommand {
  std::vector<std::string> words;  // the program, found as a shell would, and its arguments
  // Its run-time compilations are to be seen: CuPy otherwise takes codes of earlier processes from its own cache.
  bool compiles_anew = false;
  bool keeps_images = false;  // what it loads is to be had
};

class WatchedProgram {
 public:
  // Starts it. Throws Error(file_not_found) where there is no such program, Error(internal) where no folder or socket
  // can be made.
  explicit WatchedProgram(const ProgramCommand& command);
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;
  ~WatchedProgram();  // a program that still runs goes on by itself

  struct Question {
    int process = 0;  // counted from 0, in the order in which they came
    Message message;
  };
  // Waits; empty once the program has ended. Throws Interrupted.
  std::optional<Question> next();
  Channel& channel(int process) { return processes_.at(static_cast<std::size_t>(process)).channel; }

  int processes() const { return static_cast<int>(processes_.size()); }
  // Of that process, while it runs and after.
  const LaunchTable& table(int process) const { return *processes_.at(static_cast<std::size_t>(process)).table; }
  // As a shell gives it: 128 and the signal's number where a signal ended it. After next() was empty.
  int exit_code() const { return exit_code_; }

 private:
  struct Process {
    Channel channel;
    const LaunchTable* table = nullptr;  // mapped for as long as this program lives
    bool gone = false;
  };
  void start(const ProgramCommand& command);
  void accept_process();
  bool has_ended();

  ScratchFolder folder_;
  int listening_ = -1;
  int end_of_program_ = -1;  // readable when it has ended; -1: an older kernel, which is asked now and then
  pid_t program_ = -1;
  std::vector<Process> processes_;
  int exit_code_ = 0;
};

}  // namespace regtune
