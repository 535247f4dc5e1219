#pragma once
// Talk on stderr while a run goes on: one live line on a terminal, one plain line per stage elsewhere,
// nothing when asked to be quiet. Results never come here.
#include <string>

namespace regtune {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();  // clears the live line

  // A stage begins; `text` is the whole line.
  void stage(const std::string& text);
  // The state within the stage; shown on a terminal only, at most ten times a second.
  void update(const std::string& text);
  // Something the user should know whatever else happens; shown unless quiet.
  void note(const std::string& text);

 private:
  void clear();
  bool quiet_;
  bool terminal_;
  double last_update_s_ = 0;
  bool line_open_ = false;
};

}  // namespace regtune
