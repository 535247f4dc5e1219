#include "interruption.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

namespace regtune {
namespace {

constexpr int kLookMs = 200;

volatile sig_atomic_t caught = 0;

void on_signal(int signal) {
  if (caught != 0) _exit(128 + signal);  // the children die with this process
  caught = signal;
}

}  // namespace

void watch_for_interruption() {
  struct sigaction action {};
  action.sa_handler = on_signal;  // no SA_RESTART: a wait ends
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    // What nohup or a shell's background has ignored stays so.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
}

void leave_interruption_to_parent() {
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
}

void stop_if_interrupted() {
  if (caught != 0) throw Interrupted{caught, ""};
}

int until_next_look(int milliseconds) {
  return milliseconds < 0 ? kLookMs : std::min(milliseconds, kLookMs);
}

}  // namespace regtune
