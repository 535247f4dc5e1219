#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace regtune {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
}

void Progress::clear() {
  if (line_open_) fmt::print(stderr, "\r\x1b[K");
  line_open_ = false;
}

void Progress::stage(const std::string& text) {
  if (quiet_) return;
  if (!terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  last_update_s_ = 0;
  update(text);
}

void Progress::update(const std::string& text) {
  if (quiet_ || !terminal_ || now_s() - last_update_s_ < 0.1) return;
  last_update_s_ = now_s();
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::note(const std::string& text) {
  if (quiet_) return;
  clear();
  fmt::print(stderr, "{}\n", text);
}

}  // namespace regtune
