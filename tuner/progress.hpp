#pragma once
// Talk on stderr while a run goes on. On a terminal one live line, redrawn in place, as wide as the window is at that
// moment, and gone when its stage is; elsewhere a plain line now and then; nothing when asked to be quiet. Results
// never come here.
#include <chrono>
#include <cstddef>
#include <string>

namespace regtune {

class Progress {
 public:
  // `verbose`: a line stays for each stage, with how long it took.
  explicit Progress(bool quiet, bool verbose = false);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // ends the stage

  // A stage begins; `text` is the whole line. Empty: the one before ends and none begins.
  void stage(const std::string& text);
  // The state within the stage, at most ten times a second on a terminal and every five seconds elsewhere.
  void update(const std::string& text);
  // The same with how much is done; from it follows when the stage will be at its end.
  void update(const std::string& text, std::size_t done, std::size_t of);
  // Something the user should know whatever else happens; shown unless quiet.
  void note(const std::string& text);
  // What only those want who asked for more.
  void detail(const std::string& text);

  double seconds_in_stage() const;

 private:
  using Clock = std::chrono::steady_clock;
  void clear();
  void show(const std::string& text, double share);
  bool quiet_;
  bool verbose_;
  bool redraws_;
  bool utf8_;
  std::string stage_;
  Clock::time_point stage_began_;
  Clock::time_point last_shown_;
  bool line_open_ = false;
};

// "2 s", "3 min", "1.5 h": of a time that is guessed.
std::string spell_duration(double seconds);

}  // namespace regtune
