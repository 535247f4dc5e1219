#pragma once
// Ctrl-C and SIGTERM, as a person means them: stop, and keep what is done. The signal only sets a mark; whoever waits
// looks at it and throws, so that everything that is open is closed on the way out, and the children with it. A second
// signal ends the process at once. Children that this process forks leave both signals to it.
#include <chrono>
#include <optional>
#include <string>

namespace regtune {

// Thrown where the process waits. No std::exception: nobody who handles failures takes it for one.
struct Interrupted {
  int signal = 0;
  std::string kept = {};  // what the next run of the same command need not do again; for the person
};

// From here on SIGINT and SIGTERM set the mark. For the program's main, once.
void watch_for_interruption();
// In a forked child: both signals are its parent's to handle.
void leave_interruption_to_parent();

// Throws Interrupted where the mark is set, in every process that watches.
void stop_if_interrupted();

// What a wait may last before the mark is looked at again: `milliseconds` (-1: for ever), and at most a fifth of a
// second.
int until_next_look(int milliseconds);

}  // namespace regtune
