#pragma once
// Another program, run without a shell and for a limited time: a compiler driver, say, which starts programs of its
// own. All that it started ends with it, with its time, and with the process that asked for it, however that one ends.
// It reads nothing, and what it prints is kept up to a limit.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace regtune {

struct ProgramRequest {
  std::vector<std::string> words;  // the file that is run, and its arguments
  double limit_s = 60;
  std::vector<std::pair<std::string, std::string>> environment = {};  // set beside this process's own
  std::size_t most_output_bytes = 1 << 20;                            // what is printed beyond them is dropped
  std::string folder = {};                                            // where it runs; empty: where this process does
};

struct ProgramRun {
  bool succeeded = false;  // exit code 0, in time
  std::string output;      // stdout and stderr, as they came
  std::string how;         // how it ended: "exited with code 2", "took longer than 60 s and was stopped"
};

// A program that cannot be started is a run that did not succeed. Any process may call it that has one thread.
ProgramRun run_program(const ProgramRequest& request);

}  // namespace regtune
