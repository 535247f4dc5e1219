#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "terminal.hpp"

namespace regtune {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedrawn = 100ms;
constexpr auto kPlainLines = 5s;
// Before that, what a stage will take is a guess from too little.
constexpr double kEarliestGuessS = 1;
constexpr double kEarliestShare = 0.02;
constexpr int kBarColumns = 20;
constexpr int kRoomForBar = 70;  // a narrower window has the words alone

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string bar(double share, bool utf8) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kBarColumns));
  std::string text;
  for (int i = 0; i < kBarColumns; ++i) text += i < full ? (utf8 ? "\u2588" : "#") : (utf8 ? "\u2591" : ".");
  return utf8 ? text : "[" + text + "]";
}

}  // namespace

std::string spell_duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

Progress::Progress(bool quiet, bool verbose)
    : quiet_(quiet),
      verbose_(verbose && !quiet),
      redraws_(redraws_lines(STDERR_FILENO)),
      utf8_(is_utf8_locale()),
      stage_began_(Clock::now()),
      last_shown_(Clock::now()) {}

Progress::~Progress() {
  stage("");
}

double Progress::seconds_in_stage() const {
  return seconds(Clock::now() - stage_began_);
}

void Progress::clear() {
  if (line_open_) {
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }
  line_open_ = false;
}

// `share`: of the stage that is done; negative: not known.
void Progress::show(const std::string& text, double share) {
  last_shown_ = Clock::now();
  if (!redraws_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  const int columns = terminal_columns(STDERR_FILENO);
  const bool has_bar = share >= 0 && columns >= kRoomForBar;
  const std::string line = has_bar ? fmt::format("{}  {}", bar(share, utf8_), text) : text;
  // The last column stays free: a letter there makes some terminals begin another line.
  fmt::print(stderr, "\r\x1b[K{}", cut_to(line, static_cast<std::size_t>(std::max(columns - 1, 1)), utf8_));
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::stage(const std::string& text) {
  if (!stage_.empty()) {
    clear();
    if (verbose_) fmt::print(stderr, "{}: {:.1f} s\n", stage_, seconds_in_stage());
  }
  stage_ = text;
  stage_began_ = Clock::now();
  if (!quiet_ && !text.empty()) show(text, -1);
}

void Progress::update(const std::string& text) {
  if (quiet_ || Clock::now() - last_shown_ < (redraws_ ? Clock::duration(kRedrawn) : Clock::duration(kPlainLines)))
    return;
  show(text, -1);
}

void Progress::update(const std::string& text, std::size_t done, std::size_t of) {
  if (quiet_ || Clock::now() - last_shown_ < (redraws_ ? Clock::duration(kRedrawn) : Clock::duration(kPlainLines)))
    return;
  const double share = of == 0 ? 0 : static_cast<double>(done) / static_cast<double>(of);
  const double so_far = seconds_in_stage();
  const bool can_guess = so_far >= kEarliestGuessS && share >= kEarliestShare && share < 1;
  show(can_guess ? fmt::format("{}, about {} left", text, spell_duration(so_far * (1 - share) / share)) : text, share);
}

void Progress::note(const std::string& text) {
  if (quiet_) return;
  clear();
  fmt::print(stderr, "{}\n", fitted(text, terminal_columns(STDERR_FILENO)));
}

void Progress::detail(const std::string& text) {
  if (verbose_) note(text);
}

}  // namespace regtune
